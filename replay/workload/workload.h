// A run broken down: what each piece of work costs, and the spec that assembles the work.
//
// The costs never change and are shared by all workloads that are made from one recording, so that
// a copy of a workload costs no more than its spec: a sweep has thousands. What a change does to
// the run is a change of the spec (change.h); the simulator builds its stages from spec and costs
// as the pipeline does from spec and data. Plain data; any thread may read it while no one changes
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/plan/plan.h"
#include "analyzer/spec/spec.h"

namespace stallscope::replay {

// What one item needs from the machine, without the time that it waited for a core.
struct Cost {
  float cpu_ns = 0;
  float blocked_ns = 0;  // off the CPU of its own accord: a sleep, a call over the network
  float io_ns = 0;       // in a read
};

// A thread that was idle for this long finds caches and clock cooled down (a wake-up alone is 30
// us).
constexpr double kIdleNs = 50'000;
// Work that is shorter does not warm them.
constexpr double kWarmsNs = 2'000;

// What an item costs after its thread was idle, against one right after another.
struct IdleEffect {
  double factor = 1;   // of the CPU; 1 as well where the run does not show it
  bool shown = false;  // the run has enough items of both kinds
  double share = 0;    // of the recorded items, those after an idle time
};

// Of one stage of the spec, by its name.
struct StageCosts {
  // In the order in which they were begun, so that neighbors stay together: an empirical
  // distribution with its autocorrelation. Empty: the stage itself costs nothing.
  std::vector<Cost> items;
  double mean_cpu_ns = 0;
  double mean_blocked_ns = 0;
  double mean_io_ns = 0;
  std::vector<Cost> hits;   // cache, snapshot: of items that were kept; `items` are those put in
  double handover_ns = 0;   // CPU that a thread of the stage needs for an item besides its work
  double bytes = 0;         // of an item that it hands on
  double kept = 1;          // share of its items that it hands on (filter)
  bool of_batches = false;  // its items are batches
  IdleEffect idle;          // that `items` are free of
};

// What a step costs besides its input.
struct TrainerCosts {
  double batch = 1;              // samples of a step, as recorded
  std::vector<Cost> compute;     // by step: the kernels' time, as cpu_ns
  double reduce_ns = 0;          // between replicas, in a step that updates the model
  double update_ns = 0;          // of `compute` in such a step, the optimizer's
  double update_kernels = 0;     // of such a step: the optimizer's and the reduction's
  double ops_ns = 0;             // of it, ops of maps on the device
  double device_cores = 0;       // cores of the host that a kernel burns; 0: an accelerator
  double sample_bytes = 0;       // over the link
  double host_sample_bytes = 0;  // in a batch
  double link_latency_ns = 0;    // of one copy
  double link_bytes_per_ns = 0;  // as recorded; 0: no copies
  double convert_ns = 0;         // CPU before the copies
  double issue_ns = 0;           // CPU of the trainer's thread for a step
  double kernels = 0;            // of a step
  double launches = 0;           // of a step; a graph is one
  double neighbors = 0;          // share of the kernels that could be part of the one before
  double turn_ns = 0;            // from the device's end to when the host goes on
};

struct JobCosts;  // job_costs.h
struct OpChange;  // op_change.h

// Everything that one recording shows. Never changes once it is made.
struct Recorded {
  Spec spec;
  bool made_up_spec = false;  // a foreign run has none; it was read off its stage graph
  bool imported = false;      // from another profiler: its training loop is unknown
  std::map<std::string, StageCosts, std::less<>> stages;
  // Of a user's job, whose spec is its settings: what it costs, instead of stages and trainer.
  std::shared_ptr<const JobCosts> job;
  // Of a map that was cut in two, the part that works on whole batches; `stages` has the other.
  std::map<std::string, StageCosts, std::less<>> vectorized;
  TrainerCosts trainer;
  std::string host;                    // the machine's name
  double cores = 0;                    // that the run could use
  bool cores_known = true;             // else enough of them are assumed
  bool cpu_known = true;               // else all of a stage's time is assumed to be CPU time
  double other_cores = 0;              // that something else on the machine used meanwhile
  double busy_cores = 0;               // that the run itself used
  unsigned ranks = 1;                  // of a job, which share these cores; the costs are of one
  std::optional<double> waited_cores;  // threads of it that were ready, but had none
  std::optional<double> input_stall;   // share of the step time
  double from_disk = 0;                // share of what it read; the page cache had the rest
  double wake_ns = 0;                  // from an event to when a thread that slept for it runs
  uint64_t steps = 0;                  // warm-up counted
  // Elements that a pass over the data has; nothing where the run did not see a pass end.
  std::optional<uint64_t> elements_per_epoch;
  double elements_per_file = 0;                       // 0: not known
  std::map<std::string, int64_t, std::less<>> tuned;  // by knob: what "auto" settled on
  double samples_per_s = 0;                           // measured, without the warm-up
  // The trace does not say how many samples a step has: a step counts as one, and every rate is in
  // steps per second.
  bool counts_steps = false;
  // Stages that the trace shows only from the outside, and what to record to see inside. They keep
  // the trainer waiting as they did; changes to them cannot be priced.
  std::map<std::string, std::string, std::less<>> unseen;
  double spread = 0;                // half of its 90% interval, as a part of it
  uint64_t peak_rss_bytes = 0;      // 0: not known
  std::vector<std::string> limits;  // what of the run is not known, and how it is taken instead
};

// What makes the recorded spec's simulation give the measured throughput (simulate.h).
struct Calibration {
  double input_scale = 1;    // of every stage's costs
  double step_extra_ns = 0;  // of the trainer's thread, each step
  double rest = 1;           // of a step's time, what the two do not explain
  double doubt = 0;  // of a prediction, as a part of it: what the simulation did not explain
  double off = 0;    // by how much the recorded step was shorter than the simulated one, before
  // What the simulation of the recorded run has otherwise than the recording, in words.
  std::vector<std::string> unexplained;
  // Of every interval, by how far earlier predictions were off (replay/whatif/error_ledger.h).
  double widening = 1;
};

struct Workload {
  Spec spec;
  std::shared_ptr<const Recorded> recorded;
  std::optional<Calibration> calibration;
  // What this spec's ops cost, where they are not those recorded; null: they are.
  std::shared_ptr<const OpChange> ops;
  // Of the logarithm of the throughput, half of a 90% interval: what the change to this spec makes
  // uncertain, beyond what the simulation knows.
  double doubt = 0;
  std::vector<std::string> assumptions;  // each with the knob that it comes from

  uint64_t steps() const;  // that a run of this spec would have; those recorded where it is open
};

// Samples of a step; 1 without a batch stage.
uint64_t BatchSize(const Spec& spec);
// Likewise; of a job, on average, by what was recorded.
double SamplesOfStep(const Workload& workload);
// Of one element behind this node of the spec's plan: what was read, or once it is decoded what a
// batch has of it. 0 where it is not known.
double ItemBytes(const Workload& workload, const plan::Graph& graph, size_t node);
// The host's memory that buffers, caches and workers of a spec hold beyond what any run needs.
uint64_t HeldBytes(const Workload& workload);

}  // namespace stallscope::replay
