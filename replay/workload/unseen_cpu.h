// CPU that a job's processes burn outside of their recorded work: queues' threads, a math
// library's, the job's own code between steps. Private to the room; one thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/attribution/intervals.h"

namespace stallscope::replay {

struct RecordedWork {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t cpu_ns = 0;
  bool counts = false;  // as a batch: a step of the main process, a fetch of a worker
};

// Of a process's CPU clock: when, and how much so far.
using CpuSamples = std::vector<std::pair<int64_t, double>>;

class UnseenCpu {
 public:
  // Adds those of a process that lie between two of its samples, in `window` and while it works.
  // Pieces that touch `without` are left out: what starting workers burns is no cost of a batch.
  void Add(const std::vector<RecordedWork>& work, const CpuSamples& samples,
           attribution::Interval window, const attribution::Intervals& without);
  // 0 if too few batches show it.
  double PerBatch() const;

 private:
  double cpu_ns_ = 0;
  double batches_ = 0;
};

}  // namespace stallscope::replay
