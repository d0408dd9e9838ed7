#include "analyzer/attribution/counter_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analyzer/model/ranks.h"

namespace stallscope::attribution {
namespace {

constexpr std::string_view kThread = "thread";
// Fewer samples, or ones that all have about the same parts, do not tell two rates apart.
constexpr size_t kFewestPieces = 6;
constexpr double kApart = 0.1;
// Of a quarter of the window, for its level; quarters that grow alike differ by less than this
// factor.
constexpr size_t kFewestOfQuarter = 5;
constexpr double kSamePace = 3;

// "thread1234.run_wait", also where its rank stands before it.
bool IsOfThread(std::string_view name, std::string_view of_rank, std::string_view what) {
  for (const std::string_view start : {kThread, of_rank}) {
    if (!name.starts_with(start)) continue;
    const std::string_view rest = name.substr(start.size());
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    if (digits > 0 && rest.substr(digits).starts_with('.') && rest.substr(digits + 1) == what) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string NameOfThread(const trace::TrackInfo& track, std::string_view what) {
  return std::string(kThread).append(std::to_string(track.thread)).append(what);
}

CounterRates::CounterRates(const model::Run& run, const Window& window)
    : run_(run), window_(window), series_(run.counters.size()) {
  // A sample just outside the window still bounds what happened inside.
  for (const trace::Sample& sample : run.rows.samples) {
    if (!sample.counter.known()) continue;
    Series& series = series_[sample.counter.value];
    if (series.samples > 0 && sample.time_ns > window.end_ns && series.last_ns >= window.end_ns) {
      continue;
    }
    const bool restart = series.samples == 0 ||
                         (sample.time_ns <= window.start_ns && sample.time_ns >= series.first_ns);
    if (restart) {
      series = {sample.time_ns,
                sample.time_ns,
                sample.value,
                sample.value,
                sample.value,
                sample.value,
                1};
      continue;
    }
    ++series.samples;
    series.last_ns = sample.time_ns;
    series.last = sample.value;
    series.least = std::min(series.least, sample.value);
    series.most = std::max(series.most, sample.value);
  }
}

const CounterRates::Series* CounterRates::Find(std::string_view name, uint32_t rank) const {
  const std::string of_rank = model::NameOnRank(rank, name);
  for (size_t i = 0; i < run_.counters.size(); ++i) {
    const std::string& counter = run_.counters[i].name;
    if ((counter == name || counter == of_rank) && series_[i].samples > 0) return &series_[i];
  }
  return nullptr;
}

std::optional<double> CounterRates::Rate(std::string_view name, uint32_t rank) const {
  const Series* const series = Find(name, rank);
  if (series == nullptr || series->last_ns <= series->first_ns) return std::nullopt;
  // A reused thread id starts again at zero.
  const double grown = std::max(0.0, series->last - series->first);
  return grown / static_cast<double>(series->last_ns - series->first_ns);
}

std::optional<double> CounterRates::RateWithin(std::string_view name, uint32_t rank,
                                               const Intervals& set) const {
  const Series* const series = Find(name, rank);
  if (series == nullptr) return std::nullopt;
  const auto counter = static_cast<size_t>(series - series_.data());
  // Least squares: growth = a * (what is within) + b * (what is not).
  double inside_inside = 0;
  double inside_outside = 0;
  double outside_outside = 0;
  double inside_grown = 0;
  double outside_grown = 0;
  size_t pieces = 0;
  const trace::Sample* last = nullptr;
  for (const trace::Sample& sample : run_.rows.samples) {
    if (!sample.counter.known() || sample.counter.value != counter) continue;
    const trace::Sample* const before = std::exchange(last, &sample);
    if (before == nullptr) continue;
    const Interval piece{before->time_ns, sample.time_ns};
    if (piece.start_ns < window_.start_ns || piece.end_ns > window_.end_ns) continue;
    const auto inside = static_cast<double>(Length(Intersect(set, piece)));
    const double outside = static_cast<double>(piece.ns()) - inside;
    const double grown = std::max(0.0, sample.value - before->value);
    inside_inside += inside * inside;
    inside_outside += inside * outside;
    outside_outside += outside * outside;
    inside_grown += inside * grown;
    outside_grown += outside * grown;
    ++pieces;
  }
  const double apart = inside_inside * outside_outside - inside_outside * inside_outside;
  if (pieces < kFewestPieces || apart <= kApart * inside_inside * outside_outside) {
    return std::nullopt;
  }
  const double rate = (inside_grown * outside_outside - outside_grown * inside_outside) / apart;
  return std::clamp(rate, 0.0, 1.0);
}

std::optional<Interval> CounterRates::Sampled(std::string_view name, uint32_t rank) const {
  const Series* const series = Find(name, rank);
  if (series == nullptr) return std::nullopt;
  return Interval{series->first_ns, series->last_ns};
}

std::optional<double> CounterRates::OverWindow(const Series& series) const {
  const int64_t lived_ns =
      std::min(series.last_ns, window_.end_ns) - std::max(series.first_ns, window_.start_ns);
  const auto all_ns = static_cast<double>(series.last_ns - series.first_ns);
  if (lived_ns <= 0 || all_ns <= 0 || window_.ns() <= 0) return std::nullopt;
  const double grown = std::max(0.0, series.last - series.first);
  return grown * static_cast<double>(lived_ns) / all_ns / static_cast<double>(window_.ns());
}

std::optional<double> CounterRates::RateOverWindow(std::string_view name, uint32_t rank) const {
  const Series* const series = Find(name, rank);
  return series == nullptr ? std::nullopt : OverWindow(*series);
}

std::optional<double> CounterRates::RateOfThreads(std::string_view what, uint32_t rank) const {
  const std::string of_rank = model::NameOnRank(rank, kThread);
  std::optional<double> sum;
  for (size_t i = 0; i < run_.counters.size(); ++i) {
    if (!IsOfThread(run_.counters[i].name, of_rank, what)) continue;
    if (const auto rate = OverWindow(series_[i])) sum = sum.value_or(0) + *rate;
  }
  return sum;
}

std::optional<double> CounterRates::Least(std::string_view name) const {
  const Series* const series = Find(name, run_.info.rank);
  return series == nullptr ? std::nullopt : std::optional(series->least);
}

std::optional<double> CounterRates::Most(std::string_view name) const {
  const Series* const series = Find(name, run_.info.rank);
  return series == nullptr ? std::nullopt : std::optional(series->most);
}

std::optional<double> CounterRates::SteadyGrowth(std::string_view name) const {
  const Series* const series = Find(name, run_.info.rank);
  if (series == nullptr || window_.ns() <= 0) return std::nullopt;
  const auto counter = static_cast<size_t>(series - series_.data());
  std::array<std::vector<double>, 4> quarters;
  for (const trace::Sample& sample : run_.rows.samples) {
    if (!sample.counter.known() || sample.counter.value != counter) continue;
    const double at =
        static_cast<double>(sample.time_ns - window_.start_ns) / static_cast<double>(window_.ns());
    if (at >= 0 && at < 1 && std::isfinite(sample.value))
      quarters[static_cast<size_t>(4 * at)].push_back(sample.value);
  }
  std::array<double, 4> levels{};
  for (size_t i = 0; i < quarters.size(); ++i) {
    auto& values = quarters[i];
    if (values.size() < kFewestOfQuarter) return std::nullopt;
    const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    levels[i] = *middle;
  }
  double least = levels[1] - levels[0];
  double most = least;
  for (size_t i = 2; i < levels.size(); ++i) {
    least = std::min(least, levels[i] - levels[i - 1]);
    most = std::max(most, levels[i] - levels[i - 1]);
  }
  if (!(least > 0 && least > most / kSamePace)) return std::nullopt;
  return (levels[3] - levels[0]) / (0.75 * static_cast<double>(window_.ns()));
}

}  // namespace stallscope::attribution
