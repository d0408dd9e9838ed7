#include "collectors/system/doctor.h"

#include <doctest/doctest.h>

#include "tests/collectors/system/readings.h"

using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using stallscope::test::KernelTree;

namespace {

const Check& Find(const Diagnosis& diagnosis, const std::string& name) {
  for (const Check& check : diagnosis.checks) {
    if (check.name == name) return check;
  }
  FAIL("there is no check " << name);
  return diagnosis.checks.front();
}

const CounterState& FindState(const Diagnosis& diagnosis, const std::string& name) {
  for (const CounterState& counter : diagnosis.counters) {
    if (name == counter.row.name) return counter;
  }
  FAIL("there is no counter " << name);
  return diagnosis.counters.front();
}

// A container with half of two cores, one of four in its affinity, and 1 of 4 GiB.
void WriteTightContainer(const KernelTree& tree) {
  tree.Write("/proc/self/cgroup", "0::/\n");
  tree.Write("/proc/self/mountinfo", "1 2 0:3 / /cg rw - cgroup2 cgroup2 rw\n");
  tree.Write("/cg/cpu.max", "50000 100000\n");
  tree.Write("/cg/memory.max", "1073741824\n");
  tree.Write("/sys/devices/system/cpu/online", "0-3\n");
  tree.Write("/proc/self/status", "Cpus_allowed_list:\t1\n");
  tree.Write("/proc/meminfo", "MemTotal: 4194304 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\n");
  tree.Write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  tree.Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  tree.Write("/proc/stat", "cpu  50 0 0 900 0 0 0 50 0 0\n");
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every limit on a pipeline is named, with a remedy") {
    KernelTree tree;
    WriteTightContainer(tree);
    const Diagnosis diagnosis = Diagnose({.root = tree.root(), .nvml_library = "/nowhere/x.so"});
    for (const char* name :
         {"cpu quota", "affinity", "memory limit", "huge pages", "cpu governor", "steal", "swap"}) {
      const Check& check = Find(diagnosis, name);
      CHECK_MESSAGE(check.state == CheckState::kLimited, name);
      CHECK_FALSE(check.detail.empty());
      CHECK_FALSE(check.advice.empty());
    }
    CHECK(Find(diagnosis, "affinity").detail == "1 of 4 cores");
    CHECK(Find(diagnosis, "memory limit").detail.starts_with("1.0 GiB of the machine's 4.0 GiB"));
    CHECK(Find(diagnosis, "steal").detail.starts_with("5.00%"));
    CHECK(Find(diagnosis, "swap").detail == "1.0 MiB of 2.0 MiB in use");
  }

  TEST_CASE("a roomy machine is ok") {
    KernelTree tree;
    WriteTightContainer(tree);
    tree.Write("/cg/cpu.max", "400000 100000\n");
    tree.Write("/cg/memory.max", "max\n");
    tree.Write("/proc/self/status", "Cpus_allowed_list:\t0-3\n");
    tree.Write("/proc/meminfo", "MemTotal: 4194304 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
    tree.Write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    tree.Write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    tree.Write("/proc/stat", "cpu  50 0 0 900 0 0 0 0 0 0\n");
    const Diagnosis diagnosis = Diagnose({.root = tree.root()});
    for (const char* name :
         {"cpu quota", "affinity", "memory limit", "huge pages", "cpu governor", "steal", "swap"}) {
      CHECK_MESSAGE(Find(diagnosis, name).state == CheckState::kOk, name);
      CHECK(Find(diagnosis, name).advice.empty());
    }
  }

  TEST_CASE("an empty tree is diagnosed too: everything is missing, nothing is made up") {
    const KernelTree tree;
    const Diagnosis diagnosis = Diagnose({.root = tree.root(), .nvml_library = "/nowhere/x.so"});
    CHECK(Find(diagnosis, "affinity").state == CheckState::kMissing);
    CHECK(Find(diagnosis, "steal").state == CheckState::kMissing);
    CHECK(Find(diagnosis, "counters: cores").state == CheckState::kMissing);
    CHECK(Find(diagnosis, "counters: gpu").detail.find("/nowhere/x.so") != std::string::npos);
    CHECK(Find(diagnosis, "counters: process").state == CheckState::kOk);
    for (const CounterState& counter : diagnosis.counters) {
      CHECK_MESSAGE(counter.present == counter.reason.empty(), counter.row.name);
    }
    CHECK_FALSE(FindState(diagnosis, "memory.rss").present);
    CHECK(FindState(diagnosis, "process.cpu_user").present);
  }

  TEST_CASE("driver, module and folder are checked") {
    const KernelTree tree;
    Diagnosis diagnosis = Diagnose({.root = tree.root(),
                                    .nvml_library = STALLSCOPE_FAKE_NVML_LIBRARY,
                                    .cuda_module = "",
                                    .folder = tree.root()});
    CHECK(Find(diagnosis, "gpu driver").detail ==
          "NVIDIA driver 999.1, gpu0: Fake GPU, gpu1: Fake GPU");
    CHECK(Find(diagnosis, "cuda module").detail == "no CUDA module in this build");
    // For a packaged program, which cannot be built.
    CHECK(
        Find(diagnosis, "cuda module").advice.find("stallscope run records a job's GPUs without") !=
        std::string::npos);
    CHECK(Find(diagnosis, "disk space").state != CheckState::kMissing);
    CHECK(FindState(diagnosis, "gpu<n>.power").present);

    diagnosis = Diagnose({.root = tree.root(),
                          .nvml_library = "/nowhere/x.so",
                          .cuda_module = tree.root() + "/cuda.so",
                          .folder = tree.root() + "/nowhere"});
    CHECK(Find(diagnosis, "gpu driver").state == CheckState::kMissing);
    CHECK(Find(diagnosis, "cuda module").detail.find("No such file") != std::string::npos);
    CHECK(Find(diagnosis, "disk space").state == CheckState::kMissing);
    tree.Write("/cuda.so", "");
    CHECK(Find(Diagnose({.cuda_module = tree.root() + "/cuda.so"}), "cuda module").state ==
          CheckState::kOk);
  }

  TEST_CASE("the real machine is diagnosed, its clock measured") {
    const Diagnosis diagnosis = Diagnose();
    CHECK(diagnosis.counters.size() == std::size(kCounterTable));
    CHECK(Find(diagnosis, "clock").detail.find("ns per timestamp") != std::string::npos);
    CHECK(Find(diagnosis, "counters: memory").state == CheckState::kOk);
  }
}
