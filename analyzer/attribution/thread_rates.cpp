#include "analyzer/attribution/thread_rates.h"

#include <algorithm>
#include <string>

namespace stallscope::attribution {

CounterRates::CounterRates(const model::Run& run, const Window& window)
    : run_(run), series_(run.counters.size()) {
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
  const std::string of_rank = "rank " + std::to_string(rank) + ": " + std::string(name);
  for (size_t i = 0; i < run_.counters.size(); ++i) {
    const std::string& counter = run_.counters[i].name;
    if ((counter == name || counter == of_rank) && series_[i].samples > 0) return &series_[i];
  }
  return nullptr;
}

std::optional<double> CounterRates::Rate(std::string_view name, uint32_t rank) const {
  const Series* const series = Find(name, rank);
  if (series == nullptr || series->last_ns <= series->first_ns) return std::nullopt;
  // A thread's number that comes again begins anew.
  const double grown = std::max(0.0, series->last - series->first);
  return grown / static_cast<double>(series->last_ns - series->first_ns);
}

std::optional<double> CounterRates::Least(std::string_view name) const {
  const Series* const series = Find(name, run_.info.rank);
  return series == nullptr ? std::nullopt : std::optional(series->least);
}

std::optional<double> CounterRates::Most(std::string_view name) const {
  const Series* const series = Find(name, run_.info.rank);
  return series == nullptr ? std::nullopt : std::optional(series->most);
}

std::vector<ThreadRate> RatesOfThreads(const model::Run& run, const CounterRates& counters) {
  std::vector<ThreadRate> rates(run.tracks.size());
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    const model::Track& track = run.tracks[i];
    if (track.info.thread == 0 || track.spans.size() == 0) continue;
    const std::string name = "thread" + std::to_string(track.info.thread);
    rates[i] = {counters.Rate(name + ".on_cpu", track.rank),
                counters.Rate(name + ".run_wait", track.rank)};
  }
  return rates;
}

}  // namespace stallscope::attribution
