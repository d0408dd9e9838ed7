#include "collectors/device/cuda/driver.h"
#include "tests/support/program.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

namespace stallscope {
namespace {

using device::cuda::FindDriver;

std::string Refusal(const char* fault, int needed = 13000) {
  setenv("STALLSCOPE_FAKE_DRIVER", fault, 1);
  const auto found = FindDriver(needed, STALLSCOPE_FAKE_DRIVER_LIBRARY);
  unsetenv("STALLSCOPE_FAKE_DRIVER");
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().kind == ErrorKind::kRun);
  CHECK_FALSE(found.error().hint.empty());
  return found.error().Line();
}

TEST_SUITE("fast") {
  TEST_CASE("a driver reports its CUDA version and its number of devices") {
    const auto found = FindDriver(13000, STALLSCOPE_FAKE_DRIVER_LIBRARY);
    REQUIRE(found.ok());
    CHECK(found.value().version == 13000);
    CHECK(found.value().devices == 2);
    // One of the same major version will do, and so will a newer one.
    CHECK(FindDriver(13020, STALLSCOPE_FAKE_DRIVER_LIBRARY).ok());
    CHECK(FindDriver(12040, STALLSCOPE_FAKE_DRIVER_LIBRARY).ok());
    CHECK(device::cuda::VersionName(12040) == "12.4");
  }

  TEST_CASE("a missing part of a driver is named") {
    CHECK(test::Has(Refusal("old"), "too old: it supports CUDA 11.8, and this build needs 13.0"));
    CHECK(test::Has(Refusal("empty"), "NVIDIA's driver (CUDA 13.0) has no devices"));
    CHECK(test::Has(Refusal("dead"), "cannot be initialized: unknown error (CUDA error 999)"));
    CHECK(test::Has(Refusal("mute"), "does not report its version"));
    CHECK(test::Has(Refusal("", 14000), "too old"));
  }

  TEST_CASE("no driver, and a library that is not a driver") {
    const auto none = FindDriver(13000, "libnot-there-at-all.so.1");
    REQUIRE_FALSE(none.ok());
    CHECK(test::Has(none.error().Line(), "no NVIDIA driver: libnot-there-at-all.so.1"));
    const auto other = FindDriver(13000, "libc.so.6");
    REQUIRE_FALSE(other.ok());
    CHECK(test::Has(other.error().Line(), "libc.so.6: this is not NVIDIA's driver"));
  }
}

}  // namespace
}  // namespace stallscope
