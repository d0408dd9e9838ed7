#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <thread>

#include "analyzer/base/clock.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/crash/progress.h"
#include "tests/support/paths.h"

using stallscope::test::BuildDir;
using stallscope::test::Progress;
using stallscope::test::ReadTrace;
using stallscope::test::ScratchDir;

namespace {

// Starts the victim, kills it once its first thread has reached `spans`, and checks what it left:
// the first spans of every track without a gap, none that was never begun, and no damage but a torn
// last frame. Returns how long before the kill the oldest lost span was begun.
int64_t KillAt(uint64_t spans) {
  ScratchDir dir;
  Progress* progress = stallscope::test::MapProgress(dir / "progress");
  REQUIRE(progress != nullptr);
  const std::string victim = BuildDir() + "/tests/crash_victim";
  const std::string trace_path = dir / "r.sst";
  const std::string progress_path = dir / "progress";
  const pid_t child = fork();
  if (child == 0) {
    execl(victim.c_str(), victim.c_str(), trace_path.c_str(), progress_path.c_str(), nullptr);
    _exit(127);
  }
  while (progress->finished[0] < spans) {
    int status = 0;
    REQUIRE(waitpid(child, &status, WNOHANG) == 0);
    std::this_thread::yield();
  }
  kill(child, SIGKILL);
  const int64_t killed_ns = stallscope::MonotonicNs();
  waitpid(child, nullptr, 0);

  const auto trace = ReadTrace(trace_path);
  CHECK_FALSE(trace.sealed);
  CHECK(trace.damage.bytes == 0);
  CHECK(trace.damage.missing_frames == 0);
  CHECK(trace.rows.gaps.empty());
  int64_t oldest_loss = 0;
  for (uint64_t t = 0; t < Progress::kThreads; ++t) {
    uint64_t stored = 0;
    for (const auto& [track, list] : trace.spans) {
      if (trace.track_names.at(track) != "victim/" + std::to_string(t)) continue;
      for (const auto& span : list) {
        REQUIRE(span.item.value == stored);
        const int64_t began = progress->time_ns[t][stored];
        REQUIRE(span.start_ns > began - 1'000'000);
        REQUIRE(span.end_ns < killed_ns + 1'000'000'000);
        ++stored;
      }
    }
    CHECK(stored <= progress->begun[t]);
    if (stored < progress->finished[t]) {
      oldest_loss = std::max<int64_t>(oldest_loss, killed_ns - progress->time_ns[t][stored]);
    }
  }
  munmap(progress, sizeof(Progress));
  return oldest_loss;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a killed recording leaves the beginning of every track") {
    std::mt19937 random(11);
    for (int i = 0; i < 8; ++i) KillAt(random() % 30'000);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("fifty kills at random moments each leave the beginning of every track") {
    std::mt19937 random(12);
    for (int i = 0; i < 50; ++i) KillAt(random() % 100'000);
  }
}

TEST_SUITE("measure") {
  TEST_CASE("how much a kill loses") {
    std::mt19937 random(13);
    std::vector<int64_t> losses;
    for (int i = 0; i < 50; ++i) losses.push_back(KillAt(random() % 50'000));
    std::sort(losses.begin(), losses.end());
    std::printf("lost before the kill, of 50 kills: min %.0f median %.0f max %.0f ms\n",
                static_cast<double>(losses.front()) / 1e6,
                static_cast<double>(losses[losses.size() / 2]) / 1e6,
                static_cast<double>(losses.back()) / 1e6);
  }
}
