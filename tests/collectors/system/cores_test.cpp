#include <doctest/doctest.h>
#include <unistd.h>

#include "collectors/system/kernel_sources.h"
#include "tests/collectors/system/readings.h"

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using test::KernelTree;
using test::ReadAll;
using test::Readings;
using test::WhyAbsent;

TEST_SUITE("fast") {
  TEST_CASE("each core's busy, waiting and stolen time is read, in nanoseconds") {
    KernelTree tree;
    // user nice system idle iowait irq softirq steal guest guest_nice
    tree.Write("/proc/stat",
               "cpu  30 3 300 9999 70 5 50 7 11 0\n"
               "cpu0 10 1 100 5000 30 2 20 3 11 0\n"
               "cpu3 20 2 200 4999 40 3 30 4 0 0\n"
               "intr 12345 6 7\nctxt 99\n");
    const auto source = MakeCores(tree.root());
    const Readings readings = ReadAll(*source);
    const double tick = 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
    CHECK(readings["cpu.busy"] == (30 + 3 + 300 + 5 + 50) * tick);
    CHECK(readings["cpu.iowait"] == 70 * tick);
    CHECK(readings["cpu.steal"] == 7 * tick);
    CHECK(readings["core0.busy"] == (10 + 1 + 100 + 2 + 20) * tick);
    CHECK(readings["core3.steal"] == 4 * tick);
    CHECK_FALSE(readings.Has("core1.busy"));  // off line
    CHECK(readings.size() == 9);
  }

  TEST_CASE("a truncated stat file gives its complete cores") {
    KernelTree tree;
    tree.Write("/proc/stat",
               "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 1 2 3 4 5");
    const auto source = MakeCores(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings.size() == 6);
    CHECK_FALSE(readings.Has("core1.busy"));
  }

  TEST_CASE("a missing or malformed stat file gives a reason and no counter") {
    KernelTree tree;
    const auto missing = MakeCores(tree.root());
    CHECK(ReadAll(*missing).size() == 0);
    CHECK(WhyAbsent(*missing, "core<n>.busy").find("No such file") != std::string::npos);
    for (const char* bad : {"", "\n\n", "cpu\n", "cpux 1 2 3 4 5 6 7 8\n", "cpu  1 2 3 x\n",
                            "cpu99999999 1 2 3 4 5 6 7 8 9 10\n", "cpu-1 1 2 3 4 5 6 7 8\n"}) {
      tree.Write("/proc/stat", bad);
      const auto source = MakeCores(tree.root());
      CHECK(ReadAll(*source).size() == 0);
      CHECK(WhyAbsent(*source, "cpu.busy").find("unknown format") != std::string::npos);
    }
  }

  TEST_CASE("the real kernel's stat file is understood, and its cores add up") {
    const auto source = MakeCores("/");
    const Readings readings = ReadAll(*source);
    double sum = 0;
    for (int core = 0; core < 1024; ++core) {
      const std::string name = "core" + std::to_string(core) + ".busy";
      if (readings.Has(name)) sum += readings[name];
    }
    // The kernel rounds each core's times to ticks by itself.
    CHECK(sum == doctest::Approx(readings["cpu.busy"]).epsilon(0.01));
  }
}
