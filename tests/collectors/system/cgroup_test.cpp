#include <doctest/doctest.h>

#include "collectors/system/cgroup.h"
#include "collectors/system/host.h"
#include "tests/collectors/system/readings.h"

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using test::KernelTree;
using test::ReadAll;
using test::Readings;
using test::WhyAbsent;

namespace {

constexpr const char* kTop = "/sys/fs/cgroup";

// Version 2: the process in /pod/job, the quota on /pod, the memory limit on both.
void WriteV2(const KernelTree& tree) {
  const std::string pod = std::string(kTop) + "/pod";
  tree.Write("/proc/self/cgroup", "0::/pod/job\n");
  tree.Write("/proc/self/mountinfo",
             "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
             "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  tree.Write(pod + "/cpu.max", "150000 100000\n");
  tree.Write(pod + "/cpu.stat",
             "usage_usec 900\nuser_usec 500\nsystem_usec 400\nnr_periods 40\nnr_throttled 12\n"
             "throttled_usec 5000\n");
  tree.Write(pod + "/memory.max", "4294967296\n");
  tree.Write(pod + "/job/cpu.max", "max 100000\n");
  tree.Write(pod + "/job/cpu.stat",
             "usage_usec 800\nuser_usec 500\nsystem_usec 300\nnr_periods 0\nnr_throttled 0\n"
             "throttled_usec 0\n");
  tree.Write(pod + "/job/memory.max", "2147483648\n");
  tree.Write(pod + "/job/memory.current", "123456\n");
  tree.Write(pod + "/job/memory.events", "low 0\nhigh 3\nmax 5\noom 1\noom_kill 1\n");
}

// Version 1 beside an empty version 2, as systemd's hybrid set-up has it.
void WriteV1(const KernelTree& tree) {
  tree.Write("/proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n");
  tree.Write("/proc/self/mountinfo",
             "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
             "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
             "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  const std::string cpu = std::string(kTop) + "/cpu,cpuacct";
  const std::string memory = std::string(kTop) + "/memory";
  tree.Write(cpu + "/cpu.cfs_quota_us", "250000\n");
  tree.Write(cpu + "/cpu.cfs_period_us", "100000\n");
  tree.Write(cpu + "/cpu.stat", "nr_periods 7\nnr_throttled 2\nthrottled_time 123456789\n");
  tree.Write(cpu + "/cpuacct.usage", "987654321\n");
  tree.Write(memory + "/memory.limit_in_bytes", "9223372036854771712\n");
  tree.Write(memory + "/memory.usage_in_bytes", "4096\n");
  tree.Write(memory + "/memory.failcnt", "6\n");
  tree.Write(memory + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("cgroup v2: the tightest limit on the way up counts, with its group's throttling") {
    KernelTree tree;
    WriteV2(tree);
    const auto limits = MakeLimits(tree.root());
    const Readings limit = ReadAll(*limits);
    CHECK(limit["cgroup.cores"] == 1.5);
    CHECK(limit["cgroup.memory_limit"] == 2147483648.0);

    const auto source = MakeCgroup(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings["cgroup.cpu"] == 800e3);
    CHECK(readings["cgroup.periods"] == 40);
    CHECK(readings["cgroup.throttled_periods"] == 12);
    CHECK(readings["cgroup.throttled"] == 5e6);
    CHECK(readings["cgroup.memory"] == 123456);
    CHECK(readings["cgroup.memory_high"] == 3);
    CHECK(readings["cgroup.memory_full"] == 5);
    CHECK(readings["cgroup.oom_kills"] == 1);
  }

  TEST_CASE("cgroup v1: a container's group is where its controller is mounted") {
    KernelTree tree;
    WriteV1(tree);
    const auto limits = MakeLimits(tree.root());
    const Readings limit = ReadAll(*limits);
    CHECK(limit["cgroup.cores"] == 2.5);
    CHECK_FALSE(limit.Has("cgroup.memory_limit"));  // v1's way to say that there is none
    CHECK(WhyAbsent(*limits, "cgroup.memory_limit") == "no memory limit is set");

    const auto source = MakeCgroup(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings["cgroup.cpu"] == 987654321);
    CHECK(readings["cgroup.throttled"] == 123456789);
    CHECK(readings["cgroup.throttled_periods"] == 2);
    CHECK(readings["cgroup.memory"] == 4096);
    CHECK(readings["cgroup.memory_full"] == 6);
    CHECK(readings["cgroup.oom_kills"] == 2);
    CHECK_FALSE(readings.Has("cgroup.memory_high"));
  }

  TEST_CASE("a group outside the mount counts as its top") {
    KernelTree tree;
    WriteV2(tree);
    tree.Write("/proc/self/cgroup", "0::/../other\n");
    CHECK(LocateCgroup(tree.root()).cpu.own == tree.root() + kTop);
    tree.Write("/proc/self/mountinfo", "31 23 0:28 /pod /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.Write("/proc/self/cgroup", "0::/podling/job\n");
    CHECK(LocateCgroup(tree.root()).cpu.own == tree.root() + kTop);
    tree.Write("/proc/self/cgroup", "0::/pod/job\n");
    CHECK(LocateCgroup(tree.root()).cpu.own == tree.root() + kTop + "/job");
  }

  TEST_CASE("without control groups, or with damaged files, there is a reason and no counter") {
    KernelTree tree;
    const auto none = MakeCgroup(tree.root());
    CHECK(ReadAll(*none).size() == 0);
    CHECK(WhyAbsent(*none, "cgroup.memory") == "no control group with this controller is mounted");

    WriteV2(tree);
    const std::string job = std::string(kTop) + "/pod/job";
    tree.Write(job + "/memory.current", "1234");
    tree.Write(job + "/memory.events", "high x\n");
    tree.Remove(std::string(kTop) + "/pod/cpu.stat");
    tree.Write(job + "/memory.max", "2147483648");
    const auto source = MakeCgroup(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings.size() == 1);
    CHECK(readings["cgroup.cpu"] == 800e3);
    CHECK(WhyAbsent(*source, "cgroup.throttled").find("No such file") != std::string::npos);
    const auto limits = MakeLimits(tree.root());
    CHECK(ReadAll(*limits)["cgroup.memory_limit"] == 4294967296.0);  // the whole one, above
  }

  TEST_CASE("malformed lines of cgroup and mountinfo are skipped") {
    KernelTree tree;
    tree.Write("/proc/self/cgroup", "::\n0\n:::::\n0:cpu\n0::/ok");
    tree.Write("/proc/self/mountinfo", " - \n - cgroup2\n1 2 3 - cgroup2 x\nx - cgroup x cpu\n");
    const Cgroup cgroup = LocateCgroup(tree.root());
    CHECK(cgroup.cpu.version == 0);
    CHECK(cgroup.unified.empty());
    CHECK_FALSE(TightestCpuQuota(cgroup).has_value());
  }

  TEST_CASE("of two quotas the smaller counts, whichever group sets it") {
    KernelTree tree;
    WriteV2(tree);
    const std::string pod = std::string(kTop) + "/pod";
    tree.Write(pod + "/job/cpu.max", "200000 100000\n");
    const auto above = TightestCpuQuota(LocateCgroup(tree.root()));
    REQUIRE(above.has_value());
    CHECK(above->cores == 1.5);
    CHECK(above->folder == tree.root() + pod);
    tree.Write(pod + "/job/cpu.max", "100000 100000\n");
    const auto own = TightestCpuQuota(LocateCgroup(tree.root()));
    REQUIRE(own.has_value());
    CHECK(own->cores == 1);
    CHECK(own->folder == tree.root() + pod + "/job");
  }

  TEST_CASE("a quota that changes during the run is noticed") {
    KernelTree tree;
    WriteV2(tree);
    const auto limits = MakeLimits(tree.root());
    Readings readings;
    limits->Read(readings, Effort::kBounded);
    tree.Write(std::string(kTop) + "/pod/cpu.max", "300000 100000\n");
    limits->Read(readings, Effort::kBounded);
    CHECK(readings["cgroup.cores"] == 3);
  }

  TEST_CASE("the real machine's control groups are understood") {
    const auto source = MakeCgroup("/");
    (void)ReadAll(*source);
    const trace::HostInfo host = ReadHost();
    CHECK(host.cgroup_cores >= 0);
    for (const Absence& absence : source->absences()) {
      CHECK_MESSAGE(absence.reason.find("unknown format") == std::string::npos, absence.reason);
    }
  }
}
