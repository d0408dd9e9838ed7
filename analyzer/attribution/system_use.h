// What the samplers recorded: CPU and memory of the machine and the run, and for each thread how
// long it was on a core, or ready without one. Any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/intervals.h"

namespace stallscope::attribution {

// The growth per nanosecond of a counter that only grows, between the last sample at or before the
// window's start and the first at or after its end (or the nearest). Nothing with fewer than two
// samples.
class CounterRates {
 public:
  CounterRates(const model::Run& run, const Window& window);
  // `rank` matters if ranks were merged.
  std::optional<double> Rate(std::string_view name, uint32_t rank) const;
  // The same of all threads of which this was recorded ("run_wait"), shared over the window: a
  // thread may live for a part of it.
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

  const model::Run& run_;
  const Window window_;
  std::vector<Series> series_;  // by counter
};

// A thread's times in the window. It may live for only a part of it.
struct ThreadTime {
  std::optional<double> on_cpu_ns;
  std::optional<double> run_wait_ns;
  bool trains = false;   // the thread is the trainer's, and this only of its pipeline's work
  bool beside = false;   // part of it may belong to work that is not recorded
  double called_ns = 0;  // of on_cpu_ns: on other threads, which compute what this one waits for
};
// By track.
std::vector<ThreadTime> TimesOfThreads(const model::Run& run, const Window& window,
                                       const CounterRates& counters);

CpuUse UseOfCpu(const model::Run& run, const Window& window, const CounterRates& counters);
// Needs the stages with their queues filled in.
MemoryUse UseOfMemory(const model::Run& run, const CounterRates& counters,
                      const std::vector<StageUse>& stages);

// By id.
std::vector<ProcessUse> UseOfProcesses(const model::Run& run);

}  // namespace stallscope::attribution
