// CPU, memory and I/O of the own process.
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
  TEST_CASE("the process's own CPU time, faults and switches can always be read") {
    const auto source = MakeProcess();
    const Readings first = ReadAll(*source);
    CHECK(first.size() == 6);
    CHECK(first["process.cpu_user"] + first["process.cpu_system"] > 0);
    CHECK(first["process.faults_minor"] > 0);

    // 4 MiB that nobody has touched: a fault for each page, or one for each huge page.
    std::vector<char> fresh(4 << 20, 1);
    CHECK(fresh[12345] == 1);
    const auto again = MakeProcess();
    const Readings second = ReadAll(*again);
    CHECK(second["process.faults_minor"] > first["process.faults_minor"]);
    CHECK(second["process.cpu_user"] >= first["process.cpu_user"]);
  }

  TEST_CASE("resident memory comes from statm, in bytes") {
    KernelTree tree;
    tree.Write("/proc/self/statm", "765 406 377 5 0 123 0\n");
    const auto source = MakeMemory(tree.root());
    const Readings readings = ReadAll(*source);
    const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
    CHECK(readings["memory.rss"] == 406 * page);
    CHECK(readings["memory.file_backed"] == 377 * page);
  }

  TEST_CASE("a missing, truncated or malformed statm gives a reason and no counter") {
    KernelTree tree;
    const auto missing = MakeMemory(tree.root());
    CHECK(ReadAll(*missing).size() == 0);
    CHECK(WhyAbsent(*missing, "memory.rss").find("No such file") != std::string::npos);
    for (const char* bad : {"", "765 406 377", "765 406\n", "a b c\n", "765 -406 377 5\n"}) {
      tree.Write("/proc/self/statm", bad);
      const auto source = MakeMemory(tree.root());
      CHECK(ReadAll(*source).size() == 0);
      CHECK(WhyAbsent(*source, "memory.file_backed").find("/proc/self/statm: unknown format") !=
            std::string::npos);
    }
  }

  TEST_CASE("peak, swap and free memory are read where available") {
    KernelTree tree;
    tree.Write("/proc/self/status", "Name:\tx\nVmHWM:\t    1600 kB\nVmRSS:\t 1500 kB\n");
    const auto source = MakeMemoryState(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings["memory.peak"] == 1600 * 1024);
    CHECK_FALSE(readings.Has("memory.swapped"));
    CHECK_FALSE(readings.Has("memory.available"));
    CHECK(WhyAbsent(*source, "memory.peak").empty());
    CHECK_FALSE(WhyAbsent(*source, "memory.swapped").empty());
    CHECK(WhyAbsent(*source, "memory.available").find("/proc/meminfo") != std::string::npos);
  }

  TEST_CASE("requested bytes are distinct from bytes read from disk") {
    KernelTree tree;
    tree.Write("/proc/self/io",
               "rchar: 7296\nwchar: 320\nsyscr: 14\nsyscw: 2\nread_bytes: 512\n"
               "write_bytes: 4096\ncancelled_write_bytes: 0\n");
    const auto source = MakeIo(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings["io.requested"] == 7296);
    CHECK(readings["io.from_disk"] == 512);
    CHECK(readings["io.written"] == 320);
    CHECK(readings["io.to_disk"] == 4096);
    CHECK(readings["io.read_calls"] == 14);
    CHECK(readings["io.write_calls"] == 2);
  }

  TEST_CASE("a truncated io file gives its complete lines, never a smaller number") {
    KernelTree tree;
    tree.Write("/proc/self/io", "rchar: 7296\nwchar: 32");
    const auto source = MakeIo(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings.size() == 1);
    CHECK(readings["io.requested"] == 7296);
    CHECK_FALSE(WhyAbsent(*source, "io.written").empty());
    const auto missing = MakeIo(tree.root() + "/nowhere");
    CHECK(ReadAll(*missing).size() == 0);
    CHECK(missing->absences().size() == 6);
  }

  TEST_CASE("a second read returns the new text") {
    KernelTree tree;
    tree.Write("/proc/self/statm", "9 5 1 0 0 0 0\n");
    const auto source = MakeMemory(tree.root());
    Readings readings;
    source->Read(readings, Effort::kBounded);
    const double before = readings["memory.rss"];
    tree.Write("/proc/self/statm", "9 6 1 0 0 0 0\n");
    source->Read(readings, Effort::kBounded);
    CHECK(readings["memory.rss"] == before / 5 * 6);
  }

  TEST_CASE("the real kernel's files of a process are understood") {
    const auto memory = MakeMemory("/");
    const Readings resident = ReadAll(*memory);
    CHECK(resident["memory.rss"] > 100'000);
    CHECK(resident["memory.rss"] >= resident["memory.file_backed"]);
    const auto state = MakeMemoryState("/");
    CHECK(ReadAll(*state)["memory.peak"] > 100'000);
    const auto io = MakeIo("/");
    const Readings bytes = ReadAll(*io);
    if (bytes.Has("io.requested")) CHECK(bytes["io.requested"] > 0);
  }
}
