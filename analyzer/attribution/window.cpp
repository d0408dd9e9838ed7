#include "analyzer/attribution/window.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include "analyzer/attribution/cold_start.h"
#include "analyzer/attribution/probe.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/profiled.h"

namespace stallscope::attribution {
namespace {

constexpr size_t kLeastSteps = 3;
// Reads come in chunks: between two long steps of a first pass some are as short as any.
constexpr size_t kMostBetween = 2;
constexpr double kRarely = 0.02;
// An idle device begins a kernel some tens of microseconds after it was enqueued.
constexpr int64_t kWaitedBehindOthers = 1'000'000;
// Input stalls below this part of the steps are not worth a look; a wait below this part of the
// mean one is none.
constexpr double kWorthAWait = 0.1;
constexpr double kAtOnce = 0.1;
// A later stretch of the profiler's, which is farther from the run's start, is better with this
// part of the steps of the longest.
constexpr double kAsGood = 0.5;

size_t CountIndices(const std::vector<model::StepInterval>& intervals, size_t first, size_t end) {
  size_t count = 0;
  for (size_t i = first; i < end; ++i) {
    if (i == first || intervals[i].index != intervals[i - 1].index) ++count;
  }
  return count;
}

// Counts rows [first_row, end) and spans their time.
void Take(const std::vector<model::StepInterval>& intervals, size_t end, Window& window) {
  window.rows = end - window.first_row;
  window.steps = CountIndices(intervals, window.first_row, end);
  window.start_ns = intervals[window.first_row].start_ns;
  window.end_ns = window.start_ns;
  for (size_t row = window.first_row; row < end; ++row) {
    window.start_ns = std::min(window.start_ns, intervals[row].start_ns);
    window.end_ns = std::max(window.end_ns, intervals[row].end_ns);
  }
}

// The duration of each step, of several ranks the longest.
std::vector<int64_t> Durations(const std::vector<model::StepInterval>& intervals) {
  std::vector<int64_t> durations;
  for (size_t i = 0; i < intervals.size(); ++i) {
    const int64_t ns = intervals[i].end_ns - intervals[i].start_ns;
    if (i == 0 || intervals[i].index != intervals[i - 1].index) {
      durations.push_back(ns);
    } else {
      durations.back() = std::max(durations.back(), ns);
    }
  }
  return durations;
}

// Batches that the loader of a job's steps can hold ready; 0 where the trace shows none.
size_t CapacityOf(const model::Run& run) {
  for (const trace::StageInfo& stage : run.stages) {
    if (stage.kind == "prefetch" && stage.name == "loader" && stage.queue.known()) {
      return static_cast<size_t>(run.queues[stage.queue.value].info.capacity);
    }
  }
  return 0;
}

// While a job's first steps took long, its loader made batches ahead. The steps that are fed from
// these, of the ones in `rows`, are as fast as the trainer alone, and do not come again.
size_t StoredUp(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                std::span<const size_t> rows) {
  const size_t capacity = CapacityOf(run);
  if (!model::IsJob(run) || !run.step_ranks.empty() || capacity == 0 || rows.empty()) return 0;
  int64_t all = 0;
  int64_t waited = 0;
  const auto wait = [&](size_t row) {
    return run.rows.steps[row].received_ns - run.rows.steps[row].requested_ns;
  };
  for (const size_t row : rows) {
    all += intervals[row].end_ns - intervals[row].start_ns;
    waited += wait(row);
  }
  if (static_cast<double>(waited) < kWorthAWait * static_cast<double>(all)) return 0;
  // How many steps in turn were fed at once.
  std::vector<size_t> turns = {0};
  for (const size_t row : rows) {
    const auto times = static_cast<int64_t>(rows.size());
    if (wait(row) * times < static_cast<int64_t>(kAtOnce * static_cast<double>(waited))) {
      ++turns.back();
    } else {
      turns.push_back(0);
    }
  }
  const size_t first = turns.front();
  const size_t later = *std::max_element(turns.begin() + 1, turns.end());
  const auto most = static_cast<size_t>(kMostWarmUp * static_cast<double>(rows.size()));
  return first > later && first <= std::min(2 * capacity, most) ? first : 0;
}

// `rows` of steps that take so long: how many of the first are warm-up.
size_t WarmupOf(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                const std::vector<int64_t>& durations, std::span<const size_t> rows) {
  const size_t warmup = WarmupSteps(durations);
  return warmup == 0 ? 0 : warmup + StoredUp(run, intervals, rows.subspan(warmup));
}

// While a stage is slowed on purpose, steps do not show the normal run; nor do steps that overlap
// the beginning or the end. Two stretches remain: the longer one counts.
void LeaveOutProbed(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                    Window& window) {
  const auto probed = ProbedRange(run);
  if (!probed.has_value()) return;
  const size_t end = window.first_row + window.rows;
  size_t before = window.first_row;
  while (before < end && intervals[before].end_ns <= probed->start_ns) ++before;
  size_t after = end;
  while (after > before && intervals[after - 1].start_ns >= probed->end_ns) --after;
  const size_t all = window.steps;
  const bool takes_first = before - window.first_row >= end - after;
  const size_t first = takes_first ? window.first_row : after;
  const size_t last = takes_first ? before : end;
  if (CountIndices(intervals, first, last) < kLeastSteps) return;
  window.first_row = first;
  Take(intervals, last, window);
  window.probed_steps = all - window.steps;
}

void LeaveOutCold(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                  Cancel cancel, Window& window) {
  window.cold = FindColdStart(run, intervals, window, cancel);
  if (!window.cold.has_value()) return;
  const size_t end = window.first_row + window.rows;
  while (intervals[window.first_row].start_ns < window.cold->end_ns) ++window.first_row;
  Take(intervals, end, window);
}

// By row; a step is what all of its ranks are.
template <class Is>
std::vector<bool> OfWholeSteps(const std::vector<model::StepInterval>& intervals, Is is) {
  std::vector<bool> rows(intervals.size());
  for (size_t i = 0; i < intervals.size();) {
    size_t end = i;
    bool all = true;
    for (; end < intervals.size() && intervals[end].index == intervals[i].index; ++end) {
      all = all && is(intervals[end]);
    }
    for (; i < end; ++i) rows[i] = all;
  }
  return rows;
}

bool HasDevice(const model::Run& run) {
  return std::any_of(run.tracks.begin(), run.tracks.end(),
                     [](const model::Track& track) { return track.info.on_device(); });
}

// The rank whose device ran it.
uint32_t RankOf(const model::Run& run, const trace::Kernel& kernel) {
  return kernel.track.known() ? run.tracks[kernel.track.value].rank : run.info.rank;
}

// Whether the run has the profiler's data for this window, of each rank: a file may be lost.
bool IsJoined(const model::Run& run, const model::TimeRange& open) {
  const auto within = [&](int64_t ns) { return ns >= open.start_ns && ns < open.end_ns; };
  std::set<uint32_t> missing(run.step_ranks.begin(), run.step_ranks.end());
  if (missing.empty() && HasDevice(run)) missing.insert(run.info.rank);
  const size_t ranks = missing.size();
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (within(kernel.start_ns)) missing.erase(RankOf(run, kernel));
  }
  if (missing.empty() && ranks > 0) return true;
  return run.imported() &&
         std::any_of(run.tracks.begin(), run.tracks.end(), [&](const model::Track& track) {
           for (size_t i = 0; i < track.spans.size(); ++i) {
             if (model::IsBatchWait(run.ClassOf(track, i)) && within(track.spans.start_ns[i])) {
               return true;
             }
           }
           return false;
         });
}

// From here on the profile has all of the device's work. What was launched before the profiler
// opened is not in it: until that is done, the device looks idle, and the first kernel waits behind
// it.
int64_t CompleteFrom(const model::Run& run, const model::TimeRange& open) {
  std::map<uint32_t, const trace::Kernel*> firsts;  // by rank
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (kernel.start_ns < open.start_ns || kernel.start_ns >= open.end_ns) continue;
    const trace::Kernel*& first = firsts[RankOf(run, kernel)];
    if (first == nullptr || kernel.start_ns < first->start_ns) first = &kernel;
  }
  int64_t from = open.start_ns;
  for (const auto& [rank, first] : firsts) {
    const bool waited =
        first->enqueued_ns != 0 && first->start_ns - first->enqueued_ns > kWaitedBehindOthers;
    if (waited) from = std::max(from, first->start_ns);
  }
  return from;
}

// The longest stretch of the window's steps beside which no profiler was open. Behind a profiler's
// end the loader has made batches ahead, as behind the warm-up.
std::optional<Window> LongestUnprofiled(const model::Run& run,
                                        const std::vector<model::StepInterval>& intervals,
                                        const Window& window) {
  const std::vector<model::ProfiledStretch> stretches = model::ProfiledStretches(run);
  const std::vector<bool> unprofiled = OfWholeSteps(
      intervals, [&](const auto& step) { return !model::IsProfiled(stretches, step); });
  const size_t end = window.first_row + window.rows;
  std::vector<size_t> longest;
  std::vector<size_t> rows;
  for (size_t row = window.first_row; row <= end; ++row) {
    if (row < end && unprofiled[row]) {
      rows.push_back(row);
      continue;
    }
    if (!rows.empty() && rows.front() > window.first_row) {
      rows.erase(rows.begin(),
                 rows.begin() + static_cast<std::ptrdiff_t>(StoredUp(run, intervals, rows)));
    }
    if (rows.size() >= longest.size()) longest = std::move(rows);
    rows.clear();
  }
  if (longest.empty()) return std::nullopt;
  Window found = window;
  found.first_row = longest.front();
  Take(intervals, longest.back() + 1, found);
  return found.steps < kFewestForTails ? std::nullopt : std::optional(found);
}

}  // namespace

size_t WarmupSteps(const std::vector<int64_t>& durations_ns) {
  const size_t steps = durations_ns.size();
  if (steps <= kLeastSteps) return 0;
  std::vector<int64_t> sorted = durations_ns;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(steps / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const auto median = static_cast<double>(*middle);
  const auto longer = [&](int64_t ns) {
    return static_cast<double>(ns) > kUnlikeTheMedian * median;
  };
  const auto unlike = [&](int64_t ns) {
    return longer(ns) || kUnlikeTheMedian * static_cast<double>(ns) < median;
  };
  const auto most = static_cast<size_t>(kMostWarmUp * static_cast<double>(steps));
  size_t warmup = 0;
  while (warmup < steps && unlike(durations_ns[warmup])) ++warmup;
  size_t burst = warmup > 0 && longer(durations_ns.front()) ? warmup : 0;
  for (size_t i = burst; burst > 0 && i < steps && i - burst <= kMostBetween; ++i) {
    if (longer(durations_ns[i])) burst = i + 1;
  }
  const auto later = std::count_if(durations_ns.begin() + static_cast<std::ptrdiff_t>(burst),
                                   durations_ns.end(), longer);
  const bool rare = static_cast<double>(later) <= kRarely * static_cast<double>(steps - burst);
  if (rare && burst > warmup && burst <= most) warmup = burst;
  if (warmup > std::max<size_t>(most, 1)) warmup = 1;
  return std::min(warmup, steps - kLeastSteps);
}

Window WindowAfter(size_t warmup_steps, const model::Run& run,
                   const std::vector<model::StepInterval>& intervals) {
  Window window;
  if (intervals.empty()) {
    const model::TimeRange whole = model::WindowOf(run);
    window.start_ns = whole.start_ns;
    window.end_ns = std::max(whole.start_ns, whole.end_ns);
    return window;
  }
  window.warmup_steps = warmup_steps;
  size_t left_out = 0;
  while (window.first_row < intervals.size()) {
    const size_t row = window.first_row;
    if (row == 0 || intervals[row].index != intervals[row - 1].index) {
      if (left_out == window.warmup_steps) break;
      ++left_out;
    }
    ++window.first_row;
  }
  Take(intervals, intervals.size(), window);
  return window;
}

Window WindowWithin(int64_t start_ns, int64_t end_ns, const model::Run& run,
                    const std::vector<model::StepInterval>& intervals) {
  const auto begins_within = [&](const model::StepInterval& step) {
    return step.start_ns >= start_ns && step.start_ns < end_ns;
  };
  const auto first = std::find_if(intervals.begin(), intervals.end(), begins_within);
  Window window;
  if (first == intervals.end()) {
    const model::TimeRange whole = model::WindowOf(run);
    const int64_t last_ns = std::max(whole.start_ns, whole.end_ns);
    window.start_ns = std::clamp(start_ns, whole.start_ns, last_ns);
    window.end_ns = std::clamp(end_ns, window.start_ns, last_ns);
    return window;
  }
  const auto last = std::find_if(intervals.rbegin(), intervals.rend(), begins_within);
  window.first_row = static_cast<size_t>(first - intervals.begin());
  Take(intervals, static_cast<size_t>(last.base() - intervals.begin()), window);
  return window;
}

std::optional<Window> ProfiledWindow(const model::Run& run,
                                     const std::vector<model::StepInterval>& intervals) {
  if (!model::IsJob(run)) return std::nullopt;
  if (run.imported() ? !run.step_ranks.empty() : !HasDevice(run)) return std::nullopt;
  std::vector<Window> found;
  size_t most = 0;
  for (const model::ProfiledStretch& stretch : model::ProfiledStretches(run)) {
    const model::TimeRange open{CompleteFrom(run, stretch.open), stretch.open.end_ns};
    const std::vector<bool> whole = OfWholeSteps(intervals, [&](const auto& step) {
      return step.start_ns >= open.start_ns && step.end_ns <= open.end_ns;
    });
    const auto first = std::find(whole.begin(), whole.end(), true);
    const auto end = std::find(first, whole.end(), false);
    Window window;
    window.first_row = static_cast<size_t>(first - whole.begin());
    const auto past = static_cast<size_t>(end - whole.begin());
    if (CountIndices(intervals, window.first_row, past) < kLeastSteps) continue;
    if (!IsJoined(run, stretch.open)) continue;
    window.profiled_of = CountIndices(intervals, 0, intervals.size());
    Take(intervals, past, window);
    most = std::max(most, window.steps);
    found.push_back(window);
  }
  const auto last = std::find_if(found.rbegin(), found.rend(), [&](const Window& window) {
    return static_cast<double>(window.steps) >= kAsGood * static_cast<double>(most);
  });
  return last == found.rend() ? std::nullopt : std::optional(*last);
}

Window WindowOfDevices(const Window& window) {
  if (!window.profiled.has_value()) return window;
  Window devices = window;
  devices.start_ns = window.profiled->start_ns;
  devices.end_ns = window.profiled->end_ns;
  devices.first_row = window.profiled->first_row;
  devices.rows = window.profiled->rows;
  devices.steps = window.profiled->steps;
  return devices;
}

Window ChooseWindow(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                    Cancel cancel) {
  std::vector<size_t> rows(intervals.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  Window window = WindowAfter(WarmupOf(run, intervals, Durations(intervals), rows), run, intervals);
  if (window.steps > 0) {
    LeaveOutProbed(run, intervals, window);
    LeaveOutCold(run, intervals, cancel, window);
  }
  std::optional<Window> profiled = ProfiledWindow(run, intervals);
  if (!profiled.has_value()) return window;
  if (!run.imported()) {
    if (std::optional<Window> others = LongestUnprofiled(run, intervals, window)) {
      others->profiled = {profiled->start_ns, profiled->end_ns, profiled->first_row, profiled->rows,
                          profiled->steps};
      return *others;
    }
  }
  profiled->cold = window.cold;  // its rates come from the other steps
  return *profiled;
}

Window FirstEpochWindow(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                        Cancel cancel) {
  std::optional<int64_t> end_ns = EndOfFirstPass(run);
  if (!end_ns.has_value()) {
    const Window steady = ChooseWindow(run, intervals, cancel);
    if (steady.cold.has_value()) end_ns = steady.cold->end_ns;
  }
  size_t end = 0;
  while (end < intervals.size() && !(end_ns && intervals[end].start_ns >= *end_ns)) ++end;
  if (CountIndices(intervals, 0, end) < kLeastSteps) end = intervals.size();
  const std::vector<model::StepInterval> first(
      intervals.begin(), intervals.begin() + static_cast<std::ptrdiff_t>(end));
  Window window = WindowAfter(WarmupSteps(Durations(first)), run, first);
  window.first_epoch = true;
  return window;
}

std::vector<size_t> UnprofiledRows(const model::Run& run,
                                   const std::vector<model::StepInterval>& intervals,
                                   const Window& window) {
  const std::vector<model::ProfiledStretch> stretches = model::ProfiledStretches(run);
  if (stretches.empty() || !run.step_ranks.empty()) return {};
  const std::optional<model::TimeRange> probed = ProbedRange(run);
  const bool of_run = window.profiled_of != 0;  // the window has none of them
  const size_t first = of_run ? 0 : window.first_row;
  const size_t end = of_run ? intervals.size() : window.first_row + window.rows;
  std::vector<size_t> rows;
  std::vector<int64_t> durations;
  for (size_t row = first; row < end; ++row) {
    const model::StepInterval& at = intervals[row];
    const bool slowed =
        probed.has_value() && at.start_ns < probed->end_ns && at.end_ns > probed->start_ns;
    if (slowed || model::IsProfiled(stretches, at)) continue;
    rows.push_back(row);
    durations.push_back(at.end_ns - at.start_ns);
  }
  if (of_run) {
    const size_t warmup = WarmupOf(run, intervals, durations, rows);
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(warmup));
    std::erase_if(rows, [&](size_t row) {
      return window.cold.has_value() && intervals[row].start_ns < window.cold->end_ns;
    });
  }
  if (rows.size() < kFewestForInterval) rows.clear();
  return rows;
}

}  // namespace stallscope::attribution
