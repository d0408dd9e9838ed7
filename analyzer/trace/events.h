// Everything that a trace can express, as plain rows. Times are nanoseconds of the recording host's
// CLOCK_MONOTONIC. The recorder writes these rows, the reader returns them, the model keeps them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/ids.h"

namespace stallscope::trace {

// A string that many rows share (a kernel's name, a file's path, a knob's value).
using StringId = Id<struct StringKind, uint32_t>;

// --- What a run is made of -----------------------------------------------------------------------

struct HostInfo {
  std::string name;
  std::string kernel;
  std::string cpu;
  uint32_t cores_online = 0;
  uint32_t cores_allowed = 0;  // by affinity; 0: unknown
  double cgroup_cores = 0;     // the quota in cores; 0: none
  uint64_t memory_bytes = 0;
  uint64_t memory_limit_bytes = 0;  // the cgroup's; 0: none
  bool operator==(const HostInfo&) const = default;
};

struct DeviceInfo {
  std::string kind;  // host, emulated, cuda; in an imported trace anything
  std::string name;
  uint64_t memory_bytes = 0;
  std::string driver;
  uint64_t peak_memory_bytes = 0;  // peak allocation; of several devices, the fullest
  uint64_t peak_flops_per_s = 0;   // of one device in the run's precision; 0: unknown
  bool emulated() const { return kind == "emulated"; }
  bool operator==(const DeviceInfo&) const = default;
};

// A program of the user's own that was recorded with all of its processes.
struct JobInfo {
  std::vector<std::string> command;  // empty: the run is no job. Secrets are masked
  std::string python;                // the version; empty: no Python was seen
  struct Framework {
    std::string name;
    std::string version;
    bool operator==(const Framework&) const = default;
  };
  std::vector<Framework> frameworks;
  // What the command returned; 128 + N after signal N. Unknown until it has ended.
  std::optional<uint32_t> exit_code;
  std::string checkout = {};  // the root of the git checkout that it ran in; empty: none
  bool operator==(const JobInfo&) const = default;
};

// Written at the start and again at the end; of two, the later non-empty field counts.
struct RunInfo {
  std::string name;
  std::string tool;  // what recorded it, with its version
  std::vector<std::string> command_line;
  std::string spec_json;
  std::string graph_json;  // the spec after rewrites
  uint64_t seed = 0;
  std::string data_fingerprint;
  std::string digest;
  HostInfo host;
  DeviceInfo device;
  std::string tick_source;  // "tsc" or "monotonic"
  double ticks_per_second = 0;
  int64_t start_ns = 0;
  int64_t start_realtime_ns = 0;
  int64_t end_ns = 0;
  uint64_t process = 0;
  uint32_t rank = 0;
  uint32_t world_size = 0;
  std::vector<std::string> warnings;
  std::string imported_from;        // the foreign format; empty: recorded
  std::vector<std::string> limits;  // what that format cannot show
  uint64_t flops_per_step = 0;      // of a step with a full batch, all replicas; 0: unknown
  std::string folder;               // absolute: the base of the spec's relative paths
  std::string origin;               // who recorded it: see collectors/system/origin.h
  JobInfo job;
  bool operator==(const RunInfo&) const = default;
};

// A process of a job.
struct ProcessInfo {
  ProcessId id;
  std::string name;  // what a user would call it: train.py, worker 0
  uint64_t pid = 0;
  uint64_t parent = 0;                 // its pid
  std::vector<std::string> arguments;  // secrets are masked
  int64_t start_ns = 0;
  int64_t end_ns = 0;                 // 0: it outlived the recording, or nobody saw its end
  std::optional<uint32_t> rank = {};  // what its launcher calls it
  uint32_t ranks_of_host = 0;         // that its launcher started on this host; 0: unknown
  bool operator==(const ProcessInfo&) const = default;
};

// The call that constructs a loader, as written in the job's own code.
struct CallSite {
  // Lines from 1, columns in bytes from 0; the end is after the call. 0: only the line is known.
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t end_line = 0;
  uint32_t end_column = 0;
  std::vector<std::string> names;       // what the class is called there
  std::vector<std::string> parameters;  // of the constructor, in order
  std::vector<std::string> keywords;    // parameters by name only
  bool any_keyword = false;             // it also takes others
  uint32_t source_line = 0;             // of the file, at which `source` begins
  std::string source;                   // whole lines around the call, as recorded; empty: none
  bool operator==(const CallSite&) const = default;
};

// What hands a job its batches: a DataLoader, a tf.data iterator.
struct LoaderInfo {
  LoaderId id;
  ProcessId process;    // that iterates over it
  std::string kind;     // torch.utils.data.DataLoader
  std::string dataset;  // its class
  std::string file;     // where it is constructed
  uint32_t line = 0;
  std::string settings_json;
  CallSite call = {};  // empty if other code calls the constructor
  bool operator==(const LoaderInfo&) const = default;
};

// Where the op is whose spans have this name.
struct OpInfo {
  std::string name;
  std::string file;
  uint32_t line = 0;
  bool operator==(const OpInfo&) const = default;
};

// How long each line of a function took in the measured calls, including the calls that it makes.
struct CodeLines {
  struct Line {
    uint32_t line = 0;
    uint64_t ns = 0;
    uint64_t samples = 0;  // how often it was measured
    bool operator==(const Line&) const = default;
  };
  std::string file;
  uint32_t first_line = 0;  // where the function begins: the place of its op
  std::vector<Line> lines;
  bool operator==(const CodeLines&) const = default;
};

// The kind of a stage that stands for a job's whole pipeline, whose parts only a profile shows.
constexpr std::string_view kUnseenPipeline = "tf.data";
// The setting that tells how many stages of its kind are between a stage and the trainer, whether
// or not they are in the trace; without it none. A profile need not see all stages behind it.
constexpr const char* kNearerTrainer = "nearer_trainer";

struct StageInfo {
  StageId id;
  std::string name;
  std::string kind;
  std::vector<StageId> inputs;
  QueueId queue;  // that it fills
  uint32_t workers = 0;
  bool ordered = false;
  LoaderId loader = {};  // whose stage it is
  bool tuned = false;    // its framework's tuner chooses the workers, or the capacity of its queue
  // As in an imported trace: "types" is "uint8". A source's "files": how many its patterns match.
  std::map<std::string, std::string> settings = {};
  bool operator==(const StageInfo&) const = default;
};

struct QueueInfo {
  QueueId id;
  std::string name;
  uint64_t capacity = 0;
  bool lock = false;  // a lock, not a buffer: waits refer to it the same way
  bool operator==(const QueueInfo&) const = default;
};

enum class TrackKind : uint8_t {
  kThread = 0,
  kStream = 1,
  kCopyEngine = 2,
  kSampler = 3,
  kDetail = 4  // what a thread did, operation by operation: shown, but not accounted to a stage
};

struct TrackInfo {
  TrackId id;
  std::string name;
  TrackKind kind = TrackKind::kThread;
  StageId stage;        // for which its thread works
  uint64_t thread = 0;  // the operating system's number
  uint32_t device = 0;
  ProcessId process = {};
  bool on_device() const { return kind == TrackKind::kStream || kind == TrackKind::kCopyEngine; }
  bool operator==(const TrackInfo&) const = default;
};

struct CounterInfo {
  CounterId id;
  std::string name;
  std::string unit;
  ProcessId process = {};  // of a job, that it is about
  bool operator==(const CounterInfo&) const = default;
};

// --- What happened -------------------------------------------------------------------------------

enum class SpanKind : uint8_t { kWork = 1, kWait = 2 };
enum class WaitCause : uint8_t {
  kUnknown = 0,
  kEmpty = 1,
  kFull = 2,
  kIo = 3,
  kDevice = 4,
  kLock = 5,
  kStartup = 6  // for workers to start, or to end
};

// What a span with a name of its own is.
enum class SpanActivity : uint8_t {
  kNone = 0,
  kOperator = 1,    // a framework's operation
  kRuntime = 2,     // a call into the device's runtime or driver
  kFunction = 3,    // of the program or its interpreter
  kAnnotation = 4,  // a marked range; a step
  kMemset = 5,      // of a device
  kLoader = 6,      // the trainer fetches a batch
  kOp = 7,          // a part of the stage's work, within its span
  kEvaluation = 8   // a step of the trainer that trains nothing
};

// What a span is about. Spans share few of these, so each stores only a number.
struct SpanClass {
  SpanKind kind = SpanKind::kWork;
  StageId stage;
  WaitCause cause = WaitCause::kUnknown;  // of a wait
  QueueId queue;                          // or lock, of a wait
  StringId name = {};                     // the span's own, if it has one
  SpanActivity activity = SpanActivity::kNone;
  bool operator==(const SpanClass&) const = default;
};

enum class QueueOp : uint8_t { kPush = 0, kPop = 1 };
struct QueueEvent {
  int64_t time_ns = 0;
  ItemId item;
  QueueId queue;
  TrackId track;
  uint32_t depth = 0;  // after the operation
  QueueOp op = QueueOp::kPush;
  bool operator==(const QueueEvent&) const = default;
};

// An element that order held back: finished at one time, passed on at a later one.
struct Release {
  int64_t completed_ns = 0;
  int64_t released_ns = 0;
  ItemId item;
  StageId stage;
  bool operator==(const Release&) const = default;
};

// `in` became (part of) `out` in this stage: shuffle, filter, repeat, batch.
struct Lineage {
  ItemId in;
  ItemId out;
  StageId stage;
  bool operator==(const Lineage&) const = default;
};

struct Batch {
  int64_t time_ns = 0;
  ItemId batch;
  ItemId last_arrival;  // the element that arrived last
  StageId stage;
  uint32_t size = 0;
  StringId shape;
  bool operator==(const Batch&) const = default;
};

// An element as its source read it. (file, record, epoch) is its identity across runs.
struct Element {
  ItemId item;
  uint64_t record = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  StringId file;
  uint32_t epoch = 0;
  bool operator==(const Element&) const = default;
};

enum class CacheOp : uint8_t { kHit = 0, kMiss = 1, kFill = 2 };
struct CacheEvent {
  int64_t time_ns = 0;
  ItemId item;
  uint64_t bytes = 0;
  StageId stage;
  uint32_t epoch = 0;
  CacheOp op = CacheOp::kHit;
  bool operator==(const CacheEvent&) const = default;
};

enum class CopyDirection : uint8_t { kHostToDevice = 0, kDeviceToHost = 1, kDeviceToDevice = 2 };
enum class CopyMemory : uint8_t { kUnknown = 0, kPinned = 1, kPageable = 2 };
struct Copy {
  int64_t enqueued_ns = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  ItemId batch;
  uint64_t bytes = 0;
  uint64_t correlation = 0;
  TrackId track;
  CopyDirection direction = CopyDirection::kHostToDevice;
  CopyMemory memory = CopyMemory::kUnknown;
  bool operator==(const Copy&) const = default;
};

struct Kernel {
  int64_t enqueued_ns = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  ItemId batch;
  uint64_t correlation = 0;
  uint64_t graph = 0;  // 0: launched on its own
  TrackId track;
  StringId name;
  bool operator==(const Kernel&) const = default;
};

struct Step {
  uint64_t index = 0;
  int64_t requested_ns = 0;
  int64_t received_ns = 0;
  int64_t issued_ns = 0;
  int64_t device_done_ns = 0;
  ItemId batch;
  TrackId track;
  uint32_t samples = 0;
  uint32_t loss_scale_skipped = 0;
  bool operator==(const Step&) const = default;
};

struct Sample {
  int64_t time_ns = 0;
  double value = 0;
  CounterId counter;
  bool operator==(const Sample&) const = default;
};

// A knob that the online tuner turned.
struct KnobChange {
  int64_t time_ns = 0;
  StringId path;
  StringId old_value;
  StringId new_value;
  bool operator==(const KnobChange&) const = default;
};

// Lost events of one track, and when they were lost.
struct Gap {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  uint64_t dropped = 0;
  TrackId track;
  bool operator==(const Gap&) const = default;
};

// A window of the causal check, during which each element of one stage was delayed on purpose.
// Without a stage nothing was delayed: the windows next to it are compared with it.
struct Probe {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  StageId stage;
  uint64_t elements = 0;  // delayed ones
  uint64_t work_ns = 0;   // the stage's work on them
  uint64_t delay_ns = 0;  // added to it
  bool operator==(const Probe&) const = default;
};

// All tables except the spans, which have columns of their own.
struct EventRows {
  std::vector<QueueEvent> queue_events;
  std::vector<Release> releases;
  std::vector<Lineage> lineage;
  std::vector<Batch> batches;
  std::vector<Element> elements;
  std::vector<CacheEvent> cache_events;
  std::vector<Copy> copies;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::vector<Sample> samples;
  std::vector<KnobChange> knobs;
  std::vector<Gap> gaps;
  std::vector<Probe> probes;
  bool operator==(const EventRows&) const = default;
};

// Calls visit(number, table) for each table with its number in trace.proto; `Rows` is EventRows or
// const EventRows. The one list of tables that writer, reader and model share.
template <class Rows, class Visit>
void ForEachTable(Rows& rows, Visit&& visit) {
  visit(16, rows.queue_events);
  visit(17, rows.releases);
  visit(18, rows.lineage);
  visit(19, rows.batches);
  visit(20, rows.elements);
  visit(21, rows.cache_events);
  visit(22, rows.copies);
  visit(23, rows.kernels);
  visit(24, rows.steps);
  visit(25, rows.samples);
  visit(26, rows.knobs);
  visit(27, rows.gaps);
  visit(28, rows.probes);
}

// The fate of one track's events: emitted = stored + dropped.
struct Tally {
  TrackId track;
  uint64_t emitted = 0;
  uint64_t stored = 0;
  uint64_t dropped = 0;
  bool operator==(const Tally&) const = default;
};

// A recording of very many tracks ends in several seals; only the last has an end.
struct Seal {
  int64_t end_ns = 0;
  std::vector<Tally> tallies;
  std::string first_error;  // of writing; empty: none
  bool operator==(const Seal&) const = default;
};

}  // namespace stallscope::trace
