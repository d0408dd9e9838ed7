// How fast the recorded counters grew in a window. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/intervals.h"

namespace stallscope::attribution {

// "thread1234.run_wait" of the track's thread and ".run_wait".
std::string NameOfThread(const trace::TrackInfo& track, std::string_view what);

// The growth per nanosecond of a counter that only grows, between the last sample at or before the
// window's start and the first at or after its end (or the nearest). Nothing with fewer than two
// samples.
class CounterRates {
 public:
  CounterRates(const model::Run& run, const Window& window);
  // `rank` matters if ranks were merged.
  std::optional<double> Rate(std::string_view name, uint32_t rank) const;
  // The same, shared over the window: a thread or a process may live for a part of it.
  std::optional<double> RateOverWindow(std::string_view name, uint32_t rank) const;
  // The sum of these of all threads of which this was recorded ("run_wait").
  std::optional<double> RateOfThreads(std::string_view what, uint32_t rank) const;
  // The same within `set`, which is in the window, told from the growth outside by samples that
  // have more of one or of the other. Nothing if they do not tell them apart. In [0, 1].
  std::optional<double> RateWithin(std::string_view name, uint32_t rank,
                                   const Intervals& set) const;
  // From its first sample to its last, including those just outside of the window.
  std::optional<Interval> Sampled(std::string_view name, uint32_t rank) const;
  // Of the samples in the window; of all, if none is.
  std::optional<double> Least(std::string_view name) const;
  std::optional<double> Most(std::string_view name) const;
  // Per nanosecond of the window, if it grew all through it at about one pace.
  std::optional<double> SteadyGrowth(std::string_view name) const;

 private:
  struct Series {
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    double first = 0;
    double last = 0;
    double least = 0;
    double most = 0;
    size_t samples = 0;
  };
  const Series* Find(std::string_view name, uint32_t rank) const;
  std::optional<double> OverWindow(const Series& series) const;

  const model::Run& run_;
  const Window window_;
  std::vector<Series> series_;  // by counter
};

}  // namespace stallscope::attribution
