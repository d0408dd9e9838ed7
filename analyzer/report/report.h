// The content of a report, as plain values and words: what every writer prints and every budget
// queries. Made once from a run and its findings; holds no ids and no references into the run.
//
// The JSON writer's field names are those of schema stallscope.report/1. An empty optional is null
// there, and `limits` says why.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/compare/compare.h"
#include "analyzer/findings/finding.h"
#include "analyzer/findings/verdict.h"
#include "analyzer/timeline/timeline.h"

namespace stallscope::report {

struct Trust {
  std::string line;  // TrustLine
  bool complete = false;
  uint64_t spans = 0;
  uint64_t dropped = 0;
  uint64_t damaged_bytes = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> limits;
  std::vector<std::string> assumed;  // figures that were set and not measured
};

struct BlameRow {
  std::string stage;
  attribution::Cause cause = attribution::Cause::kUnknown;
  int64_t ns = 0;
  double fraction = 0;
};

struct QueueRow {
  std::optional<uint64_t> capacity;  // nothing: the trace does not tell
  std::optional<double> mean;
  std::optional<double> empty;
  std::optional<double> full;
};

struct Times {
  double mean = 0;
  double p50 = 0;
  std::optional<double> p95;  // nothing: of too few
  std::optional<double> p99;
  double variation = 0;  // standard deviation / mean
};

struct StageRow {
  std::string name;
  std::string kind;
  std::vector<std::string> inputs;
  std::optional<uint32_t> parallelism;  // nothing: its workers are not in the trace
  std::optional<uint64_t> elements;     // nothing: the trace does not tell
  std::optional<Times> service_ms;
  std::optional<double> utilization;
  std::optional<double> capacity_samples_per_s;
  std::optional<double> starved;
  std::optional<double> blocked;
  std::optional<double> cpu_s;
  uint64_t bytes = 0;
  std::optional<QueueRow> queue;
  std::vector<attribution::OpUse> ops;  // largest first
  int64_t sampled_ns = 0;               // of the work whose ops were recorded
  // Nothing where no op was recorded.
  std::optional<double> ShareOf(const attribution::OpUse& op) const;
  // Nothing where it is unknown: a profile that was joined does not show when a thread was on a
  // core.
  std::optional<int64_t> CpuNsOf(const attribution::OpUse& op) const;
};

// Of a job.
struct ProcessRow {
  std::string name;
  uint64_t pid = 0;
  int64_t lived_ns = 0;
  attribution::ProcessUse use;
};

struct KernelRow {
  std::string name;
  uint64_t count = 0;
  int64_t ns = 0;
  double fraction = 0;
};

struct EvidenceRow {
  std::string kind;  // "spans", "queue", "counter", "step", "kernel", "copy"
  std::string name;  // of the stage, queue, counter or track
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::optional<uint64_t> step;
  std::string text;
};

struct FindingRow {
  std::string id;
  findings::Severity severity = findings::Severity::kInfo;
  std::string stage;  // empty: of the whole run
  double share = 0;
  std::string text;
  std::vector<EvidenceRow> evidence;
  std::optional<findings::Recommendation> recommendation;
  findings::CodePlace where;
  std::vector<findings::SourceChange> changes;
};

struct VerdictRow {
  findings::Bound bound = findings::Bound::kInconclusive;
  std::string stage;  // empty: none
  std::optional<attribution::Cause> cause;
  double confidence = 0;
  std::vector<std::string> doubts;
  std::string text;
  std::string also;  // the second sentence: what else takes a part of step time; or empty
  bool beside_profile = false;  // findings::Verdict
};

// The run's first steps, which are excluded: attribution::ColdStart.
struct ColdRow {
  uint64_t steps = 0;
  int64_t ns = 0;
  int64_t cost_ns = 0;
  std::string stage;
  double slower = 1;
  attribution::ColdCause cause = attribution::ColdCause::kWarmUp;
};

// What the throughput lost while the recording slowed this stage: attribution::Sensitivity.
struct ProbeRow {
  std::string stage;
  double mean = 0;
  std::optional<double> low;  // nothing: only one window
  std::optional<double> high;
  uint64_t windows = 0;
  double slowed_by = 0;
};

struct MemoryRow {
  std::optional<uint64_t> peak_rss_bytes;
  std::optional<uint64_t> device_peak_bytes;
  std::vector<std::pair<std::string, uint64_t>> stages;  // name, bytes
  std::optional<uint64_t> limit_bytes;
};

enum class CheckLevel : uint8_t { kError, kWarn };
enum class Outcome : uint8_t { kPass, kFail, kInconclusive };
std::string_view WordFor(CheckLevel level);  // "error", "warn"
std::string_view WordFor(Outcome outcome);   // "pass", "fail", "inconclusive"

// The outcome of one budget check (budget.h).
struct CheckRow {
  std::string metric;
  std::string limit;  // "at most 0.05": in the budget's own numbers, so that names of tests stay
  CheckLevel level = CheckLevel::kError;
  Outcome outcome = Outcome::kPass;
  std::optional<double> value;  // nothing: the run has no such figure; for a regression, the loss
  std::optional<double> low;    // its interval, where it has one
  std::optional<double> high;
  std::string text;  // all of this in a sentence, with shares in percent
};

// What fills the step histogram and the picture of the window.
struct Pictures {
  std::vector<double> step_ms;
  std::vector<timeline::Lane> lanes;  // the device's categories, then the stages
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct Report {
  std::string name;
  std::string trace;  // the path as given; for several ranks, the first one's
  std::string format;
  std::string digest;  // empty: none
  trace::HostInfo host;
  trace::DeviceInfo device;
  std::string spec_json;  // empty: none
  trace::JobInfo job;     // no command: none
  std::string folder;
  std::vector<model::Loader> loaders;  // of the job
  std::vector<ProcessRow> processes;
  Trust trust;
  int64_t window_start_ns = 0;
  int64_t window_end_ns = 0;
  uint64_t steps = 0;
  uint64_t steps_per_update = 1;  // of the model, by our own pipeline's spec
  uint64_t warmup_steps = 0;
  std::optional<ColdRow> cold;
  bool first_epoch = false;   // the report is on the first epoch, as requested
  uint64_t probed_steps = 0;  // excluded because stages were slowed on purpose
  uint64_t profiled_of = 0;   // the run's steps, if only profiled ones are in the window
  uint64_t profiled = 0;      // steps outside of the window that show its devices' part
  std::optional<attribution::Throughput> throughput;
  std::optional<Times> step_ms;
  attribution::PerCategory<std::optional<attribution::CategoryTotal>> breakdown;
  std::vector<BlameRow> blame;
  std::vector<attribution::BesideUse> beside;  // evaluation, checkpoints
  std::vector<StageRow> stages;
  std::vector<ProbeRow> probe;  // most sensitive first; empty: no stage was slowed
  std::vector<attribution::DeviceUse> devices;
  std::vector<KernelRow> kernels;
  attribution::DeviceIdle idle;
  std::optional<attribution::Arithmetic> arithmetic;
  attribution::CpuUse cpu;
  MemoryRow memory;
  std::vector<std::string> stragglers;  // "step 217 waited 41 ms for element 13911, ..."
  VerdictRow verdict;
  std::vector<FindingRow> findings;
  Pictures pictures;
  std::optional<std::vector<CheckRow>> budget;      // nothing: no budget
  std::optional<compare::Comparison> against_base;  // nothing: no base
};

// The line that opens every view of a run and says whether the run can be trusted: "complete: 4,726
// spans, none dropped, no damage", or what was lost.
std::string TrustLine(const model::Run& run);

// "exited with 1", "was killed by SIGKILL": how a job with this exit code ended.
std::string ExitPhrase(uint32_t exit_code);

// How the limit begins that says why there are no intervals.
constexpr const char* kNoIntervals = "intervals:";

// Adds to trust.limits a line for each kind of figure that is null in the JSON and that no limit
// names yet, so that no null goes unexplained. MakeReport already does this.
void NameMissingFigures(Report& report);

// Findings come in the order in which the report lists them. The result has no pictures: they take
// a pass over all spans, and only HTML shows them.
Report MakeReport(const model::Run& run, const attribution::Attribution& attribution,
                  const findings::Verdict& verdict, std::vector<findings::Finding> findings);

Pictures PicturesOf(const model::Run& run, const attribution::Attribution& attribution);

}  // namespace stallscope::report
