// Block devices, and the pressure that waiting for them makes.
#include <doctest/doctest.h>

#include "collectors/system/kernel_sources.h"
#include "tests/collectors/system/readings.h"

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using test::KernelTree;
using test::ReadAll;
using test::Readings;
using test::WhyAbsent;

namespace {

constexpr const char* kDiskstats =
    "   7       0 loop0 5 0 40 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
    " 259       0 nvme0n1 60782 11819 6311762 44503 11291 5008 1812776 6199 3 15700 51152 1 2 3 4 "
    "5 6\n"
    " 259       1 nvme0n1p1 60000 11819 6311000 44503 11291 5008 1812776 6199 0 15700 51152\n"
    "   8       0 sda 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("whole disks that have moved data are read, partitions and loops are not") {
    KernelTree tree;
    tree.Write("/proc/diskstats", kDiskstats);
    for (const char* disk : {"loop0", "nvme0n1", "sda"}) {
      tree.MakeFolder(std::string("/sys/block/") + disk);
    }
    const auto source = MakeDisks(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings["disk.nvme0n1.reads"] == 60782);
    CHECK(readings["disk.nvme0n1.read_bytes"] == 6311762.0 * 512);
    CHECK(readings["disk.nvme0n1.read_time"] == 44503e6);
    CHECK(readings["disk.nvme0n1.write_bytes"] == 1812776.0 * 512);
    CHECK(readings["disk.nvme0n1.in_flight"] == 3);
    CHECK(readings["disk.nvme0n1.busy"] == 15700e6);
    CHECK(readings["disk.nvme0n1.queue_time"] == 51152e6);
    CHECK(readings.size() == 7);
  }

  TEST_CASE("a disk that wakes up during the recording gets its counters then") {
    KernelTree tree;
    tree.MakeFolder("/sys/block/sda");
    tree.Write("/proc/diskstats", "   8       0 sda 0 0 0 0 0 0 0 0 0 0 0\n");
    const auto source = MakeDisks(tree.root());
    Readings readings;
    source->Read(readings, Effort::kBounded);
    CHECK(readings.size() == 0);
    CHECK(WhyAbsent(*source, "disk.<disk>.reads").find("no block device") != std::string::npos);
    tree.Write("/proc/diskstats", "   8       0 sda 1 0 8 1 0 0 0 0 0 1 1\n");
    source->Read(readings, Effort::kBounded);
    CHECK(readings["disk.sda.read_bytes"] == 4096);
  }

  TEST_CASE("a missing, truncated or malformed diskstats gives a reason") {
    KernelTree tree;
    tree.MakeFolder("/sys/block/sda");
    const auto missing = MakeDisks(tree.root());
    CHECK(ReadAll(*missing).size() == 0);
    CHECK(WhyAbsent(*missing, "disk.<disk>.busy").find("No such file") != std::string::npos);
    for (const char* bad : {"8 0 sda 1 0 8 1 0 0 0 0 0 1 1", "8 0 sda 1 0 8\n", "sda\n", "\n"}) {
      tree.Write("/proc/diskstats", bad);
      const auto source = MakeDisks(tree.root());
      CHECK(ReadAll(*source).size() == 0);
      CHECK_FALSE(WhyAbsent(*source, "disk.<disk>.busy").empty());
    }
  }

  TEST_CASE("the real kernel's disks are understood") {
    const auto source = MakeDisks("/");
    const Readings readings = ReadAll(*source);
    CHECK(readings.size() % 7 == 0);
    for (const Absence& absence : source->absences()) {
      CHECK(absence.reason.find("unknown format") == std::string::npos);
    }
  }

  TEST_CASE("pressure is read as total time") {
    KernelTree tree;
    tree.Write("/proc/pressure/cpu",
               "some avg10=2.44 avg60=1.66 avg300=1.88 total=19655796\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
    tree.Write("/proc/pressure/io", "some avg10=1.34 avg60=0.52 avg300=0.31 total=101\n");
    tree.Write("/proc/pressure/memory", "some avg10=1.34 avg60=0.52 avg300=0.31 total=10");
    const auto source = MakePressure(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings["psi.cpu.some"] == 19655796e3);
    CHECK(readings["psi.cpu.full"] == 0);
    CHECK(readings["psi.io.some"] == 101e3);
    CHECK(readings.size() == 3);
    CHECK(WhyAbsent(*source, "psi.io.full").find("unknown format") != std::string::npos);
    CHECK_FALSE(WhyAbsent(*source, "psi.memory.some").empty());
    CHECK(WhyAbsent(*source, "cgroup.psi.io.some") == "this machine has no cgroup v2");
  }

  TEST_CASE("the own group's pressure is read beside the machine's") {
    KernelTree tree;
    tree.Write("/proc/self/cgroup", "0::/job\n");
    tree.Write("/proc/self/mountinfo",
               "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
    tree.Write("/sys/fs/cgroup/job/cgroup.type", "domain\n");
    tree.Write("/sys/fs/cgroup/job/io.pressure", "some avg10=0 avg60=0 avg300=0 total=7\n");
    const auto source = MakePressure(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings["cgroup.psi.io.some"] == 7000);
    CHECK(readings.size() == 1);
    CHECK(WhyAbsent(*source, "psi.cpu.some").find("No such file") != std::string::npos);
  }

  TEST_CASE("the real kernel's pressure is understood where it has any") {
    const auto source = MakePressure("/");
    (void)ReadAll(*source);
    CHECK(WhyAbsent(*source, "psi.cpu.some").find("unknown format") == std::string::npos);
    CHECK(WhyAbsent(*source, "psi.io.some").find("unknown format") == std::string::npos);
  }
}
