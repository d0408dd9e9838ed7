#include <doctest/doctest.h>
#include <unistd.h>

#include "collectors/system/threads.h"
#include "tests/collectors/system/readings.h"

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)
using test::KernelTree;
using test::ReadAll;
using test::Readings;
using test::WhyAbsent;

namespace {

std::string Schedstat(int tid) { return "/proc/self/task/" + std::to_string(tid) + "/schedstat"; }

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("each thread's time on a core and without one is read, and the waits are added up") {
    KernelTree tree;
    tree.Write(Schedstat(100), "1000 30 5\n");
    tree.Write(Schedstat(101), "2000 12 9\n");
    const auto source = MakeThreads(tree.root());
    Readings readings;
    source->Read(readings, Effort::kComplete);
    CHECK(readings["thread100.on_cpu"] == 1000);
    CHECK(readings["thread101.run_wait"] == 12);
    CHECK(readings["process.run_wait"] == 42);
    CHECK(readings["process.threads"] == 2);

    tree.Write(Schedstat(101), "2500 15 9\n");
    source->Read(readings, Effort::kComplete);
    CHECK(readings["process.run_wait"] == 45);
  }

  TEST_CASE("an ended thread stays in the sum, and its id may be reused") {
    KernelTree tree;
    tree.Write(Schedstat(100), "1000 30 5\n");
    tree.Write(Schedstat(101), "2000 12 9\n");
    const auto source = MakeThreads(tree.root());
    Readings readings;
    source->Read(readings, Effort::kComplete);
    tree.Remove("/proc/self/task/101");
    source->Read(readings, Effort::kComplete);
    CHECK(readings["process.threads"] == 1);
    CHECK(readings["process.run_wait"] == 42);
    // The old number with less time: another thread, whose whole wait is new.
    tree.Write(Schedstat(100), "10 4 1\n");
    source->Read(readings, Effort::kComplete);
    CHECK(readings["process.run_wait"] == 46);
    // A number that was gone for a while: another thread too, even with more time than the old one.
    tree.Write(Schedstat(101), "9000 15 9\n");
    source->Read(readings, Effort::kComplete);
    CHECK(readings["process.run_wait"] == 61);
  }

  TEST_CASE("with many threads, readings take turns") {
    KernelTree tree;
    constexpr int kThreads = 300;
    for (int tid = 1; tid <= kThreads; ++tid) tree.Write(Schedstat(tid), "100 10 1\n");
    const auto source = MakeThreads(tree.root());
    Readings readings;
    source->Read(readings, Effort::kBounded);
    CHECK(readings["process.run_wait"] <= 12 * 10);
    CHECK_FALSE(readings.Has("process.threads"));  // nobody has counted them yet
    int rounds = 1;
    while (!readings.Has("process.threads") && rounds < 1000) {
      const int before = readings.puts();
      source->Read(readings, Effort::kBounded);
      CHECK(readings.puts() - before <= 12 * 2 + 2);
      ++rounds;
    }
    CHECK(rounds > kThreads / 12);
    CHECK(readings["process.threads"] == kThreads);
    CHECK(readings["process.run_wait"] == kThreads * 10);
  }

  TEST_CASE("threads beyond the limit on names are only in the sum, with a reason") {
    KernelTree tree;
    constexpr int kThreads = 1030;
    for (int tid = 1; tid <= kThreads; ++tid) tree.Write(Schedstat(tid), "100 10 1\n");
    const auto source = MakeThreads(tree.root());
    const Readings readings = ReadAll(*source);
    CHECK(readings["process.run_wait"] == kThreads * 10);
    CHECK(readings.size() == 1024 * 2 + 2);
    CHECK(WhyAbsent(*source, "thread<tid>.on_cpu").find("1024") != std::string::npos);
  }

  TEST_CASE("a missing, truncated or malformed schedstat gives a reason and no counter") {
    KernelTree tree;
    const auto no_folder = MakeThreads(tree.root());
    CHECK(ReadAll(*no_folder).size() == 0);
    CHECK(WhyAbsent(*no_folder, "process.run_wait").find("No such file") != std::string::npos);

    tree.MakeFolder("/proc/self/task/100");
    const auto no_file = MakeThreads(tree.root());
    CHECK_FALSE(ReadAll(*no_file).Has("process.run_wait"));
    CHECK(WhyAbsent(*no_file, "process.run_wait").find("no schedstat") != std::string::npos);

    for (const char* bad : {"", "1000 30 5", "1000\n", "x y z\n"}) {
      tree.Write(Schedstat(100), bad);
      const auto source = MakeThreads(tree.root());
      CHECK_FALSE(ReadAll(*source).Has("process.run_wait"));
      CHECK(WhyAbsent(*source, "thread<tid>.on_cpu").find("unknown format") != std::string::npos);
    }
  }

  TEST_CASE("the real kernel's threads are understood") {
    const std::string on_cpu = "thread" + std::to_string(getpid()) + ".on_cpu";
    Readings readings = ReadAll(*MakeThreads("/"));
    CHECK(readings["process.threads"] >= 1);
    if (!readings.Has("process.run_wait")) return;
    // The kernel adds a thread's time up when it ticks or switches: a young process has none yet.
    constexpr int kMostReadings = 100'000;
    for (int i = 0; i < kMostReadings && !(readings[on_cpu] > 0); ++i) {
      readings = ReadAll(*MakeThreads("/"));
    }
    CHECK(readings[on_cpu] > 0);
  }
}
