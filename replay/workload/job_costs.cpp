#include "replay/workload/job_costs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "analyzer/attribution/intervals.h"
#include "analyzer/base/math.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/profiled.h"
#include "replay/workload/span_costs.h"
#include "replay/workload/unseen_cpu.h"
#include "replay/workload/worker_start.h"

namespace stallscope::replay {
namespace {

// The last ones: enough for every quantile that matters.
constexpr size_t kMostBatches = 65'536;
constexpr std::string_view kWorkerName = "worker ";
// Of the CPU that the main process's other threads burn for a batch: more is the math library's.
constexpr double kQueuesNs = 400'000;
// Less of a step's CPU than this is no work that threads share.
constexpr double kShared = 0.1;
constexpr std::string_view kFirstLoader = "loader";
// Of the first loader's steps: those of another one that do not matter.
constexpr double kFew = 0.02;

void Add(Cost& cost, const Cost& more) {
  cost.cpu_ns += more.cpu_ns;
  cost.blocked_ns += more.blocked_ns;
  cost.io_ns += more.io_ns;
}

// What a trace says of one batch.
struct Row {
  BatchCost cost;
  bool fetched = false;
  bool collated = false;
  bool sent = false;
  bool received = false;
};

// Of one process.
struct Process {
  std::optional<uint32_t> worker;  // its number
  std::vector<RecordedWork> work;  // of its recorded threads
  CpuSamples cpu;
  std::optional<std::pair<int64_t, int64_t>> booted;  // a worker: from its start to its first batch
};

enum class Role : uint8_t { kNone, kSample, kFetch, kCollate, kTransport, kPin, kTrain };

class JobReader {
 public:
  JobReader(const model::Run& run, const attribution::Attribution& attribution,
            const model::Loader& loader)
      : run_(run), attribution_(attribution), loader_(loader), processes_(run.processes.size()) {
    costs_.loader = model::LoaderSpecOf(loader.info);
    costs_.of_grain = model::IsGrain(loader.info);
  }

  Result<JobCosts> Read(std::vector<std::string>& limits) {
    FindStages();
    for (const model::Track& track : run_.tracks) {
      if (track.info.kind == trace::TrackKind::kThread) ReadTrack(track);
    }
    ReadCounters();
    TakeBatches();
    TakeAhead();
    if (costs_.batches.empty()) {
      return Error{ErrorKind::kInput, "what is in the loader's batches was not seen", run_.path,
                   "record a job whose loader's work the shim knows"};
    }
    TakeSteps();
    if (RestartsWorkers()) TakeFirstSteps();
    TakePasses();
    TakeStarts();
    TakeExtras();
    TakePinning();
    TakeMemory();
    TakeLocks();
    if (!costs_.sends) {
      limits.push_back(loader_.name + ": handing batches over from workers was not recorded");
    }
    return std::move(costs_);
  }

  // The costs of a loader that the job evaluates with. Nothing if its batches were not recorded.
  std::optional<Evaluation> ReadEvaluation() {
    FindStages();
    for (const model::Track& track : run_.tracks) {
      if (track.info.kind == trace::TrackKind::kThread) ReadTrack(track);
    }
    ReadCounters();
    TakeAllBatches();
    Evaluation evaluation;
    evaluation.loader = loader_.name;
    evaluation.ns = TakeEvaluated();
    if (costs_.batches.empty() || costs_.steps.empty()) return std::nullopt;
    TakeStarts();
    TakeMemory();
    evaluation.costs = std::make_shared<const JobCosts>(std::move(costs_));
    return evaluation;
  }

 private:
  void FindStages();
  void ReadTrack(const model::Track& track);
  void ReadWork(const model::Track& track, size_t span, Role role, Process* process);
  void ReadCounters();
  void TakeFirsts();
  void TakeBatches();
  void TakeAhead();
  void TakeAllBatches();
  double TakeEvaluated();
  void TakePinning();
  void TakeSteps();
  void TakeFirstSteps();
  void TakePasses();
  void TakeStarts();
  void TakeExtras();
  void TakeMemory();
  void TakeLocks();
  double PausePerStep() const;
  bool IsMain(ProcessId process) const { return process == loader_.info.process; }
  // True for another loader's queue.
  bool IsOthers(const trace::SpanClass& wait) const {
    if (!wait.queue.known()) return false;
    const StageId fills = run_.queues[wait.queue.value].producer;
    if (!fills.known()) return false;
    const LoaderId of = run_.stages[fills.value].loader;
    return of.known() && of != loader_.info.id;
  }
  Pause PauseBehind(size_t step) const;
  bool RestartsWorkers() const {
    return costs_.loader.num_workers > 0 && !costs_.loader.persistent_workers;
  }
  // A fetch that collates nothing found the end of the data.
  bool Whole(const Row& row) const { return row.fetched && (row.collated || !collates_); }

  const model::Run& run_;
  const attribution::Attribution& attribution_;
  const model::Loader& loader_;
  JobCosts costs_;
  std::vector<Role> roles_;     // by stage
  std::vector<Shares> shares_;  // by stage
  bool collates_ = false;
  Cost ahead_;  // of grain: what its threads and processes did in the window
  std::map<uint64_t, Row> rows_;
  std::map<uint64_t, int64_t> step_cpu_ns_;  // by item
  std::vector<Process> processes_;
  // Of the thread that trains.
  std::vector<attribution::Interval> startups_;
  std::vector<attribution::Interval> in_loader_;  // everything that is recorded there, and no step
  std::vector<attribution::Interval> own_;        // those that certainly belong to this loader
  // Evaluation batches and starts of other loaders' workers, which do not overlap.
  std::vector<attribution::Interval> evaluated_;
  bool pinned_ = false;                           // whether anything was
  std::vector<attribution::Interval> samplings_;  // choosing indices
  WorkerStart firsts_;                            // only what first batches cost
  Shares trainer_;
};

void JobReader::FindStages() {
  roles_.resize(run_.stages.size());
  shares_.resize(run_.stages.size());
  for (size_t i = 0; i < run_.stages.size(); ++i) {
    const trace::StageInfo& stage = run_.stages[i];
    shares_[i] = SharesOf(attribution_.stages[i]);
    if (model::IsTrainer(stage)) {
      roles_[i] = Role::kTrain;
      trainer_ = shares_[i];
    }
    if (stage.loader != loader_.info.id) continue;
    roles_[i] = stage.kind == "source"      ? Role::kSample
                : stage.kind == "map"       ? Role::kFetch
                : stage.kind == "batch"     ? Role::kCollate
                : stage.kind == "transport" ? Role::kTransport
                : stage.kind == "pin"       ? Role::kPin
                                            : Role::kNone;
  }
}

void JobReader::ReadTrack(const model::Track& track) {
  const ProcessId of = track.info.process;
  Process* const process = of.known() ? &processes_[of.value] : nullptr;
  const bool trains =
      track.info.stage.known() && IsMain(of) && roles_[track.info.stage.value] == Role::kTrain;
  const trace::SpanColumns& spans = track.spans;
  for (size_t i = 0; i < spans.size(); ++i) {
    const trace::SpanClass& what = run_.ClassOf(track, i);
    const attribution::Interval at{spans.start_ns[i], spans.EndNs(i)};
    if (what.kind == trace::SpanKind::kWait) {
      const bool others = IsOthers(what);
      if (what.cause == trace::WaitCause::kStartup && trains) {
        (others ? evaluated_ : startups_).push_back(at);
      }
      if (trains && !others && what.queue.known()) own_.push_back(at);
      if (what.cause == trace::WaitCause::kStartup && !trains && process != nullptr) {
        process->booted = {at.start_ns, at.end_ns};
      }
      if (trains) in_loader_.push_back(at);
      continue;
    }
    if (trains && what.activity == trace::SpanActivity::kEvaluation) evaluated_.push_back(at);
    if (what.activity != trace::SpanActivity::kNone || !what.stage.known()) continue;
    const Role role = roles_[what.stage.value];
    if (role == Role::kNone) continue;
    if (trains && role != Role::kTrain) {
      in_loader_.push_back(at);
      own_.push_back(at);
    }
    if (trains && role == Role::kSample) samplings_.push_back(at);
    ReadWork(track, i, role, process);
  }
}

void JobReader::ReadWork(const model::Track& track, size_t span, Role role, Process* process) {
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
    step_cpu_ns_[item] = taken;
    return;
  }
  const StageId stage = run_.ClassOf(track, span).stage;
  const auto own = static_cast<double>(spans.DurationNs(span));
  const Cost cost = CostOf(own, std::min(static_cast<double>(taken), own), 0, shares_[stage.value]);
  if (costs_.of_grain && !ItemId{item}.known()) {
    const attribution::Window& window = attribution_.window;
    const bool counts =
        spans.start_ns[span] >= window.start_ns && spans.start_ns[span] < window.end_ns;
    if (counts) Add(ahead_, cost);
    return;
  }
  Row& row = rows_[item];
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
      row.collated = collates_ = true;
      return Add(row.cost.fetch, cost);
    case Role::kPin:
      pinned_ = true;
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

void JobReader::ReadCounters() {
  std::vector<uint32_t> process_of(run_.counters.size(), UINT32_MAX);
  for (size_t i = 0; i < run_.counters.size(); ++i) {
    const trace::CounterInfo& counter = run_.counters[i];
    if (counter.process.known() && counter.name.ends_with(".cpu")) {
      process_of[i] = counter.process.value;
    }
  }
  for (const trace::Sample& sample : run_.rows.samples) {
    if (!sample.counter.known() || process_of[sample.counter.value] == UINT32_MAX) continue;
    processes_[process_of[sample.counter.value]].cpu.emplace_back(sample.time_ns, sample.value);
  }
}

void JobReader::TakeFirsts() {
  std::vector<BatchCost*> firsts;
  std::vector<const BatchCost*> later;
  std::set<std::pair<uint64_t, uint32_t>> begun;
  for (auto& [item, row] : rows_) {
    if (!Whole(row) || !row.sent || !row.received) continue;
    const bool first = begun.emplace(model::PassOfBatch(ItemId{item}), row.cost.worker).second;
    if (first) firsts.push_back(&row.cost);
    if (!first) later.push_back(&row.cost);
  }
  MoveFirstsToStart(firsts, later, firsts_);
}

void JobReader::TakeBatches() {
  // The batches of steps that do not count are as atypical as those steps. Batches outside of a
  // profiler's window are as good as the few inside.
  const auto& steps = run_.rows.steps;
  const attribution::Window& window = attribution_.window;
  const bool all = !model::ProfiledStretches(run_).empty();
  const size_t from = all ? window.warmup_steps : window.first_row;
  const size_t past = all ? steps.size() : window.first_row + window.rows;
  const uint64_t first = from > 0 && from < steps.size() ? steps[from].batch.value : uint64_t{0};
  const uint64_t end = past < steps.size() ? steps[past].batch.value : UINT64_MAX;
  const bool workers = costs_.loader.num_workers > 0;
  if (RestartsWorkers()) TakeFirsts();
  size_t sent = 0;
  uint64_t number = 0;
  for (const auto& [item, row] : rows_) {
    if (!Whole(row)) continue;
    ++number;
    if (workers && (!row.sent || !row.received)) continue;  // on its way when the job ended
    if (item < first || item >= end) continue;
    if (costs_.batches.empty()) costs_.first = number - 1;
    costs_.batches.push_back(row.cost);
    sent += workers ? 1 : 0;
  }
  if (costs_.batches.empty() && workers) {  // the queues were not recognised
    for (const auto& [item, row] : rows_) {
      if (Whole(row)) costs_.batches.push_back(row.cost);
    }
  }
  costs_.sends = sent > 0;
  if (costs_.batches.size() > kMostBatches) costs_.batches.resize(kMostBatches);
}

// What makes batches ahead of the loop names none of them.
void JobReader::TakeAhead() {
  const attribution::Window& window = attribution_.window;
  if (!costs_.of_grain || window.rows == 0) return;
  double samples = 0;
  for (const auto& step : attribution_.steps) samples += step.samples;
  costs_.samples =
      std::max(1.0, samples / static_cast<double>(std::max<size_t>(1, attribution_.steps.size())));
  if (costs_.loader.num_workers == 0 && costs_.loader.threads == 0) return;
  BatchCost total;
  total.fetch = ahead_;
  // The loop itself puts elements together. When it is off the CPU, it waits for these threads.
  for (const BatchCost& batch : costs_.batches) total.receive.cpu_ns += batch.fetch.cpu_ns;
  const auto each = [&](Cost& cost) {
    cost.cpu_ns /= static_cast<float>(window.rows);
    cost.blocked_ns /= static_cast<float>(window.rows);
    cost.io_ns /= static_cast<float>(window.rows);
  };
  each(total.fetch);
  each(total.receive);
  const bool seen = total.fetch.cpu_ns + total.fetch.blocked_ns + total.fetch.io_ns > 0;
  costs_.batches.assign(seen ? 1 : 0, total);
  costs_.first = 0;
  costs_.sends = seen;
}

// Unfiltered: a warm-up cannot be recognized in an evaluation.
void JobReader::TakeAllBatches() {
  std::map<uint64_t, uint64_t> passes;
  for (const auto& [item, row] : rows_) {
    if (!Whole(row)) continue;
    if (costs_.batches.size() < kMostBatches) costs_.batches.push_back(row.cost);
    costs_.sends = costs_.sends || (row.sent && row.received);
    ++passes[model::PassOfBatch(ItemId{item})];
  }
  uint64_t longest = 0;
  for (const auto& [pass, batches] : passes) longest = std::max(longest, batches);
  costs_.passes = {longest};
}

// Collects the job's work on each batch of an evaluation. Returns its total time.
double JobReader::TakeEvaluated() {
  const auto by_start = [](const attribution::Interval& a, const attribution::Interval& b) {
    return a.start_ns < b.start_ns;
  };
  std::sort(own_.begin(), own_.end(), by_start);
  std::sort(evaluated_.begin(), evaluated_.end(), by_start);
  double ns = 0;
  size_t next = 0;
  for (const attribution::Interval& batch : evaluated_) {
    while (next < own_.size() && own_[next].end_ns <= batch.start_ns) ++next;
    int64_t waited = 0;
    bool of_this = false;
    for (size_t i = next; i < own_.size() && own_[i].start_ns < batch.end_ns; ++i) {
      waited += std::min(own_[i].end_ns, batch.end_ns) - std::max(own_[i].start_ns, batch.start_ns);
      of_this = true;
    }
    if (!of_this) continue;
    const auto own = static_cast<double>(std::max<int64_t>(0, batch.ns() - waited));
    costs_.steps.push_back(CostOf(own, -1, 0, trainer_));
    ns += static_cast<double>(batch.ns());
  }
  for (const attribution::Interval& startup : startups_) ns += static_cast<double>(startup.ns());
  return ns;
}

// After this step, before the next batch is requested.
Pause JobReader::PauseBehind(size_t step) const {
  const int64_t from = run_.rows.steps[step].device_done_ns;
  const int64_t to = run_.rows.steps[step + 1].requested_ns;
  const auto within = [&](const std::vector<attribution::Interval>& all) {
    int64_t ns = 0;
    for (const attribution::Interval& at : all) {
      ns += std::max<int64_t>(0, std::min(at.end_ns, to) - std::max(at.start_ns, from));
    }
    return ns;
  };
  Pause pause;
  if (to <= from) return pause;
  const int64_t evaluates = within(evaluated_);
  pause.evaluates_ns = static_cast<double>(evaluates);
  pause.other_ns = static_cast<double>(
      std::max<int64_t>(0, to - from - evaluates - within(startups_) - within(samplings_)));
  return pause;
}

void JobReader::TakePinning() {
  costs_.pins = pinned_ || !costs_.loader.pin_memory;
  const attribution::Window& window = attribution_.window;
  for (const trace::Copy& copy : run_.rows.copies) {
    if (copy.direction != trace::CopyDirection::kHostToDevice) continue;
    if (copy.start_ns < window.start_ns || copy.end_ns > window.end_ns) continue;
    costs_.copied_bytes += static_cast<double>(copy.bytes);
    costs_.copy_ns += static_cast<double>(copy.end_ns - copy.start_ns);
  }
  const auto steps = static_cast<double>(std::max<size_t>(1, window.rows));
  costs_.copied_bytes /= steps;
  costs_.copy_ns /= steps;
}

void JobReader::TakeSteps() {
  const auto& steps = run_.rows.steps;
  std::sort(in_loader_.begin(), in_loader_.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  std::vector<double> hand_outs;
  size_t next = 0;
  bool paused = false;
  const size_t begin = attribution_.window.first_row;
  const size_t end = std::min(steps.size(), begin + attribution_.window.rows);
  for (size_t i = begin; i < end; ++i) {
    const trace::Step& step = steps[i];
    const auto own = static_cast<double>(step.device_done_ns - step.received_ns);
    const auto cpu = step_cpu_ns_.find(step.batch.value);
    const double taken =
        cpu == step_cpu_ns_.end() ? -1 : std::min(static_cast<double>(cpu->second), own);
    costs_.steps.push_back(CostOf(own, taken, 0, trainer_));
    // The pause after the last step of a pass is of a different kind.
    const bool goes_on = i + 1 < steps.size() &&
                         model::PassOfBatch(step.batch) == model::PassOfBatch(steps[i + 1].batch);
    costs_.pauses.push_back(goes_on ? PauseBehind(i) : Pause());
    paused = paused || costs_.pauses.back().evaluates_ns + costs_.pauses.back().other_ns > 0;
    int64_t seen = 0;
    while (next < in_loader_.size() && in_loader_[next].start_ns < step.requested_ns) ++next;
    for (; next < in_loader_.size() && in_loader_[next].start_ns < step.received_ns; ++next) {
      seen += std::min(in_loader_[next].end_ns, step.received_ns) - in_loader_[next].start_ns;
    }
    hand_outs.push_back(
        std::max(0.0, static_cast<double>(step.received_ns - step.requested_ns - seen)));
  }
  std::sort(hand_outs.begin(), hand_outs.end());
  costs_.hand_out_ns = Quantile(hand_outs, 0.5);
  if (!paused) costs_.pauses.clear();
  for (const attribution::Interval& at : evaluated_) {
    costs_.evaluated_ns += static_cast<double>(at.ns());
  }
}

void JobReader::TakeFirstSteps() {
  const auto& steps = run_.rows.steps;
  const size_t begin = attribution_.window.first_row;
  std::vector<Cost*> firsts;
  std::vector<const Cost*> later;
  for (size_t i = 0; i < costs_.steps.size(); ++i) {
    const size_t at = begin + i;
    const bool first =
        at == 0 || model::PassOfBatch(steps[at].batch) != model::PassOfBatch(steps[at - 1].batch);
    if (first) firsts.push_back(&costs_.steps[i]);
    if (!first) later.push_back(&costs_.steps[i]);
  }
  MoveFirstsToStart(firsts, later, firsts_);
}

void JobReader::TakePasses() {
  const auto& steps = run_.rows.steps;
  Pause all;
  size_t ended = 0;
  uint64_t batches = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    ++batches;
    if (i + 1 == steps.size() ||
        model::PassOfBatch(steps[i].batch) == model::PassOfBatch(steps[i + 1].batch)) {
      continue;
    }
    costs_.passes.push_back(std::exchange(batches, 0));
    const Pause pause = PauseBehind(i);
    all.evaluates_ns += pause.evaluates_ns;
    all.other_ns += pause.other_ns;
    ++ended;
  }
  if (ended > 0) {
    costs_.between_passes = {all.evaluates_ns / static_cast<double>(ended),
                             all.other_ns / static_cast<double>(ended)};
  }
  if (!costs_.loader.iterable || ended == 0) return;
  // The last one before it ended, by worker: each ends with a fetch that collates nothing.
  std::map<uint64_t, std::map<uint32_t, uint64_t>> shares;
  for (const auto& [item, row] : rows_) {
    if (Whole(row)) ++shares[model::PassOfBatch(ItemId{item})][row.cost.worker];
  }
  for (const auto& [worker, count] : shares.begin()->second) {
    costs_.shards.resize(std::max<size_t>(costs_.shards.size(), worker + 1));
    costs_.shards[worker] = count;
  }
}

void JobReader::TakeStarts() {
  std::vector<Boot> boots;
  for (const Process& process : processes_) {
    if (!process.worker || !process.booted) continue;
    const auto [from, to] = *process.booted;
    double cpu = 0;
    for (const auto& [time, value] : process.cpu) {
      if (time <= to) cpu = value;
    }
    const auto wall = static_cast<double>(to - from);
    cpu = std::min(cpu, wall);
    boots.push_back({cpu, wall - cpu});
  }
  costs_.start = StartOf(costs_.loader, startups_, samplings_, boots);
  if (!costs_.start.has_value()) return;
  costs_.start->first_fetch = firsts_.first_fetch;
  costs_.start->first_send = firsts_.first_send;
  costs_.start->first_receive = firsts_.first_receive;
  costs_.start->first_step = firsts_.first_step;
}

// On average, those between passes included.
double JobReader::PausePerStep() const {
  double ns = 0;
  for (const Pause& pause : costs_.pauses) ns += pause.evaluates_ns + pause.other_ns;
  if (!costs_.pauses.empty()) ns /= static_cast<double>(costs_.pauses.size());
  const Pause& between = costs_.between_passes;
  return ns + (between.evaluates_ns + between.other_ns) *
                  static_cast<double>(costs_.passes.size()) /
                  static_cast<double>(std::max<size_t>(1, run_.rows.steps.size()));
}

void JobReader::TakeExtras() {
  const attribution::Interval window = {attribution_.window.start_ns, attribution_.window.end_ns};
  UnseenCpu workers;
  for (const Process& process : processes_) {
    if (process.worker) workers.Add(process.work, process.cpu, window, startups_);
  }
  costs_.worker_extra_ns = workers.PerBatch();
  if (!loader_.info.process.known() || costs_.steps.empty()) return;
  UnseenCpu main;
  const Process& trains = processes_[loader_.info.process.value];
  main.Add(trains.work, trains.cpu, window, startups_);
  double extra = std::max(0.0, main.PerBatch() - costs_.hand_out_ns);
  if (const double pause_ns = PausePerStep(); pause_ns > 0) {
    costs_.pause_cpu_share = std::min(1.0, extra / pause_ns);
    extra -= costs_.pause_cpu_share * pause_ns;
  }
  costs_.math_threads = std::max<int64_t>(1, std::llround(attribution_.cpu.cores));
  double step_ns = 0;
  for (const Cost& step : costs_.steps) step_ns += static_cast<double>(step.cpu_ns);
  step_ns /= static_cast<double>(costs_.steps.size());
  costs_.math_ns = std::max(0.0, extra - kQueuesNs);
  if (costs_.math_ns < kShared * step_ns) costs_.math_ns = 0;
  costs_.main_extra_ns = extra - costs_.math_ns;
  // The library's threads share work evenly: what is more than the main one's is spinning, which
  // ends where cores are scarce.
  costs_.math_ns = std::min(costs_.math_ns, step_ns * static_cast<double>(costs_.math_threads - 1));
}

void JobReader::TakeMemory() {
  for (size_t i = 0; i < processes_.size() && i < attribution_.processes.size(); ++i) {
    const auto peak = attribution_.processes[i].peak_rss_bytes;
    if (!processes_[i].worker || !peak) continue;
    costs_.worker_bytes = std::max(costs_.worker_bytes.value_or(0), *peak);
  }
}

void JobReader::TakeLocks() {
  constexpr double kWaits = 0.1;  // of the work; less is chance
  double work = 0;
  double held = 0;
  double waits = 0;
  for (const attribution::StageUse& use : attribution_.stages) {
    const Role role = roles_[use.stage.value];
    if (role != Role::kFetch && role != Role::kCollate) continue;
    const auto busy = static_cast<double>(use.busy_ns);
    work += busy;
    held += busy * use.held.value_or(0);
    waits += static_cast<double>(use.lock_ns);
  }
  if (work <= 0) return;
  costs_.held = held > 0 ? held / work : waits > kWaits * work ? 1 : 0;
}

}  // namespace

const LoaderSpec* FirstLoader(const Spec& spec) {
  for (const StageSpec& stage : spec.stages) {
    if (stage.name == kFirstLoader) return std::get_if<LoaderSpec>(&stage.kind);
  }
  return nullptr;
}

Result<JobCosts> CostsOfJob(const model::Run& run, const attribution::Attribution& attribution,
                            std::vector<std::string>& limits) {
  const model::Loader* feeds = nullptr;
  for (const model::Loader& loader : run.loaders) {
    if (loader.name == kFirstLoader) feeds = &loader;
  }
  for (const model::Loader& loader : run.loaders) {
    if (feeds != nullptr && &loader != feeds &&
        static_cast<double>(loader.steps) > kFew * static_cast<double>(feeds->steps)) {
      return Error{ErrorKind::kInput, "several loaders feed the job's steps", run.path,
                   "what each of them gains is not predicted: run it (stallscope replay)"};
    }
  }
  if (feeds == nullptr || feeds->steps == 0 || !feeds->info.process.known()) {
    return Error{ErrorKind::kInput, "no data loader feeds the job's steps", run.path,
                 "record a job that trains from PyTorch's DataLoader"};
  }
  if (model::IsTfData(feeds->info)) {
    return Error{
        ErrorKind::kInput,
        "tf.data's work is seen only in windows of TensorFlow's profiler, which slow it down",
        run.path,
        "run it with other settings (stallscope replay); the report estimates what more "
        "parallel calls gain"};
  }
  if (!model::IsDataLoader(feeds->info) && !model::IsGrain(feeds->info)) {
    return Error{ErrorKind::kInput,
                 "how the loader's own library divides its work is not predicted", run.path,
                 "run it with other settings (stallscope replay)"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(JobCosts costs, JobReader(run, attribution, *feeds).Read(limits));
  for (const model::Loader& loader : run.loaders) {
    if (&loader == feeds || loader.info.process != feeds->info.process) continue;
    auto evaluation = JobReader(run, attribution, loader).ReadEvaluation();
    if (evaluation.has_value()) costs.evaluations.push_back(*std::move(evaluation));
  }
  return costs;
}

}  // namespace stallscope::replay
