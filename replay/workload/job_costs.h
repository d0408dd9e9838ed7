// What a recorded job's data loader and its training loop cost, batch by batch: the job's part of
// Recorded.
//
// Covers the loader that feeds the steps, and those that the job evaluates with between steps,
// whose batches and time are costs of the same kind. A cost is as recorded, without the time spent
// waiting for a core. Costs that the trace does not show are empty, and `limits` of Recorded names
// them. Plain data; any thread may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

struct BatchCost {
  Cost sample;   // choosing the indices, in the main process
  Cost fetch;    // fetching and collating: in a worker, or in the main process
  Cost send;     // serialising, in the worker
  Cost receive;  // its undoing, in the main process or in its pinning thread
  Cost pin;
  uint32_t worker = 0;
  uint32_t bytes = 0;  // of the message
};

// The time between two steps.
struct Pause {
  double evaluates_ns = 0;  // of it, evaluation
  double other_ns = 0;
};

// How the workers of a loader start and end.
struct WorkerStart {
  double fork_ns = 0;          // of the main process, for each
  double boot_cpu_ns = 0;      // from there to when a worker asks for its first batch
  double boot_blocked_ns = 0;  // the same stretch
  double end_ns = 0;           // of the main process, to end them all
  // More than for later batches, for a worker's first: its memory and caches are cold.
  Cost first_fetch, first_send, first_receive;
  // Likewise for the first step afterward: the main process's memory is shared with the workers.
  Cost first_step;
};

struct JobCosts;

// The job's work with another loader, between its steps.
struct Evaluation {
  std::string loader;  // loader2, ...
  // `steps` is the job's work per batch; the one pass is as long as the longest.
  std::shared_ptr<const JobCosts> costs;
  double ns = 0;  // in the whole run, including the start of its workers
};

struct JobCosts {
  LoaderSpec loader;  // as it was recorded
  // Of grain: threads or processes make batches ahead of the loop, or parts of them: all batches
  // have the mean cost. Without any, each has its own.
  bool of_grain = false;
  double samples = 1;  // of a batch
  // In the order of the loader's passes, and in each of the batches; begins with number `first`,
  // behind the warm-up.
  std::vector<BatchCost> batches;
  uint64_t first = 0;
  // The trainer's own time between two batches, by step.
  std::vector<Cost> steps;
  // Evaluation and checkpoints after a step within a pass, by step; empty: none.
  std::vector<Pause> pauses;
  Pause between_passes;        // additionally: the same after a pass, on average
  double pause_cpu_share = 0;  // of all of these, the part that the main process computes
  std::vector<Evaluation> evaluations;
  double evaluated_ns = 0;  // total, including loaders whose work was not recorded
  // False if pin_memory was set and nothing was pinned: without an accelerator it has no effect.
  bool pins = true;
  // Copies to the device, per step; 0: the trace shows none.
  double copied_bytes = 0;
  double copy_ns = 0;
  double hand_out_ns = 0;      // of the main process, for a batch, in the loader's own code
  double main_extra_ns = 0;    // CPU of the main process's other threads, for a batch
  double worker_extra_ns = 0;  // the same, of a worker's
  // CPU that other threads of the main process's math library burn for a step, and how many threads
  // it had, the main one included.
  double math_ns = 0;
  int64_t math_threads = 1;
  // Other threads of the processes that load take part, as those of each new worker would.
  bool loads_in_threads = false;
  bool in_pools = false;  // the main process's loading mostly waits for pools of the job's own
  std::string math_threads_set;  // where the job's own code sets their number; empty: it does not
  bool sends = false;            // handing batches over from workers was recorded
  // Of a batch's work, the part that holds a lock which all workers share; 1: they wait for one,
  // and how long it is held was not recorded.
  double held = 0;
  std::optional<WorkerStart> start;
  bool made_again = false;  // the job makes a new loader for each pass, with workers of its own
  // Batches of each pass that ended.
  std::vector<uint64_t> passes;
  // Batches of each worker's share in a pass, where an iterable data set's ended.
  std::vector<uint64_t> shards;
  std::optional<uint64_t> worker_bytes;  // memory that one more worker takes, at most
};

// Of the loader that feeds the steps; null: the spec is no job's.
const LoaderSpec* FirstLoader(const Spec& spec);

// kInput where nothing can be predicted from the run: several loaders feed its steps, or what is in
// their batches was not seen. Adds to `limits` what the trace does not hold.
Result<JobCosts> CostsOfJob(const model::Run& run, const attribution::Attribution& attribution,
                            std::vector<std::string>& limits);

}  // namespace stallscope::replay
