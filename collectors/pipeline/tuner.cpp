#include "collectors/pipeline/tuner.h"

#include <fmt/format.h>

#include <algorithm>
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

std::optional<TunerPolicy::Change> TunerPolicy::Set(State& state, int64_t value, const Look& look) {
  const Change change{state.tunable.path, state.tunable.value, value};
  state.tunable.value = value;
  state.tunable.set(value);
  state.changed_at = look.seconds;
  return change;
}

// Ends a trial that has had its time.
std::optional<TunerPolicy::Change> TunerPolicy::Judge(const Look& look) {
  if (look.seconds - trial_->began < kTrialSeconds) return std::nullopt;
  State& state = states_[trial_->state];
  const double rate = static_cast<double>(look.elements - trial_->elements) /
                      std::max(look.seconds - trial_->began, 1e-9);
  const Trial trial = *std::exchange(trial_, std::nullopt);
  // What the next trial is measured against; the average still remembers what was before this one.
  rate_ = rate;
  if (rate >= trial.rate_before * kWorthwhile && MemoryLeft(look)) {
    state.failed_trials = 0;
    return std::nullopt;
  }
  state.settled = ++state.failed_trials >= kFailedTrials;
  return Set(state, trial.old_value, look);
}

std::optional<TunerPolicy::Change> TunerPolicy::Grow(const Look& look, uint64_t ticks) {
  State* busiest = nullptr;
  int64_t workers = 0;
  for (State& state : states_) {
    const bool starves_next = state.now.times_empty > state.last.times_empty;
    if (state.tunable.buffer) {
      const bool was_full = state.now.times_full > state.last.times_full;
      if (starves_next && was_full && !state.settled && MemoryLeft(look) &&
          state.tunable.value * 2 <= state.tunable.most) {
        return Set(state, state.tunable.value * 2, look);
      }
      continue;
    }
    workers += state.tunable.value;
    if (!starves_next || state.settled || state.tunable.value >= state.tunable.most ||
        state.busy(ticks) < kSaturated) {
      continue;
    }
    if (busiest == nullptr || state.busy(ticks) > busiest->busy(ticks)) busiest = &state;
  }
  // One more than there are cores: one worker always waits.
  if (busiest == nullptr || workers > limits_.cores || !MemoryLeft(look)) return std::nullopt;
  trial_ = Trial{static_cast<size_t>(busiest - states_.data()), busiest->tunable.value, rate_,
                 look.seconds, look.elements};
  return Set(*busiest, busiest->tunable.value + 1, look);
}

std::optional<TunerPolicy::Change> TunerPolicy::Step(const Look& look) {
  for (State& state : states_) {
    state.last = state.now;
    state.now = state.tunable.load();
  }
  const std::optional<Look> before = std::exchange(last_, look);
  if (!before.has_value() || look.seconds <= before->seconds) return std::nullopt;
  const double rate =
      static_cast<double>(look.elements - before->elements) / (look.seconds - before->seconds);
  rate_ = rate_ == 0 ? rate : 0.7 * rate_ + 0.3 * rate;
  if (trial_.has_value()) return Judge(look);
  // Nothing has been delivered yet: a pipeline that fills up says nothing about its speed.
  if (look.elements == 0 || look.ticks <= before->ticks) return std::nullopt;
  return Grow(look, look.ticks - before->ticks);
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
    const TunerPolicy::Look look{static_cast<double>(MonotonicNs() - start) / kNsPerSecond,
                                 NowTicks(), elements_(),
                                 context_.elements.bytes() + context_.batches->bytes()};
    const auto change = policy_.Step(look);
    if (!change.has_value()) continue;
    {
      const std::lock_guard lock(mutex_);
      notes_ = policy_.Notes();
    }
    if (context_.recorder != nullptr) {
      context_.recorder->Knob(change->path, std::to_string(change->old_value),
                              std::to_string(change->new_value));
    }
  } while (stop_.SleepFor(kLookNs));
}

}  // namespace stallscope::pipeline
