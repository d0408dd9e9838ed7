#include <doctest/doctest.h>

#include <cstdlib>

#include "collectors/system/gpus.h"
#include "tests/collectors/system/readings.h"

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using test::ReadAll;
using test::Readings;
using test::WhyAbsent;

namespace {

constexpr const char* kLibrary = STALLSCOPE_FAKE_NVML_LIBRARY;

class Behaviour {
 public:
  explicit Behaviour(const char* name) { setenv("STALLSCOPE_FAKE_NVML", name, 1); }
  ~Behaviour() { unsetenv("STALLSCOPE_FAKE_NVML"); }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("NVML's figures become counters in plain units") {
    const auto source = MakeGpus(kLibrary);
    const Readings readings = ReadAll(*source);
    CHECK(readings["gpu0.utilization"] == 40);
    CHECK(readings["gpu1.utilization"] == 41);
    CHECK(readings["gpu0.memory"] == 10.0 * (1ull << 30));
    CHECK(readings["gpu0.sm_clock"] == 1755);
    CHECK(readings["gpu0.power"] == doctest::Approx(123.456));
    CHECK(readings["gpu0.pcie_rx"] == 2e6);
    CHECK(readings["gpu0.pcie_tx"] == 1e4);
    CHECK_FALSE(readings.Has("gpu1.power"));
    CHECK_FALSE(readings.Has("gpu1.pcie_rx"));
    CHECK(WhyAbsent(*source, "gpu<n>.power") == "Not Supported");
  }

  TEST_CASE("one bounded reading asks for one PCIe rate, because each blocks for 20 ms") {
    const auto source = MakeGpus(kLibrary);
    Readings readings;
    source->Read(readings, Effort::kBounded);
    CHECK(readings.Has("gpu0.pcie_rx"));
    CHECK_FALSE(readings.Has("gpu0.pcie_tx"));
    source->Read(readings, Effort::kBounded);
    CHECK(readings.Has("gpu0.pcie_tx"));
  }

  TEST_CASE("without the library every counter is absent and the loader's reason is kept") {
    const auto source = MakeGpus("/nowhere/libnvidia-ml.so.1");
    CHECK(ReadAll(*source).size() == 0);
    CHECK(source->absences().size() == 6);
    CHECK(WhyAbsent(*source, "gpu<n>.power").find("/nowhere/") != std::string::npos);
  }

  TEST_CASE("a library that is not NVML is refused") {
    const auto loaded = Nvml::Load("libz.so.1");
    REQUIRE_FALSE(loaded.ok());
    CHECK_FALSE(loaded.error().Line().empty());
    CHECK(ReadAll(*MakeGpus("libz.so.1")).size() == 0);
  }

  TEST_CASE("a driver that cannot be initialized says why") {
    const Behaviour broken("broken");
    const auto source = MakeGpus(kLibrary);
    CHECK(ReadAll(*source).size() == 0);
    CHECK(WhyAbsent(*source, "gpu<n>.memory").find("version mismatch") != std::string::npos);
  }

  TEST_CASE("a driver without a device says so") {
    const Behaviour empty("empty");
    const auto source = MakeGpus(kLibrary);
    CHECK(ReadAll(*source).size() == 0);
    CHECK(WhyAbsent(*source, "gpu<n>.memory") == "NVML found no devices");
  }
}
