// What the samplers recorded: CPU and memory of the machine and the run, and for each thread how
// long it was on a core, or ready without one. Any thread.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/counter_rates.h"

namespace stallscope::attribution {

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
