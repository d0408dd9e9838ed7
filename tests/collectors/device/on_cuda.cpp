#include "tests/collectors/device/on_cuda.h"

#include <unistd.h>

#include <cstdlib>

#include "collectors/device/cuda_module.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

namespace stallscope::test {
namespace {

// Tests do not lie beside the programs, unless somebody has carried both elsewhere.
void NameModule() {
  if (std::getenv("STALLSCOPE_CUDA_MODULE") != nullptr) return;
  if (!device::FindCudaModule(device::CudaModulePlaces()).empty()) return;
  const std::string built = BuildDir() + "/bin/stallscope_cuda.so";
  if (access(built.c_str(), R_OK) == 0) setenv("STALLSCOPE_CUDA_MODULE", built.c_str(), 0);
}

}  // namespace

bool HasCuda() {
  NameModule();
  const auto made = device::MakeDevice(device::Kind::kCuda, {});
  if (made.ok()) return true;
  const std::string why = made.error().Line();
  if (std::getenv("STALLSCOPE_TEST_CUDA") != nullptr) {
    FAIL("STALLSCOPE_TEST_CUDA is set, and there is no CUDA device: " << why);
  }
  Skip("no CUDA device: " + why);
  return false;
}

}  // namespace stallscope::test
