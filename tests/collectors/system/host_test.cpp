#include "collectors/system/host.h"

#include <doctest/doctest.h>
#include <sched.h>

#include "tests/collectors/system/readings.h"

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using test::KernelTree;

TEST_SUITE("fast") {
  TEST_CASE("a host is described from its files") {
    KernelTree tree;
    tree.Write("/proc/sys/kernel/hostname", "node7\n");
    tree.Write("/proc/sys/kernel/osrelease", "6.1.0-13\n");
    tree.Write("/proc/cpuinfo",
               "processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\nmodel name\t: no\n");
    tree.Write("/proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
    tree.Write("/sys/devices/system/cpu/online", "0-3,6\n");
    tree.Write("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t2-127\n");
    tree.Write("/proc/self/cgroup", "0::/\n");
    tree.Write("/proc/self/mountinfo", "1 2 0:3 / /cg rw - cgroup2 cgroup2 rw\n");
    tree.Write("/cg/cpu.max", "50000 100000\n");
    tree.Write("/cg/memory.max", "1048576\n");
    const trace::HostInfo host = ReadHost(tree.root());
    CHECK(host.name == "node7");
    CHECK(host.kernel == "Linux 6.1.0-13");
    CHECK(host.cpu == "Fast CPU @ 3 GHz");
    CHECK(host.cores_online == 5);
    CHECK(host.cores_allowed == 3);  // 2, 3 and 6: the affinity also names cores that are not there
    CHECK(host.memory_bytes == 2048 * 1024);
    CHECK(host.cgroup_cores == 0.5);
    CHECK(host.memory_limit_bytes == 1048576);
  }

  TEST_CASE("unknown facts of a host stay empty") {
    KernelTree tree;
    tree.Write("/sys/devices/system/cpu/online", "garbage\n");
    tree.Write("/proc/cpuinfo", "model name");
    const trace::HostInfo host = ReadHost(tree.root());
    CHECK(host.name.empty());
    CHECK(host.kernel.empty());
    CHECK(host.cpu.empty());
    CHECK(host.cores_online == 0);
    CHECK(host.cores_allowed == 0);
    CHECK(host.cgroup_cores == 0);
    CHECK(host.memory_bytes == 0);
    CHECK_FALSE(CoresAllowed(tree.root()).has_value());
  }

  TEST_CASE("the cores allowed are those that the scheduler would give this process") {
    cpu_set_t set;
    REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
    CHECK(CoresAllowed() == static_cast<uint32_t>(CPU_COUNT(&set)));
    const trace::HostInfo host = ReadHost();
    CHECK_FALSE(host.name.empty());
    CHECK(host.cores_online >= host.cores_allowed);
    CHECK(host.memory_bytes > 0);
  }
}
