// The plan of a workload's spec with its costs: groups of threads with queues between them, and the
// trainer. Private to the room. Points into the workload, which must outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "replay/simulate/step_plan.h"
#include "replay/workload/op_change.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

// What one stage does to an item on its way. Hops are in path order.
struct Hop {
  enum class Kind : uint8_t { kWork, kFilter, kBatch, kShuffle, kCache };
  Kind kind = Kind::kWork;
  uint32_t stage = 0;                        // index in the spec
  const std::vector<Cost>* costs = nullptr;  // null: none
  double scale = 1;                          // of the costs
  double io_scale = 1;                       // of their reads
  double after_idle = 1;                     // of their CPU, in a thread that was idle
  double more_cpu_ns = 0;                    // extra, per item; may be negative
  double more_blocked_ns = 0;                // the same, off the CPU
  uint64_t io_bytes = 0;                     // that come through the throttled disk, instead of io
  double kept = 1;                           // kFilter
  uint64_t size = 0;                         // kBatch, kShuffle
  uint64_t epoch = 0;                        // items of a pass; 0: it never ends. kShuffle, kCache
  const std::vector<Cost>* hits = nullptr;   // kCache: of an item that was kept
  double hit_cpu_ns = 0;                     // the same, besides
  uint64_t times = 1;                        // how often per job
};

// Threads with a queue behind them, and all stages that work in these threads: those of a plan's
// node with threads of its own, and the ones before it without.
struct Group {
  uint32_t stage = 0;  // index in the spec of the one that has the queue
  int input = -1;      // the group whose queue they pull from; -1: nothing, the source is theirs
  std::vector<Hop> chain;  // done by one thread at a time, in turns
  uint64_t job = 1;        // items of the chain that one piece of work takes
  std::vector<Hop> work;   // done in parallel
  uint64_t workers = 1;
  uint64_t limit = 1;  // of the queue
  bool ordered = true;
  double handover_ns = 0;  // extra CPU per job
};

struct Network {
  std::vector<Group> groups;  // from the source on
  Group trainer;              // what runs in the thread that asks; its job is a batch
  StepPlan step;
  double cores = 1;
  double wake_ns = 0;
  double disk_ns_per_byte = 0;  // 0: it is not throttled
  size_t stages = 0;
  std::vector<double> workers;  // by stage: threads that can be at its work at once
};

// `batches`: how many of the run's batches to simulate; epochs are scaled in proportion, so that
// each phase keeps its share. Error where the spec has no plan (plan::Lower).
// `ends`: of what is not certain of other ops' costs.
Result<Network> BuildNetwork(const Workload& workload, uint64_t batches, Ends ends = Ends::kMiddle);

// That a run of these costs has: without what others take, and what busy cores take from each
// other.
double UsableCores(const Recorded& recorded);

}  // namespace stallscope::replay
