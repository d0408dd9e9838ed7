// The module is found, loaded and refused by name; the real one, where this build has it, says what
// this machine lacks.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "collectors/device/cuda_module.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"

namespace stallscope {
namespace {

using device::FindCudaModule;
using device::LoadCudaModule;

std::string ModuleRefusal(const std::vector<std::string>& places) {
  const auto loaded = LoadCudaModule(places);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().kind == ErrorKind::kRun);
  CHECK_FALSE(loaded.error().hint.empty());
  return loaded.error().Line();
}

TEST_SUITE("fast") {
  TEST_CASE("the module is looked up beside the program, or where the user says") {
    unsetenv("STALLSCOPE_CUDA_MODULE");
    const auto places = device::CudaModulePlaces();
    REQUIRE(places.size() == 2);
    CHECK(test::Has(places[0], "/tests/stallscope_cuda.so"));
    CHECK(test::Has(places[1], "/lib/stallscope/stallscope_cuda.so"));
    setenv("STALLSCOPE_CUDA_MODULE", "/somewhere/else.so", 1);
    CHECK(device::CudaModulePlaces() == std::vector<std::string>{"/somewhere/else.so"});
    unsetenv("STALLSCOPE_CUDA_MODULE");
  }

  TEST_CASE("the first place that has the module is used") {
    const test::ScratchDir dir;
    std::ofstream(dir / "b") << "";
    std::ofstream(dir / "c") << "";
    CHECK(FindCudaModule({dir / "a", dir / "b", dir / "c"}) == dir / "b");
    CHECK(FindCudaModule({dir / "a"}).empty());
  }

  TEST_CASE("no module, no library, a stranger, and one of another build") {
    const test::ScratchDir dir;
    const auto none = ModuleRefusal({dir / "a.so", dir / "b.so"});
    CHECK(test::Has(none, "the CUDA module is missing"));
    CHECK(test::Has(none, dir / "a.so" + ", " + dir / "b.so"));
    std::ofstream(dir / "text.so") << "not a library";
    CHECK(test::Has(ModuleRefusal({dir / "text.so"}), "cannot be loaded"));
    CHECK(test::Has(ModuleRefusal({STALLSCOPE_FAKE_DRIVER_LIBRARY}),
                    "this is not a stallscope CUDA module"));
    CHECK(test::Has(
        ModuleRefusal({STALLSCOPE_FAKE_MODULE_LIBRARY}),
        "the module is from stallscope 0.0.0, interface 0, the program from stallscope "));
  }

  TEST_CASE("the module says what is here and what is not") {
#ifdef STALLSCOPE_CUDA_MODULE
    const auto loaded = LoadCudaModule({STALLSCOPE_CUDA_MODULE});
    REQUIRE(loaded.ok());
    const auto parts = loaded.value()->look();
    REQUIRE(parts.size() >= 3);
    CHECK(parts[0].name == "cuda driver");
    for (const auto& part : parts) {
      CAPTURE(part.name);
      CHECK_FALSE(part.detail.empty());
      CHECK(part.there == part.advice.empty());
    }
    const auto made = loaded.value()->make({}, nullptr);
    if (parts[0].there) return;  // a machine with a GPU: its own tests look further
    REQUIRE_FALSE(made.ok());
    CHECK(made.error().kind == ErrorKind::kRun);
    CHECK(made.error().Line().find(parts[0].detail) != std::string::npos);
#else
    test::Skip("this build has no module for CUDA devices");
#endif
  }
}

}  // namespace
}  // namespace stallscope
