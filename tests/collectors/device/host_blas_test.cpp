// How OpenBLAS comes into the process.
#include "collectors/device/host_blas.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <string>

using namespace stallscope;

namespace {

size_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("OpenBLAS is loaded without threads, and the environment is not written to") {
    // Not by setenv, which would give the same text another place.
    static char setting[] = "OPENBLAS_NUM_THREADS=4";
    REQUIRE(putenv(setting) == 0);
    const char* const before = std::getenv("OPENBLAS_NUM_THREADS");
    cpu_set_t cores_before;
    REQUIRE(sched_getaffinity(0, sizeof cores_before, &cores_before) == 0);
    const size_t threads_before = Threads();
    const auto blas = device::HostBlas::LoadFrom({"libopenblas.so.0"});
    REQUIRE_MESSAGE(blas.ok(), blas.error().Line());
    CHECK(Threads() == threads_before);
    CHECK(std::getenv("OPENBLAS_NUM_THREADS") == before);
    cpu_set_t cores;
    REQUIRE(sched_getaffinity(0, sizeof cores, &cores) == 0);
    CHECK(CPU_EQUAL(&cores, &cores_before));
    unsetenv("OPENBLAS_NUM_THREADS");
  }
}
