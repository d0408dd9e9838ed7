#include "collectors/pipeline/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"

namespace stallscope::pipeline {
namespace {

constexpr int64_t kLookNs = 100'000'000;
// Busier than this is busy all the time: a worker also waits for its turn at the input.
constexpr double kSaturated = 0.75;
constexpr double kTrialSeconds = 0.5;
constexpr double kWorthwhile = 1.03;
// One half second of a busy machine proves nothing.
constexpr int kFailedTrials = 2;
// From here on all cores count as used: the kernel takes the rest.
constexpr double kAllCores = 0.9;

double ProcessCpuSeconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / kNsPerSecond;
}

}  // namespace

double TunerPolicy::State::busy(uint64_t ticks) const {
  return static_cast<double>(now.busy_ticks - last.busy_ticks) / static_cast<double>(ticks) /
         static_cast<double>(tunable.value);
}

TunerPolicy::TunerPolicy(std::vector<Tunable> tunables, TunerLimits limits) : limits_(limits) {
  for (Tunable& tunable : tunables) {
    State state;
    state.tunable = std::move(tunable);
    states_.push_back(std::move(state));
  }
}

bool TunerPolicy::MemoryLeft(const Look& look) const {
  return limits_.memory_bytes == 0 || look.memory_bytes < limits_.memory_bytes;
}

TunerPolicy::Change TunerPolicy::Set(State& state, int64_t value, const Look& look) {
  Change change{state.tunable.path, state.tunable.value, value};
  state.tunable.value = value;
  state.tunable.set(value);
  state.changed_at = look.seconds;
  return change;
}

// Ends a trial that has had its time.
std::vector<TunerPolicy::Change> TunerPolicy::Judge(const Look& look) {
  if (look.seconds - trial_->began < kTrialSeconds) return {};
  const double rate = static_cast<double>(look.elements - trial_->elements) /
                      std::max(look.seconds - trial_->began, 1e-9);
  const Trial trial = *std::exchange(trial_, std::nullopt);
  // What the next trial is measured against; the average still remembers what was before this one.
  rate_ = rate;
  const bool pays = rate >= trial.rate_before * kWorthwhile && MemoryLeft(look);
  std::vector<Change> undone;
  for (const Trial::Old& old : trial.old) {
    State& state = states_[old.state];
    state.failed_trials = pays ? 0 : state.failed_trials + 1;
    if (pays) continue;
    state.settled = state.failed_trials >= kFailedTrials;
    undone.push_back(Set(state, old.value, look));
  }
  return undone;
}

std::vector<TunerPolicy::Change> TunerPolicy::Grow(const Look& look, uint64_t ticks,
                                                   double used_cores) {
  std::vector<size_t> slow;
  bool starves_next = false;
  int64_t workers = 0;
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    const bool was_empty = state.now.times_empty > state.last.times_empty;
    if (state.tunable.buffer) {
      const bool was_full = state.now.times_full > state.last.times_full;
      if (was_empty && was_full && !state.settled && MemoryLeft(look) &&
          state.tunable.value * 2 <= state.tunable.most) {
        return {Set(state, state.tunable.value * 2, look)};
      }
      continue;
    }
    workers += state.tunable.value;
    if (state.settled || state.tunable.value >= state.tunable.most ||
        state.busy(ticks) < kSaturated) {
      continue;
    }
    slow.push_back(i);
    starves_next = starves_next || was_empty;
  }
  if (!starves_next || !MemoryLeft(look)) return {};
  const auto cores = static_cast<double>(limits_.cores);
  const bool all_used = used_cores >= kAllCores * cores;
  // One more than there are cores: one worker always waits.
  if (all_used && workers > limits_.cores) return {};
  if (all_used) {
    slow = {*std::max_element(slow.begin(), slow.end(), [&](size_t a, size_t b) {
      return states_[a].busy(ticks) < states_[b].busy(ticks);
    })};
  }
  Trial trial{{}, rate_, look.seconds, look.elements};
  std::vector<Change> changes;
  for (const size_t i : slow) {
    State& state = states_[i];
    const int64_t now = state.tunable.value;
    trial.old.push_back({i, now});
    const int64_t more = 2 * used_cores < cores ? now : 1;
    changes.push_back(Set(state, std::min(now + more, state.tunable.most), look));
  }
  trial_ = std::move(trial);
  return changes;
}

std::vector<TunerPolicy::Change> TunerPolicy::Step(const Look& look) {
  for (State& state : states_) {
    state.last = state.now;
    state.now = state.tunable.load();
  }
  const std::optional<Look> before = std::exchange(last_, look);
  if (!before.has_value() || look.seconds <= before->seconds) return {};
  const double seconds = look.seconds - before->seconds;
  const double rate = static_cast<double>(look.elements - before->elements) / seconds;
  rate_ = rate_ == 0 ? rate : 0.7 * rate_ + 0.3 * rate;
  if (trial_.has_value()) return Judge(look);
  // Nothing has been delivered yet: a pipeline that fills up says nothing about its speed.
  if (look.elements == 0 || look.ticks <= before->ticks) return {};
  return Grow(look, look.ticks - before->ticks, (look.cpu_seconds - before->cpu_seconds) / seconds);
}

bool TunerPolicy::settled() const {
  return !trial_.has_value() && std::all_of(states_.begin(), states_.end(),
                                            [](const State& state) { return state.settled; });
}

std::vector<std::string> TunerPolicy::Notes() const {
  std::vector<std::string> notes;
  for (const State& state : states_) {
    notes.push_back(fmt::format("auto set {} to {} after {:.1f} s", state.tunable.path,
                                state.tunable.value, state.changed_at));
  }
  return notes;
}

Tuner::Tuner(std::vector<Tunable> tunables, TunerLimits limits, StageContext& context,
             std::function<uint64_t()> elements)
    : policy_(std::move(tunables), limits), context_(context), elements_(std::move(elements)) {
  notes_ = policy_.Notes();
  const auto fail = [this](Error error) { context_.Fail(std::move(error), "tuner"); };
  if (Status started = thread_.Start([this] { Run(); }, fail); !started.ok()) {
    fail(std::move(started).error());
  }
}

Tuner::~Tuner() {
  stop_.Cancel();
  thread_.Join();
}

std::vector<std::string> Tuner::Notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

void Tuner::Run() {
  const int64_t start = MonotonicNs();
  do {
    const TunerPolicy::Look look{
        static_cast<double>(MonotonicNs() - start) / kNsPerSecond, NowTicks(), elements_(),
        context_.elements.bytes() + context_.batches->bytes(), ProcessCpuSeconds()};
    const std::vector<TunerPolicy::Change> changes = policy_.Step(look);
    if (changes.empty()) continue;
    {
      const std::lock_guard lock(mutex_);
      notes_ = policy_.Notes();
    }
    if (context_.recorder == nullptr) continue;
    for (const TunerPolicy::Change& change : changes) {
      context_.recorder->Knob(change.path, std::to_string(change.old_value),
                              std::to_string(change.new_value));
    }
  } while (stop_.SleepFor(kLookNs));
}

}  // namespace stallscope::pipeline
