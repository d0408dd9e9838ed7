// Where the time of a run went, exactly: each instant of each device in one category, each instant
// of a stall on one stage and cause. METHOD.md has the formulas and a worked example.
//
// A figure that the trace cannot support is an empty optional, and `limits` names it; nothing is
// guessed. Sums are exact to the nanosecond: the breakdown adds up to the window, the blame to the
// breakdown's input stall. Plain data; the same for any number of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attribution/category.h"
#include "analyzer/base/math.h"
#include "analyzer/model/run.h"

namespace stallscope::attribution {

// Why a run's first steps differ from all later ones.
enum class ColdCause : uint8_t {
  kPageCache,   // reads come from the disk
  kFirstEpoch,  // no earlier pass has prepared anything
  kWorkers,     // they have just started
  kWarmUp,      // compilation, first touches of memory
};
std::string_view WordFor(ColdCause cause);  // "page cache", "first epoch", "workers", "warm-up"

// The first steps after the warm-up, in which a stage took longer per item than it ever did later.
struct ColdStart {
  size_t steps = 0;
  int64_t start_ns = 0;  // of the first step
  int64_t end_ns = 0;
  // How much longer they took than the same number of later steps. Not positive: other work hid it.
  int64_t cost_ns = 0;
  StageId stage;      // the one that lost most
  double slower = 1;  // its time per item, relative to later steps
  ColdCause cause = ColdCause::kWarmUp;
};

// The steps of a job whose kernels and copies a framework's profiler recorded.
struct ProfiledSteps {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  size_t first_row = 0;  // in Run::rows.steps
  size_t rows = 0;
  size_t steps = 0;  // of which several ranks have a row each
};

// What is analyzed. Warm-up steps are before it.
struct Window {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  size_t first_row = 0;  // of the counted steps in Run::rows.steps
  size_t rows = 0;       // counted ones: one per step and rank
  size_t steps = 0;
  size_t warmup_steps = 0;
  std::optional<ColdStart> cold;  // also excluded: it is between the warm-up and the window
  bool first_epoch = false;       // the window is the run's first epoch, as requested
  size_t probed_steps = 0;        // excluded because stages were slowed on purpose
  size_t profiled_of = 0;         // all steps of the run, if only profiled ones are in the window
  // If the window has none of them: those that show what a step's work on the devices takes.
  std::optional<ProfiledSteps> profiled = {};
  int64_t ns() const { return end_ns - start_ns; }
};

// A stretch of a device's time in one category.
struct Slice {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  Category category = Category::kOther;
};

// One device's window: its slices follow each other without a gap.
struct DeviceTimeline {
  uint32_t rank = 0;
  uint32_t device = 0;
  std::vector<Slice> slices;
};

// One counted step, or without any the window.
struct StepShare {
  uint64_t index = 0;
  uint32_t rank = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t samples = 0;
  PerCategory<int64_t> ns{};  // the mean of the rank's devices, remainders to the first; adds up
};

// With fewer steps nothing is known of how they vary, and no figure has an interval.
constexpr size_t kFewestForInterval = 3;
// With fewer values the 95th and 99th percentiles are their maximum under other names.
constexpr size_t kFewestForTails = 10;

struct CategoryTotal {
  int64_t ns = 0;
  double fraction = 0;
  double low = 0;  // 95% interval of the fraction
  double high = 0;
  bool bounded = true;  // false: there is no interval, both are the fraction
};

struct Blame {
  StageId stage;
  Cause cause = Cause::kUnknown;
  int64_t ns = 0;
  double fraction = 0;  // of the window
};

// What the trainer did that is no training: "evaluation", "checkpoint".
struct BesideUse {
  std::string name;
  uint64_t count = 0;  // evaluated batches; checkpoints
  int64_t ns = 0;
  double fraction = 0;  // of the window, or of the run
};

// A step's longest wait for one element.
struct Straggler {
  uint64_t step = 0;
  int64_t stall_ns = 0;    // of the step
  int64_t element_ns = 0;  // of this while the element was on its way
  int64_t took_ns = 0;     // the work on it in `stage`, begin to end; 0 if the trace lacks it
  int64_t start_ns = 0;
  StageId stage;  // where it spent most of that
  Cause cause = Cause::kUnknown;
  ItemId element;
  trace::StringId file;
  uint64_t record = 0;
};

struct Quantiles {
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double variation = 0;  // standard deviation / mean
};

struct QueueUse {
  QueueId queue;
  uint64_t capacity = 0;
  std::optional<double> mean;   // depth over time
  std::optional<double> empty;  // fractions of the window
  std::optional<double> full;
  uint64_t pushed = 0;  // in the window
};

// A line of an op's function.
struct OpLine {
  uint32_t line = 0;
  double share = 0;      // of the function's time, including the line's calls
  uint64_t samples = 0;  // how often it was measured
};

// A named piece of a stage's work in the window.
struct OpUse {
  std::string name;
  std::string file;  // empty: unknown
  uint32_t line = 0;
  uint64_t count = 0;
  int64_t ns = 0;      // without the ops inside it
  int64_t cpu_ns = 0;  // of this; if it was not measured, by the stage's share
  // The slowest lines of the whole recording, slowest first; empty: not measured.
  std::vector<OpLine> lines = {};
  int64_t whole_ns = 0;  // with the ops inside it
};

// Of its stage's work, as far as that work's ops were recorded; nothing if none were.
std::optional<double> ShareOfStage(const OpUse& op, int64_t sampled_ns);

// Workers of a job that wait for a lock for more than this part of their work take turns in it;
// less is chance.
constexpr double kTakeTurns = 0.1;

// Whether an op of this name lasts from taking a lock that processes share until it is free again:
// "multiprocessing.Lock held".
bool IsHeldLock(std::string_view op);

// What a stage did in the window. Times of a stage whose work was not recorded are zero.
struct StageUse {
  StageId stage;
  uint32_t workers = 1;  // at most, if the tuner changed them
  bool ordered = true;
  bool serial = false;       // cannot be parallelized as it is
  StageId runs_in;           // the stage whose threads run it; None: the trainer's own
  bool own_threads = false;  // the trace shows threads of its own
  uint64_t elements = 0;     // work spans in the window
  // What went through a stage that only passes elements on, and so has no work spans or several of
  // each: counted at its queue, or at the stage before it. Nothing if the trace does not show it.
  std::optional<uint64_t> passed;
  double items_per_sample = 0;  // of these, per sample that was trained on
  Quantiles service_ns;         // wall time of one, without other work inside it
  int64_t busy_ns = 0;          // of all, cut to the window
  int64_t cpu_ns = 0;           // of this on the CPU; if it was sampled, by the sample's share
  int64_t io_ns = 0;            // of this in a read
  int64_t blocked_ns = 0;       // of this off the CPU for no recorded cause
  int64_t contention_ns = 0;    // of this runnable without a core
  int64_t lock_ns = 0;
  double utilization = 0;  // busy / (workers x window)
  double starved = 0;      // of the workers' time: waiting for input
  double blocked = 0;      // of the workers' time: waiting for room
  uint64_t bytes = 0;
  // By the utilization law, in samples per second at the trainer; nothing if it did no work. The
  // trainer's is what it would take if it never waited for a batch.
  std::optional<double> capacity_samples_per_s;
  std::optional<QueueUse> queue;
  std::vector<OpUse> ops;  // largest first, if the trace shows any
  // Of the work whose ops were recorded: a job's shim records those of a part of it.
  int64_t sampled_ns = 0;
  // Of its work, the part during which it holds a lock that processes share: while one does, the
  // others cannot. Nothing if the trace shows no such lock.
  std::optional<double> held;
};

struct CopyUse {
  trace::CopyDirection direction = trace::CopyDirection::kHostToDevice;
  trace::CopyMemory memory = trace::CopyMemory::kUnknown;
  uint64_t count = 0;
  uint64_t bytes = 0;
  int64_t ns = 0;
};

// Of the whole trace, warm-up included.
struct DeviceUse {
  uint32_t rank = 0;
  uint32_t device = 0;
  std::string name;
  int64_t busy_ns = 0;  // the union of kernels, copies and memsets
  uint64_t kernels = 0;
  int64_t kernel_ns = 0;  // their union
  std::vector<CopyUse> copies;
};

// In the window.
struct KernelUse {
  trace::StringId name;
  uint64_t count = 0;
  int64_t ns = 0;
  double fraction = 0;  // of all kernels' time
  bool communication = false;
};

// Device time without a kernel or copy, by what the host was doing; of all devices.
struct DeviceIdle {
  int64_t ns = 0;
  int64_t launch_ns = 0;
  int64_t input_ns = 0;
  int64_t sync_ns = 0;  // the host waits for the device, and the device for the host
  int64_t other_ns = 0;
  double launch_queue_mean = 0;  // kernels enqueued but not yet started
  uint64_t launches = 0;         // a graph is one
};

// A run is not believed whose cores other programs had to this share.
constexpr double kOthersDisturb = 0.10;
// From here on, threads that are ready without a core are more than the scheduler's usual delay.
constexpr double kLacksCores = 0.05;
// Other threads take part if they use this much of what loading uses: behind a step, those of a
// math library go on spinning for a while.
constexpr double kThreadsLoad = 0.5;

struct CpuUse {
  double cores = 0;                        // that the run could use: affinity and quota
  std::optional<double> process_busy;      // cores that the process used
  std::optional<double> run_wait;          // threads that were ready but had no core
  std::optional<double> throttled;         // fraction of the window in which the cgroup was stopped
  std::optional<double> steal;             // fraction of all cores' time
  std::optional<double> read_bytes_per_s;  // requested
  std::optional<double> disk_bytes_per_s;  // read from the disk
  // Of the window, of one trainer's thread: ready, without a core.
  std::optional<double> trainer_run_wait;
  // Of this, the part in which threads of the input's stages had the cores.
  std::optional<double> taken_by_input;
  // Of all cores' time: what other programs had, and other virtual machines. Not for several ranks
  // with a recording each, where the others' recordings are such programs.
  std::optional<double> others;
  bool others_are_ranks = false;  // of the same job, in part
  // Cores that the recorded threads of a DataLoader's processes used to load, and that all other
  // threads of these processes used meanwhile, without what the trainer does. Both are known, or
  // neither.
  std::optional<double> loading;
  std::optional<double> beside_loading;

  // A math library's threads, say, load with it: each worker would have such threads.
  bool LoadsInThreads() const { return loading && *beside_loading >= kThreadsLoad * *loading; }
  // That share was large, and the run's own threads lacked cores meanwhile: others may also have
  // had cores that this run could not use, or did not need.
  bool OthersDisturb() const {
    return !others_are_ranks && others.value_or(0) > kOthersDisturb &&
           std::max(run_wait.value_or(1), trainer_run_wait.value_or(0)) >= kLacksCores;
  }
};

// The model's arithmetic: per step with a full batch, all replicas together.
struct Arithmetic {
  uint64_t flops_per_step = 0;
  double flops_per_s = 0;            // in the window
  double flops_per_s_computing = 0;  // while computing, per device; 0: none computed
  // Of one device, if it reports it; and the fraction of all devices' peak that the run reached.
  std::optional<double> peak_flops_per_s;
  std::optional<double> fraction_of_peak;
};

// One process of a job, over its whole life.
struct ProcessUse {
  ProcessId process;
  std::optional<int64_t> cpu_ns;
  std::optional<int64_t> run_wait_ns;      // of its recorded threads: ready without a core
  std::optional<uint64_t> read_bytes;      // requested
  std::optional<uint64_t> disk_bytes;      // read from the disk
  std::optional<uint64_t> peak_rss_bytes;  // its part of what it shares
  std::optional<uint64_t>
      peak_private_bytes;  // what it shares with none: another one costs so much
};

struct MemoryUse {
  std::optional<uint64_t> peak_rss_bytes;
  std::optional<uint64_t> device_peak_bytes;  // of the device with the most
  std::optional<uint64_t> available_bytes;    // the lowest recorded
  uint64_t limit_bytes = 0;                   // the cgroup's, or the machine's; 0: unknown
  double growth_bytes_per_s = 0;              // of resident memory, all through the window; 0: none
  struct Held {
    StageId stage;
    uint64_t bytes = 0;  // at most, in its queue, buffer or cache
  };
  std::vector<Held> stages;
};

struct Throughput {
  double samples_per_s = 0;
  double low = 0;  // 95% interval
  double high = 0;
  bool bounded = true;  // false: there is no interval, both are the rate
};

// Blame and capacity, side by side.
struct CrossCheck {
  StageId by_capacity;  // the stage with the least capacity
  bool agrees = true;
  std::string text;  // why not
};

// d ln(throughput) / d ln(time per element of the stage): -1 if the stage alone bounds the run, 0
// if it has time to spare.
struct Sensitivity {
  StageId stage;
  double mean = 0;
  double low = 0;  // 95% interval over the windows
  double high = 0;
  bool bounded = true;  // false: one window, no interval
  size_t windows = 0;
  double slowed_by = 0;  // mean delay, relative to its work
};

// What some of a run's steps take of the trainer.
struct StepsTake {
  size_t steps = 0;
  double waiting = 0;      // for batches, as a part of their time
  double work_ns = 0;      // from a batch to its step's end on average, evaluation left out
  int64_t longest_ns = 0;  // of these, evaluation included
};
// A profile may be no sample of its run.
struct BesideProfile {
  StepsTake profiled;
  StepsTake others;
};

struct Attribution {
  Window window;
  std::vector<DeviceTimeline> timelines;  // at least one, sorted by rank and device
  std::vector<StepShare> steps;
  PerCategory<std::optional<CategoryTotal>> breakdown;
  std::vector<Blame> blame;           // largest first
  std::vector<BesideUse> beside;      // largest first; empty: the trace shows none
  std::vector<Straggler> stragglers;  // largest first, at most 1000
  std::vector<StageUse> stages;       // by id
  std::vector<DeviceUse> devices;
  std::vector<KernelUse> kernels;  // largest first
  DeviceIdle idle;                 // these two of the profiled steps, if the window has none
  CpuUse cpu;
  MemoryUse memory;
  std::vector<ProcessUse> processes;     // by id
  std::optional<Arithmetic> arithmetic;  // nothing if nothing is really computed, or it is unknown
  std::optional<Throughput> throughput;
  std::optional<Quantiles> step_ns;
  size_t rate_steps = 0;  // that these two are from: those of the window, or unprofiled ones
  // By this part of its time the profiler lengthens what the trainer does with a batch; nothing if
  // the window is not of profiled steps, or the others are too few.
  std::optional<double> slowed_by_profiler;
  std::optional<BesideProfile> beside_profile;  // nothing: as above
  CrossCheck cross_check;
  std::vector<Sensitivity> sensitivities;  // by stage; empty unless the recording slowed stages
  std::vector<std::string> limits;         // what this trace cannot show
};

Attribution Attribute(const model::Run& run, unsigned threads = 2);
Attribution AttributeFirstEpoch(const model::Run& run, unsigned threads = 2);

// The partition alone, of every step, warm-up included. In the order of Run::rows.steps.
struct StepPartition {
  std::vector<StepShare> steps;
  PerCategory<bool> known{};
};
StepPartition PartitionSteps(const model::Run& run);

// Single stalls, for whoever draws them: what each was blamed on, and the chain of threads that led
// there. The sums are Attribution::blame.

// The time of one step on one device that went to one stage and cause.
struct StallDetail {
  size_t step_row = 0;  // of Run::rows.steps
  uint32_t rank = 0;
  uint32_t device = 0;
  int64_t start_ns = 0;  // of the step's stall, which may have gaps
  int64_t end_ns = 0;
  StageId stage;
  Cause cause = Cause::kUnknown;
  int64_t ns = 0;
};

// One link of the chain: from `start_ns` to `end_ns` the stall was explained by what this track
// did. Depth 0 is the awaited batch's own way and its consumer; a track that another one waited for
// is one deeper.
struct ChainLink {
  TrackId track;
  StageId stage;
  Cause cause = Cause::kUnknown;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int depth = 0;
  trace::StringId op;  // of the work, if it was recorded
};

}  // namespace stallscope::attribution
