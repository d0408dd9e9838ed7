#include "collectors/capture/probe.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/splitmix.h"

namespace stallscope::capture {
namespace {

constexpr int64_t kLeastWindowNs = 100'000'000;
constexpr int64_t kStepsInWindow = 8;
constexpr int64_t kMostRounds = 8;
constexpr int64_t kLongestWindow = 3;  // times the shortest

// For a run whose end is unknown.
constexpr int64_t kWatchAfterNs = 2'000'000'000;
constexpr int64_t kProbeAfterNs = 4'000'000'000;
constexpr int64_t kProbeNs = 12'000'000'000;

}  // namespace

ProbePlan PlanProbe(std::vector<StageId> stages, int64_t left_ns, int64_t step_ns, uint64_t seed) {
  ProbePlan plan;
  if (stages.empty() || left_ns <= 0) return plan;
  const int64_t least = std::max(kLeastWindowNs, kStepsInWindow * std::max<int64_t>(step_ns, 0));
  // A round has a window per stage, each after an undisturbed one; one more ends the last round.
  const auto round = 2 * static_cast<int64_t>(stages.size());
  const int64_t rounds = std::min(kMostRounds, (left_ns / least - 1) / round);
  if (rounds < 1) return plan;
  plan.window_ns = std::min(kLongestWindow * least, left_ns / (rounds * round + 1));
  SplitMix64 random(seed);
  for (int64_t i = 0; i < rounds; ++i) {
    for (size_t left = stages.size(); left > 1; --left) {
      std::swap(stages[left - 1], stages[random.Below(left)]);
    }
    for (const StageId stage : stages) {
      plan.windows.push_back(StageId::None());
      plan.windows.push_back(stage);
    }
  }
  plan.windows.push_back(StageId::None());
  return plan;
}

Prober::Prober(recorder::Recorder& recorder, pipeline::SlowDown& slow_down, int64_t steps,
               uint64_t seed)
    : recorder_(recorder),
      slow_down_(slow_down),
      steps_(static_cast<uint64_t>(std::max<int64_t>(steps, 0))),
      seed_(seed) {}

Prober::~Prober() { Stop(); }

Status Prober::Start() {
  return thread_.Start([this] { Run(); },
                       [this](const Error&) { slow_down_.Choose(StageId::None(), 0); });
}

void Prober::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  thread_.Join();
}

void Prober::OnStep(uint64_t steps) {
  const int64_t now = MonotonicNs();
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    if (first_step_ns_ == 0) first_step_ns_ = now;
    last_step_ns_ = now;
    done_ = steps;
    wakes = steps == 1 || steps == steps_ / 4 || steps == steps_ / 2;
  }
  if (wakes) wake_.notify_all();
}

bool Prober::WaitFor(uint64_t steps, int64_t ns) {
  std::unique_lock lock(mutex_);
  const uint64_t least = std::max<uint64_t>(steps, 1);
  wake_.wait(lock, [&] { return stopped_ || done_ >= least; });
  const int64_t until = first_step_ns_ + ns;
  lock.unlock();
  return steps > 0 ? WaitUntil(0) : WaitUntil(until);
}

bool Prober::WaitUntil(int64_t ns) {
  std::unique_lock lock(mutex_);
  const int64_t wait = ns - MonotonicNs();
  if (wait > 0) {
    wake_.wait_for(lock, std::chrono::nanoseconds(wait), [this] { return stopped_; });
  }
  return !stopped_;
}

std::vector<StageId> Prober::StagesWorth(int64_t watched_ns) const {
  std::vector<StageId> worth;
  const StageId trainer{trainer_.load()};
  for (uint32_t i = 0; i < pipeline::SlowDown::kStages; ++i) {
    const StageId stage{i};
    const auto least = kLeastWork * static_cast<double>(watched_ns);
    if (stage == trainer || static_cast<double>(slow_down_.watched_ns(stage)) > least) {
      worth.push_back(stage);
    }
  }
  return worth;
}

void Prober::Run() {
  if (!WaitFor(steps_ / 4, kWatchAfterNs)) return;
  const int64_t watch_began = MonotonicNs();
  slow_down_.Watch();
  const bool goes_on = WaitFor(steps_ / 2, kProbeAfterNs);
  slow_down_.Choose(StageId::None(), 0);
  if (!goes_on) return;
  int64_t step_ns = 0;
  int64_t left_ns = kProbeNs;
  {
    const std::lock_guard lock(mutex_);
    if (done_ > 1) step_ns = (last_step_ns_ - first_step_ns_) / static_cast<int64_t>(done_ - 1);
    // The last window should end before the run does, although slowed steps take longer.
    if (steps_ > 0) left_ns = static_cast<int64_t>(steps_ - std::min(done_, steps_)) * step_ns;
  }
  const ProbePlan plan =
      PlanProbe(StagesWorth(MonotonicNs() - watch_began), left_ns, step_ns, seed_);
  if (plan.windows.empty()) {
    notes_.emplace_back("the run is too short to slow its stages one by one; record more steps");
    return;
  }
  RunWindows(plan);
}

void Prober::RunWindows(const ProbePlan& plan) {
  int64_t begin = MonotonicNs();
  for (const StageId stage : plan.windows) {
    slow_down_.Choose(stage, stage.known() ? kSlowedBy : 0);
    const bool whole = WaitUntil(begin + plan.window_ns);
    const pipeline::SlowDown::Paid paid = slow_down_.paid();
    slow_down_.Choose(StageId::None(), 0);
    const int64_t end = MonotonicNs();
    recorder_.Probe({begin, end, stage, paid.elements, paid.work_ns, paid.delay_ns});
    if (!whole) return;
    begin = end;
  }
}

}  // namespace stallscope::capture
