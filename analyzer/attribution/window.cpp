#include "analyzer/attribution/window.h"

#include <algorithm>

namespace stallscope::attribution {
namespace {

constexpr size_t kLeastSteps = 3;

size_t CountIndices(const std::vector<model::StepInterval>& intervals, size_t first) {
  size_t count = 0;
  for (size_t i = first; i < intervals.size(); ++i) {
    if (i == first || intervals[i].index != intervals[i - 1].index) ++count;
  }
  return count;
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

}  // namespace

size_t WarmupSteps(const std::vector<int64_t>& durations_ns) {
  const size_t steps = durations_ns.size();
  if (steps <= kLeastSteps) return 0;
  std::vector<int64_t> sorted = durations_ns;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(steps / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const auto median = static_cast<double>(*middle);
  const auto unlike = [&](int64_t ns) {
    const auto duration = static_cast<double>(ns);
    return duration > kUnlikeTheMedian * median || kUnlikeTheMedian * duration < median;
  };
  size_t warmup = 0;
  while (warmup < steps && unlike(durations_ns[warmup])) ++warmup;
  const auto most = static_cast<size_t>(kMostWarmUp * static_cast<double>(steps));
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
  window.rows = intervals.size() - window.first_row;
  window.steps = CountIndices(intervals, window.first_row);
  window.start_ns = intervals[window.first_row].start_ns;
  window.end_ns = window.start_ns;
  for (size_t row = window.first_row; row < intervals.size(); ++row) {
    window.start_ns = std::min(window.start_ns, intervals[row].start_ns);
    window.end_ns = std::max(window.end_ns, intervals[row].end_ns);
  }
  return window;
}

Window ChooseWindow(const model::Run& run, const std::vector<model::StepInterval>& intervals) {
  return WindowAfter(WarmupSteps(Durations(intervals)), run, intervals);
}

}  // namespace stallscope::attribution
