#include "collectors/pipeline/slow_down.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "analyzer/base/clock.h"

namespace stallscope::pipeline {
namespace {

// Reading the thread's CPU clock takes 0.6 us, waking from a sleep 50 to 100 us: shorter delays
// are collected until they are worth it.
constexpr int64_t kLeastBurnNs = 10'000;
constexpr int64_t kLeastSleepNs = 300'000;
// A delay ends this soon after its window.
constexpr int64_t kLongestSleepNs = 10'000'000;

}  // namespace

void SlowDown::Watch() { chosen_.store(kEverybody, std::memory_order_relaxed); }

void SlowDown::Choose(StageId stage, double by) {
  chosen_.store(kNobody, std::memory_order_relaxed);
  elements_.store(0);
  work_ns_.store(0);
  delay_ns_.store(0);
  by_.store(by);
  chosen_.store(stage.value, std::memory_order_release);
}

SlowDown::Paid SlowDown::paid() const {
  return {elements_.load(), work_ns_.load(), delay_ns_.load()};
}

int64_t SlowDown::watched_ns(StageId stage) const {
  return stage.value < kStages ? watched_ns_[stage.value].load() : 0;
}

void SlowDown::Watched(StageId stage, int64_t work_ns) {
  if (stage.value < kStages) {
    watched_ns_[stage.value].fetch_add(work_ns, std::memory_order_relaxed);
  }
}

void SlowDown::Delay(StageId stage, int64_t work_ns, double cpu_share, Debt& debt) {
  if (!Slows(stage) || work_ns <= 0) return;
  const double delay = by_.load(std::memory_order_relaxed) * static_cast<double>(work_ns);
  elements_.fetch_add(1, std::memory_order_relaxed);
  work_ns_.fetch_add(static_cast<uint64_t>(work_ns), std::memory_order_relaxed);
  const double burn = delay * std::clamp(cpu_share, 0.0, 1.0);
  debt.burn_ns += std::llround(burn);
  debt.sleep_ns += std::llround(delay - burn);
  if (debt.burn_ns < kLeastBurnNs && debt.sleep_ns < kLeastSleepNs) return;
  const int64_t begin = MonotonicNs();
  if (debt.burn_ns >= kLeastBurnNs) Burn(stage, debt);
  if (debt.sleep_ns >= kLeastSleepNs) Sleep(stage, debt);
  Delayed(stage, MonotonicNs() - begin);
}

void SlowDown::Delayed(StageId stage, int64_t ns) {
  if (Slows(stage) && ns > 0) {
    delay_ns_.fetch_add(static_cast<uint64_t>(ns), std::memory_order_relaxed);
  }
}

void SlowDown::Burn(StageId stage, Debt& debt) const {
  const int64_t begin = ThreadCpuNs();
  int64_t burned = 0;
  while (burned < debt.burn_ns && Slows(stage)) burned = ThreadCpuNs() - begin;
  debt.burn_ns -= burned;
}

// The excess of a sleep is subtracted from the next one.
void SlowDown::Sleep(StageId stage, Debt& debt) const {
  const int64_t begin = MonotonicNs();
  int64_t slept = 0;
  while (slept < debt.sleep_ns && Slows(stage)) {
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min(debt.sleep_ns - slept, kLongestSleepNs)));
    slept = MonotonicNs() - begin;
  }
  debt.sleep_ns -= slept;
}

}  // namespace stallscope::pipeline
