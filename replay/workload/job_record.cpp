#include "replay/workload/job_record.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "analyzer/model/job_spec.h"

namespace stallscope::replay {
namespace {

constexpr std::string_view kWorkerName = "worker ";

void Add(Cost& cost, const Cost& more) {
  cost.cpu_ns += more.cpu_ns;
  cost.blocked_ns += more.blocked_ns;
  cost.io_ns += more.io_ns;
}

class RecordReader {
 public:
  RecordReader(const model::Run& run, const attribution::Attribution& attribution,
               const model::Loader& loader)
      : run_(run), attribution_(attribution), loader_(loader) {}

  JobRecord Read() {
    record_.processes.resize(run_.processes.size());
    FindStages();
    for (const model::Track& track : run_.tracks) {
      if (track.info.kind == trace::TrackKind::kThread) ReadTrack(track);
    }
    ReadCounters();
    return std::move(record_);
  }

 private:
  void FindStages();
  void ReadTrack(const model::Track& track);
  void ReadWork(const model::Track& track, size_t span, Role role, JobProcess* process);
  void ReadCounters();
  bool IsMain(ProcessId process) const { return process == loader_.info.process; }
  // True for another loader's queue.
  bool IsOthers(const trace::SpanClass& wait) const {
    if (!wait.queue.known()) return false;
    const StageId fills = run_.queues[wait.queue.value].producer;
    if (!fills.known()) return false;
    const LoaderId of = run_.stages[fills.value].loader;
    return of.known() && of != loader_.info.id;
  }

  const model::Run& run_;
  const attribution::Attribution& attribution_;
  const model::Loader& loader_;
  std::vector<Shares> shares_;  // by stage
  JobRecord record_;
};

void RecordReader::FindStages() {
  record_.roles.resize(run_.stages.size());
  shares_.resize(run_.stages.size());
  for (size_t i = 0; i < run_.stages.size(); ++i) {
    const trace::StageInfo& stage = run_.stages[i];
    shares_[i] = SharesOf(attribution_.stages[i]);
    if (model::IsTrainer(stage)) {
      record_.roles[i] = Role::kTrain;
      record_.trainer = shares_[i];
    }
    if (stage.loader != loader_.info.id) continue;
    record_.roles[i] = stage.kind == "source"      ? Role::kSample
                       : stage.kind == "map"       ? Role::kFetch
                       : stage.kind == "batch"     ? Role::kCollate
                       : stage.kind == "transport" ? Role::kTransport
                       : stage.kind == "pin"       ? Role::kPin
                                                   : Role::kNone;
  }
}

void RecordReader::ReadTrack(const model::Track& track) {
  const ProcessId of = track.info.process;
  JobProcess* const process = of.known() ? &record_.processes[of.value] : nullptr;
  const bool trains = track.info.stage.known() && IsMain(of) &&
                      record_.roles[track.info.stage.value] == Role::kTrain;
  const trace::SpanColumns& spans = track.spans;
  for (size_t i = 0; i < spans.size(); ++i) {
    const trace::SpanClass& what = run_.ClassOf(track, i);
    const attribution::Interval at{spans.start_ns[i], spans.EndNs(i)};
    if (what.kind == trace::SpanKind::kWait) {
      const bool others = IsOthers(what);
      if (what.cause == trace::WaitCause::kStartup && trains) {
        (others ? record_.evaluated : record_.startups).push_back(at);
      }
      if (trains && !others && what.queue.known()) record_.own.push_back(at);
      if (what.cause == trace::WaitCause::kStartup && !trains && process != nullptr) {
        process->booted = {at.start_ns, at.end_ns};
      }
      if (trains) record_.in_loader.push_back(at);
      continue;
    }
    if (trains && what.activity == trace::SpanActivity::kEvaluation)
      record_.evaluated.push_back(at);
    if (what.activity != trace::SpanActivity::kNone || !what.stage.known()) continue;
    const Role role = record_.roles[what.stage.value];
    if (role == Role::kNone) continue;
    if (trains && role != Role::kTrain) {
      record_.in_loader.push_back(at);
      record_.own.push_back(at);
    }
    if (trains && role == Role::kSample) record_.samplings.push_back(at);
    ReadWork(track, i, role, process);
  }
}

void RecordReader::ReadWork(const model::Track& track, size_t span, Role role,
                            JobProcess* process) {
  const trace::SpanColumns& spans = track.spans;
  const uint64_t item = spans.item[span];
  const int64_t taken = spans.cpu_ns.empty() || spans.cpu_ns[span] == 0
                            ? -1
                            : static_cast<int64_t>(spans.cpu_ns[span]);
  if (process != nullptr) {
    process->work.push_back({spans.start_ns[span], spans.EndNs(span), std::max<int64_t>(taken, 0),
                             role == (IsMain(track.info.process) ? Role::kTrain : Role::kFetch)});
  }
  if (role == Role::kTrain) {
    record_.step_cpu_ns[item] = taken;
    return;
  }
  const StageId stage = run_.ClassOf(track, span).stage;
  const auto own = static_cast<double>(spans.DurationNs(span));
  const Cost cost = CostOf(own, std::min(static_cast<double>(taken), own), 0, shares_[stage.value]);
  if (model::IsGrain(loader_.info) && !ItemId{item}.known()) {
    const attribution::Window& window = attribution_.window;
    const bool counts =
        spans.start_ns[span] >= window.start_ns && spans.start_ns[span] < window.end_ns;
    if (counts) Add(record_.ahead, cost);
    return;
  }
  BatchRow& row = record_.rows[item];
  const std::string_view name = track.info.name;
  if (role == Role::kFetch && name.starts_with(kWorkerName)) {
    const std::string_view number = name.substr(kWorkerName.size());
    std::from_chars(number.data(), number.data() + number.size(), row.cost.worker);
    if (process != nullptr) process->worker = row.cost.worker;
  }
  switch (role) {
    case Role::kSample:
      return Add(row.cost.sample, cost);
    case Role::kFetch:
      row.fetched = true;
      return Add(row.cost.fetch, cost);
    case Role::kCollate:
      row.collated = record_.collates = true;
      return Add(row.cost.fetch, cost);
    case Role::kPin:
      record_.pinned = true;
      return Add(row.cost.pin, cost);
    default:
      break;
  }
  (IsMain(track.info.process) ? row.received : row.sent) = true;
  if (!spans.bytes.empty() && spans.bytes[span] > 0) {
    row.cost.bytes = static_cast<uint32_t>(std::min<uint64_t>(spans.bytes[span], UINT32_MAX));
  }
  Add(IsMain(track.info.process) ? row.cost.receive : row.cost.send, cost);
}

void RecordReader::ReadCounters() {
  std::vector<uint32_t> process_of(run_.counters.size(), UINT32_MAX);
  for (size_t i = 0; i < run_.counters.size(); ++i) {
    const trace::CounterInfo& counter = run_.counters[i];
    if (counter.process.known() && counter.name.ends_with(".cpu")) {
      process_of[i] = counter.process.value;
    }
  }
  for (const trace::Sample& sample : run_.rows.samples) {
    if (!sample.counter.known() || process_of[sample.counter.value] == UINT32_MAX) continue;
    record_.processes[process_of[sample.counter.value]].cpu.emplace_back(sample.time_ns,
                                                                         sample.value);
  }
}

}  // namespace

JobRecord ReadJobRecord(const model::Run& run, const attribution::Attribution& attribution,
                        const model::Loader& loader) {
  return RecordReader(run, attribution, loader).Read();
}

}  // namespace stallscope::replay
