#include "analyzer/attribution/probe.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/base/math.h"

namespace stallscope::attribution {
namespace {

// The batches that were in the queues when a window began still flow at the old rate: its first
// part does not count.
constexpr double kSettling = 0.25;

// How many samples the trainer has requested by any time; a step under way counts in part.
class Samples {
 public:
  explicit Samples(const model::Run& run) {
    const auto intervals = model::StepIntervals(run);
    double sum = 0;
    for (size_t row = 0; row < intervals.size(); ++row) {
      // Times that run backward are those of a damaged clock; the steps stay in order.
      const int64_t start = times_.empty() ? intervals[row].start_ns
                                           : std::max(intervals[row].start_ns, times_.back());
      times_.push_back(start);
      sums_.push_back(sum);
      sum += run.rows.steps[row].samples;
    }
    if (intervals.empty()) return;
    times_.push_back(std::max(intervals.back().end_ns, times_.back()));
    sums_.push_back(sum);
  }

  // Samples per nanosecond in this part of the run; 0 if part of it is outside of the steps.
  double Rate(int64_t from_ns, int64_t to_ns) const {
    if (times_.empty() || from_ns < times_.front() || to_ns > times_.back() || to_ns <= from_ns) {
      return 0;
    }
    return (At(to_ns) - At(from_ns)) / static_cast<double>(to_ns - from_ns);
  }

 private:
  double At(int64_t ns) const {
    const auto after = std::upper_bound(times_.begin(), times_.end(), ns);
    if (after == times_.end()) return sums_.back();
    const auto i = static_cast<size_t>(after - times_.begin());
    const auto length = static_cast<double>(times_[i] - times_[i - 1]);
    const auto part = static_cast<double>(ns - times_[i - 1]) / length;
    return sums_[i - 1] + part * (sums_[i] - sums_[i - 1]);
  }

  std::vector<int64_t> times_;
  std::vector<double> sums_;
};

double RateIn(const Samples& samples, const trace::Probe& window) {
  const auto length = static_cast<double>(window.end_ns - window.start_ns);
  return samples.Rate(window.start_ns + std::llround(kSettling * length), window.end_ns);
}

// The rate of the undisturbed windows next to this one: the mean of both sides cancels a drift.
double RateBeside(const std::vector<trace::Probe>& windows, const std::vector<double>& rates,
                  size_t i) {
  double sum = 0;
  int count = 0;
  for (const size_t j : {i - 1, i + 1}) {  // 0 - 1 is past the end, too
    if (j >= windows.size() || windows[j].stage.known() || rates[j] <= 0) continue;
    sum += rates[j];
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

}  // namespace

std::optional<model::TimeRange> ProbedRange(const model::Run& run) {
  std::optional<model::TimeRange> range;
  bool slowed = false;
  for (const trace::Probe& window : run.rows.probes) {
    slowed = slowed || window.stage.known();
    if (!range.has_value()) range = {window.start_ns, window.end_ns};
    range->start_ns = std::min(range->start_ns, window.start_ns);
    range->end_ns = std::max(range->end_ns, window.end_ns);
  }
  return slowed ? range : std::nullopt;
}

std::vector<Sensitivity> SensitivitiesOf(const model::Run& run) {
  if (run.rows.probes.empty() || !run.step_ranks.empty()) return {};
  std::vector<trace::Probe> windows = run.rows.probes;
  std::stable_sort(windows.begin(), windows.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  const Samples samples(run);
  std::vector<double> rates;
  for (const trace::Probe& window : windows) rates.push_back(RateIn(samples, window));
  struct Seen {
    std::vector<double> values;
    double slowed = 0;
  };
  std::map<StageId, Seen> seen;
  for (size_t i = 0; i < windows.size(); ++i) {
    const trace::Probe& window = windows[i];
    if (!window.stage.known() || window.work_ns == 0 || window.delay_ns == 0) continue;
    const double beside = RateBeside(windows, rates, i);
    if (rates[i] <= 0 || beside <= 0) continue;
    const double by = static_cast<double>(window.delay_ns) / static_cast<double>(window.work_ns);
    Seen& stage = seen[window.stage];
    stage.values.push_back(std::log(rates[i] / beside) / std::log1p(by));
    stage.slowed += by;
  }
  std::vector<Sensitivity> sensitivities;
  for (const auto& [stage, of] : seen) {
    const auto interval = MeanInterval(of.values);
    sensitivities.push_back({stage, interval.mean, interval.low, interval.high,
                             of.values.size() > 1, of.values.size(),
                             of.slowed / static_cast<double>(of.values.size())});
  }
  return sensitivities;
}

}  // namespace stallscope::attribution
