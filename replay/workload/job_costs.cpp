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
#include "analyzer/attribution/waiting_ops.h"
#include "analyzer/attribution/window.h"
#include "analyzer/base/math.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/profiled.h"
#include "replay/workload/job_record.h"
#include "replay/workload/span_costs.h"
#include "replay/workload/unseen_cpu.h"
#include "replay/workload/worker_start.h"

namespace stallscope::replay {
namespace {

// The last ones: enough for every quantile that matters.
constexpr size_t kMostBatches = 65'536;
// Of the CPU that the main process's other threads burn for a batch: more is the math library's.
constexpr double kQueuesNs = 400'000;
// Less of a step's CPU than this is no work that threads share.
constexpr double kShared = 0.1;
constexpr std::string_view kFirstLoader = "loader";
// Of the first loader's steps: those of another one that do not matter.
constexpr double kFew = 0.02;

// What of these, sorted and without overlaps, is within the given time. `next` is the first one
// that may be; times are asked for in their order, too.
int64_t Within(const attribution::Intervals& all, size_t& next, const attribution::Interval& time) {
  while (next < all.size() && all[next].end_ns <= time.start_ns) ++next;
  int64_t ns = 0;
  for (size_t i = next; i < all.size() && all[i].start_ns < time.end_ns; ++i) {
    ns += std::min(all[i].end_ns, time.end_ns) - std::max(all[i].start_ns, time.start_ns);
  }
  return ns;
}

class JobReader {
 public:
  JobReader(const model::Run& run, const attribution::Attribution& attribution,
            const model::Loader& loader)
      : run_(run),
        attribution_(attribution),
        loader_(loader),
        record_(ReadJobRecord(run, attribution, loader)) {
    costs_.loader = model::LoaderSpecOf(loader.info);
    costs_.of_grain = model::IsGrain(loader.info);
    costs_.made_again = model::IsMadeAgain(loader.info);
  }

  Result<JobCosts> Read(std::vector<std::string>& limits) {
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
    TakeShared();
    if (!costs_.sends) {
      limits.push_back(loader_.name + ": handing batches over from workers was not recorded");
    }
    return std::move(costs_);
  }

  // The costs of a loader that the job evaluates with. Nothing if its batches were not recorded.
  std::optional<Evaluation> ReadEvaluation() {
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
  void TakeFirsts();
  void TakeBatches();
  void TakeAhead();
  void TakeAllBatches();
  double TakeEvaluated();
  void TakePinning();
  std::vector<size_t> RowsOfSteps() const;
  void TakeSteps();
  void TakeFirstSteps();
  void TakePasses();
  void TakeStarts();
  void TakeExtras();
  void TakeMemory();
  void TakeShared();
  double PausePerStep() const;
  Pause PauseBehind(size_t step) const;
  bool RestartsWorkers() const {
    return costs_.loader.num_workers > 0 && !costs_.loader.persistent_workers;
  }

  const model::Run& run_;
  const attribution::Attribution& attribution_;
  const model::Loader& loader_;
  JobRecord record_;
  JobCosts costs_;
  WorkerStart firsts_;        // only what first batches cost
  std::vector<size_t> rows_;  // of the run's steps, those that costs_.steps has
};

void JobReader::TakeFirsts() {
  std::vector<BatchCost*> firsts;
  std::vector<const BatchCost*> later;
  std::set<std::pair<uint64_t, uint32_t>> begun;
  for (auto& [item, row] : record_.rows) {
    if (!record_.Whole(row) || !row.sent || !row.received) continue;
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
  for (const auto& [item, row] : record_.rows) {
    if (!record_.Whole(row)) continue;
    ++number;
    if (workers && (!row.sent || !row.received)) continue;  // on its way when the job ended
    if (item < first || item >= end) continue;
    if (costs_.batches.empty()) costs_.first = number - 1;
    costs_.batches.push_back(row.cost);
    sent += workers ? 1 : 0;
  }
  if (costs_.batches.empty() && workers) {  // the queues were not recognised
    for (const auto& [item, row] : record_.rows) {
      if (record_.Whole(row)) costs_.batches.push_back(row.cost);
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
  total.fetch = record_.ahead;
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
  for (const auto& [item, row] : record_.rows) {
    if (!record_.Whole(row)) continue;
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
  const attribution::Intervals own_work =
      attribution::UnionWithin(std::move(record_.own), attribution::kEver);
  std::sort(record_.evaluated.begin(), record_.evaluated.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  double ns = 0;
  size_t next = 0;
  for (const attribution::Interval& batch : record_.evaluated) {
    const int64_t waited = Within(own_work, next, batch);
    if (waited == 0) continue;  // a batch of another loader
    const auto own = static_cast<double>(std::max<int64_t>(0, batch.ns() - waited));
    costs_.steps.push_back(CostOf(own, -1, 0, record_.trainer));
    ns += static_cast<double>(batch.ns());
  }
  for (const attribution::Interval& startup : record_.startups)
    ns += static_cast<double>(startup.ns());
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
  const int64_t evaluates = within(record_.evaluated);
  pause.evaluates_ns = static_cast<double>(evaluates);
  pause.other_ns = static_cast<double>(std::max<int64_t>(
      0, to - from - evaluates - within(record_.startups) - within(record_.samplings)));
  return pause;
}

void JobReader::TakePinning() {
  costs_.pins = record_.pinned || !costs_.loader.pin_memory;
  const attribution::Window window = attribution::WindowOfDevices(attribution_.window);
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

// A framework's profiler slows the trainer, so the steps outside of its window tell what they take.
std::vector<size_t> JobReader::RowsOfSteps() const {
  const attribution::Window& window = attribution_.window;
  std::vector<size_t> rows;
  if (window.profiled_of != 0) {
    rows = attribution::UnprofiledRows(run_, model::StepIntervals(run_), window);
  }
  if (!rows.empty()) return rows;
  const size_t past = std::min(run_.rows.steps.size(), window.first_row + window.rows);
  for (size_t row = window.first_row; row < past; ++row) rows.push_back(row);
  return rows;
}

void JobReader::TakeSteps() {
  const auto& steps = run_.rows.steps;
  const attribution::Intervals in_loader =
      attribution::UnionWithin(std::move(record_.in_loader), attribution::kEver);
  std::vector<double> hand_outs;
  size_t next = 0;
  bool paused = false;
  rows_ = RowsOfSteps();
  for (const size_t i : rows_) {
    const trace::Step& step = steps[i];
    const auto own = static_cast<double>(step.device_done_ns - step.received_ns);
    const auto cpu = record_.step_cpu_ns.find(step.batch.value);
    const double taken =
        cpu == record_.step_cpu_ns.end() ? -1 : std::min(static_cast<double>(cpu->second), own);
    costs_.steps.push_back(CostOf(own, taken, 0, record_.trainer));
    // The pause after the last step of a pass is of a different kind.
    const bool goes_on = i + 1 < steps.size() &&
                         model::PassOfBatch(step.batch) == model::PassOfBatch(steps[i + 1].batch);
    costs_.pauses.push_back(goes_on ? PauseBehind(i) : Pause());
    paused = paused || costs_.pauses.back().evaluates_ns + costs_.pauses.back().other_ns > 0;
    // A thread that takes batches ahead of the steps may have begun before this one's request.
    const int64_t seen = Within(in_loader, next, {step.requested_ns, step.received_ns});
    hand_outs.push_back(
        std::max(0.0, static_cast<double>(step.received_ns - step.requested_ns - seen)));
  }
  std::sort(hand_outs.begin(), hand_outs.end());
  costs_.hand_out_ns = Quantile(hand_outs, 0.5);
  if (!paused) costs_.pauses.clear();
  for (const attribution::Interval& at : record_.evaluated) {
    costs_.evaluated_ns += static_cast<double>(at.ns());
  }
}

void JobReader::TakeFirstSteps() {
  const auto& steps = run_.rows.steps;
  std::vector<Cost*> firsts;
  std::vector<const Cost*> later;
  for (size_t i = 0; i < costs_.steps.size(); ++i) {
    const size_t at = rows_[i];
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
  for (const auto& [item, row] : record_.rows) {
    if (record_.Whole(row)) ++shares[model::PassOfBatch(ItemId{item})][row.cost.worker];
  }
  for (const auto& [worker, count] : shares.begin()->second) {
    costs_.shards.resize(std::max<size_t>(costs_.shards.size(), worker + 1));
    costs_.shards[worker] = count;
  }
}

void JobReader::TakeStarts() {
  std::vector<Boot> boots;
  for (const JobProcess& process : record_.processes) {
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
  costs_.start = StartOf(costs_.loader, record_.startups, record_.samplings, boots);
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
  for (const JobProcess& process : record_.processes) {
    if (process.worker) workers.Add(process.work, process.cpu, window, record_.startups);
  }
  costs_.worker_extra_ns = workers.PerBatch();
  if (!loader_.info.process.known() || costs_.steps.empty()) return;
  UnseenCpu main;
  const JobProcess& trains = record_.processes[loader_.info.process.value];
  main.Add(trains.work, trains.cpu, window, record_.startups);
  double extra = std::max(0.0, main.PerBatch() - costs_.hand_out_ns);
  if (const double pause_ns = PausePerStep(); pause_ns > 0) {
    costs_.pause_cpu_share = std::min(1.0, extra / pause_ns);
    extra -= costs_.pause_cpu_share * pause_ns;
  }
  costs_.math_threads_set = model::CallPlaceOf(loader_.info, "math_threads");
  costs_.math_threads = std::max<int64_t>(1, std::llround(attribution_.cpu.cores));
  double step_ns = 0;
  for (const Cost& step : costs_.steps) step_ns += static_cast<double>(step.cpu_ns);
  step_ns /= static_cast<double>(costs_.steps.size());
  costs_.math_ns = std::max(0.0, extra - kQueuesNs);
  if (costs_.math_ns < kShared * step_ns) costs_.math_ns = 0;
  costs_.main_extra_ns = extra - costs_.math_ns;
  // The library's threads share work evenly: what is more than the main one's is spinning, which
  // ends where cores are scarce, or they load batches.
  costs_.math_ns = std::min(costs_.math_ns, step_ns * static_cast<double>(costs_.math_threads - 1));
  costs_.loads_in_threads = attribution_.cpu.LoadsInThreads();
}

void JobReader::TakeMemory() {
  for (size_t i = 0; i < record_.processes.size() && i < attribution_.processes.size(); ++i) {
    const attribution::ProcessUse& use = attribution_.processes[i];
    // Older traces have its part of what it shares with others alone.
    const auto peak = use.peak_private_bytes ? use.peak_private_bytes : use.peak_rss_bytes;
    if (!record_.processes[i].worker || !peak) continue;
    costs_.worker_bytes = std::max(costs_.worker_bytes.value_or(0), *peak);
  }
}

void JobReader::TakeShared() {
  double work = 0;
  double held = 0;
  double waits = 0;
  std::vector<StageId> stages;
  for (const attribution::StageUse& use : attribution_.stages) {
    const Role role = record_.roles[use.stage.value];
    if (role != Role::kFetch && role != Role::kCollate) continue;
    stages.push_back(use.stage);
    const auto busy = static_cast<double>(use.busy_ns);
    work += busy;
    held += busy * use.held.value_or(0);
    waits += static_cast<double>(use.lock_ns) + attribution::InFileLocks(use) * busy;
  }
  costs_.in_pools = attribution::IsLeftToPools(attribution_.stages, stages);
  if (work <= 0) return;
  costs_.held = held > 0 ? held / work : waits > attribution::kTakeTurns * work ? 1 : 0;
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
