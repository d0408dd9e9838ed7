#include "replay/workload/build_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "analyzer/attribution/summary.h"
#include "analyzer/attribution/system_use.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/model/ranks.h"
#include "analyzer/spec/spec_json.h"
#include "replay/workload/foreign_spec.h"
#include "replay/workload/job_costs.h"
#include "replay/workload/span_costs.h"
#include "replay/workload/trainer_costs.h"

namespace stallscope::replay {
namespace {

// Items of a stage that are kept: enough for every quantile that matters, and 3 MiB a workload of
// four stages.
constexpr size_t kMostItems = 65'536;
// From a thread's event to when the one that slept for it runs (measured: 20 to 60 us).
constexpr double kWakeNs = 30'000;
// Others may have less the next time: no more than this of the cores is taken to be theirs.
constexpr double kMostOthers = 0.3;
constexpr double k90Of95 = 1.645 / 1.960;
// Of a machine of which the trace says nothing: more than the threads that anybody tries.
constexpr double kManyCores = 64;

Error Cannot(const model::Run& run, std::string what, std::string hint) {
  return Error{ErrorKind::kInput, std::move(what), run.path, std::move(hint)};
}

void FillMeans(StageCosts& costs) {
  const auto& items = costs.items.empty() ? costs.hits : costs.items;
  for (const Cost& item : items) {
    costs.mean_cpu_ns += static_cast<double>(item.cpu_ns);
    costs.mean_blocked_ns += static_cast<double>(item.blocked_ns);
    costs.mean_io_ns += static_cast<double>(item.io_ns);
  }
  const auto count = static_cast<double>(std::max<size_t>(1, items.size()));
  costs.mean_cpu_ns /= count;
  costs.mean_blocked_ns /= count;
  costs.mean_io_ns /= count;
}

// Jobs that the threads of a stage handed on in the window.
std::vector<double> JobsOf(const model::Run& run, const attribution::Window& window) {
  std::vector<double> by_queue(run.queues.size());
  for (const trace::QueueEvent& event : run.rows.queue_events) {
    if (event.op != trace::QueueOp::kPush || !event.queue.known()) continue;
    if (event.time_ns < window.start_ns || event.time_ns > window.end_ns) continue;
    by_queue[event.queue.value] += 1;
  }
  std::vector<double> jobs(run.stages.size());
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const QueueId queue = run.stages[i].queue;
    if (queue.known()) jobs[i] = by_queue[queue.value];
  }
  return jobs;
}

// A store's first items are those that it was filled with.
void SplitStore(const model::Run& run, StageId stage, StageCosts& costs) {
  const auto fills = static_cast<size_t>(
      std::count_if(run.rows.cache_events.begin(), run.rows.cache_events.end(),
                    [&](const trace::CacheEvent& event) {
                      return event.stage == stage && event.op == trace::CacheOp::kFill;
                    }));
  const auto hits = static_cast<size_t>(
      std::count_if(run.rows.cache_events.begin(), run.rows.cache_events.end(),
                    [&](const trace::CacheEvent& event) {
                      return event.stage == stage && event.op == trace::CacheOp::kHit;
                    }));
  // What was kept of the spans are the last ones.
  const size_t kept_hits = std::min(hits, costs.items.size());
  costs.hits.assign(costs.items.end() - static_cast<std::ptrdiff_t>(kept_hits), costs.items.end());
  costs.items.resize(costs.items.size() - kept_hits);
  // Filled before the window: what that cost is not known, but that it was is.
  if (fills > 0 && costs.items.empty()) costs.items = costs.hits;
}

struct DataFacts {
  std::optional<uint64_t> per_epoch;
  double per_file = 0;
  double bytes = 0;
};

DataFacts FactsOf(const model::Run& run, const Spec& spec, bool made_up) {
  DataFacts facts;
  uint64_t first_epoch = 0;
  uint32_t epochs = 0;
  uint64_t bytes = 0;
  std::set<trace::StringId> files;
  for (const trace::Element& element : run.rows.elements) {
    epochs = std::max(epochs, element.epoch + 1);
    if (element.epoch == 0) {
      ++first_epoch;
      files.insert(element.file);
    }
    bytes += element.bytes;
  }
  const auto count = run.rows.elements.size();
  if (count > 0) facts.bytes = static_cast<double>(bytes) / static_cast<double>(count);
  if (!files.empty()) {
    facts.per_file = static_cast<double>(first_epoch) / static_cast<double>(files.size());
  }
  const auto* source = std::get_if<SourceSpec>(&spec.stages.front().kind);
  if (source != nullptr && source->files.empty() && !made_up) {
    facts.per_epoch = static_cast<uint64_t>(source->elements);
  } else if (epochs > 1) {
    facts.per_epoch = first_epoch;
  } else {
    // A store that was read from is one that a whole pass has filled.
    uint64_t fills = 0;
    bool hits = false;
    for (const trace::CacheEvent& event : run.rows.cache_events) {
      fills += event.op == trace::CacheOp::kFill ? 1 : 0;
      hits = hits || event.op == trace::CacheOp::kHit;
    }
    if (fills > 0 && hits) facts.per_epoch = first_epoch;
  }
  return facts;
}

void TakeTuned(const model::Run& run, Recorded& recorded) {
  for (const trace::KnobChange& change : run.rows.knobs) {
    const std::string_view text = run.Text(change.new_value);
    int64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec == std::errc()) recorded.tuned[std::string(run.Text(change.path))] = value;
  }
}

// The stage that makes batches, and those that work on them.
std::set<std::string> BehindTheBatch(const Spec& spec) {
  std::set<std::string> names;
  bool batched = false;
  for (const StageSpec& stage : spec.stages) {
    batched = batched || std::holds_alternative<BatchSpec>(stage.kind);
    if (batched) names.insert(stage.name);
  }
  return names;
}

// The part of the threads' gaps that handing over can have taken. A thread that lost its core for a
// moment also has a gap, and on crowded cores most gaps are of that kind. All threads together
// burned no more CPU than the process did outside of its stages' work.
double WorkedOfGaps(const attribution::Attribution& attribution, const SpanCosts& spans) {
  const double gaps = std::accumulate(spans.gap_ns.begin(), spans.gap_ns.end(), 0.0);
  if (!attribution.cpu.process_busy.has_value() || gaps <= 0) return 1;
  double left = *attribution.cpu.process_busy *
                static_cast<double>(attribution.window.end_ns - attribution.window.start_ns);
  for (const attribution::StageUse& use : attribution.stages) {
    left -= static_cast<double>(use.cpu_ns);
  }
  return std::clamp(left / gaps, 0.0, 1.0);
}

void TakeStages(const model::Run& run, const attribution::Attribution& attribution,
                const std::vector<std::string>& names, Recorded& recorded) {
  SpanCosts spans = CostsOfSpans(run, attribution, kMostItems);
  const double worked = WorkedOfGaps(attribution, spans);
  const std::vector<double> jobs = JobsOf(run, attribution.window);
  bool batched = false;
  const std::set<std::string> of_batches =
      recorded.made_up_spec ? BehindTheBatch(recorded.spec) : std::set<std::string>();
  for (size_t i = 0; i < run.stages.size(); ++i) {
    const trace::StageInfo& info = run.stages[i];
    if (model::IsTrainer(info)) continue;
    const attribution::StageUse& use = attribution.stages[i];
    StageCosts costs;
    costs.items = std::move(spans.items[i]);
    costs.idle = spans.idle[i];
    if (info.kind == "cache" || info.kind == "snapshot") SplitStore(run, info.id, costs);
    FillMeans(costs);
    // Of a foreign run the order of the stages is the file's, and their kinds are its words.
    batched =
        recorded.made_up_spec ? of_batches.count(names[i]) != 0 : batched || info.kind == "batch";
    costs.of_batches = batched;
    if (jobs[i] > 0) costs.handover_ns = worked * spans.gap_ns[i] / jobs[i];
    if (use.elements > 0) {
      costs.bytes = static_cast<double>(use.bytes) / static_cast<double>(use.elements);
    }
    if (info.kind == "filter" && use.items_per_sample > 0) {
      costs.kept = std::min(1.0, 1 / use.items_per_sample);
    }
    // The second stage of one name is the part of a map that works on whole batches.
    auto& by_name = recorded.stages.count(names[i]) == 0 ? recorded.stages : recorded.vectorized;
    by_name[names[i]] = std::move(costs);
  }
}

void TakeForeign(ForeignSpec foreign, bool imported, std::vector<std::string>& names,
                 Recorded& recorded) {
  recorded.spec = std::move(foreign.spec);
  names = std::move(foreign.names);
  recorded.made_up_spec = true;
  recorded.imported = imported;
  recorded.counts_steps = foreign.counts_steps;
  recorded.unseen = std::move(foreign.unseen);
  recorded.limits = std::move(foreign.limits);
  recorded.limits.emplace_back("the run has no spec: the stages' names say what they do");
  if (recorded.counts_steps) {
    recorded.limits.emplace_back(
        "this trace does not say how many samples a step has: rates are in steps per second");
  }
  for (const auto& [stage, how] : recorded.unseen) recorded.limits.push_back(stage + ": " + how);
}

// The trainer of a foreign run, and what it waited for where no stage's work is known.
void TakeForeignTrainer(const model::Run& run, const attribution::Attribution& attribution,
                        double batch, Recorded& recorded) {
  recorded.trainer = CostsOfForeignSteps(run, attribution, batch);
  if (attribution.cpu.cores <= 0) {
    recorded.limits.emplace_back(
        "this trace does not say how many cores the machine has: assuming enough");
  }
  if (recorded.unseen.empty()) {
    recorded.spec.transfer.overlap = AsksAhead(run, attribution);
    return;
  }
  StageCosts& costs = recorded.stages[recorded.spec.stages.front().name];
  costs.items = WaitsOfSteps(attribution);
  costs.of_batches = true;
  FillMeans(costs);
}

// What a sample has in a batch on the host; as many bytes as over the link if the trace does not
// show it.
void TakeHostBytes(const model::Run& run, const std::vector<std::string>& names,
                   Recorded& recorded) {
  for (size_t i = 0; i < run.stages.size(); ++i) {
    if (run.stages[i].kind != "batch") continue;
    const double bytes = recorded.stages[names[i]].bytes;
    if (bytes > 0) recorded.trainer.host_sample_bytes = bytes / recorded.trainer.batch;
  }
  if (recorded.trainer.host_sample_bytes <= 0) {
    recorded.trainer.host_sample_bytes = recorded.trainer.sample_bytes;
  }
}

void TakeMachine(const model::Run& run, const attribution::Attribution& attribution,
                 Recorded& recorded) {
  recorded.cores_known = attribution.cpu.cores > 0 || !run.imported();
  const auto& stages = attribution.stages;
  recorded.cpu_known =
      !run.imported() || std::any_of(stages.begin(), stages.end(), [](const auto& use) {
        return use.cpu_ns + use.blocked_ns + use.contention_ns > 0;
      });
  recorded.cores = recorded.cores_known ? std::max(1.0, attribution.cpu.cores) : kManyCores;
  const attribution::CpuUse& cpu = attribution.cpu;
  recorded.other_cores = std::min(cpu.others.value_or(0), kMostOthers) * cpu.cores;
  recorded.busy_cores = attribution.cpu.process_busy.value_or(0);
  recorded.from_disk = attribution::ShareFromDisk(cpu);
  recorded.waited_cores = attribution.cpu.run_wait;
  const auto& stall = attribution.breakdown[attribution::At(attribution::Category::kInputStall)];
  if (stall.has_value()) recorded.input_stall = stall->fraction;
  recorded.wake_ns = kWakeNs;
  recorded.host = run.info.host.name;
  recorded.peak_rss_bytes = attribution.memory.peak_rss_bytes.value_or(0);
}

void TakeMeasured(const attribution::Attribution& attribution,
                  const attribution::Throughput& steps_per_s, double samples_a_step,
                  Recorded& recorded) {
  const bool has_samples =
      attribution.throughput && attribution.throughput->samples_per_s > 0 && !recorded.counts_steps;
  const attribution::Throughput& measured = has_samples ? *attribution.throughput : steps_per_s;
  recorded.samples_per_s = measured.samples_per_s * (has_samples ? 1 : samples_a_step);
  recorded.spread = k90Of95 * (measured.high - measured.low) / (2 * measured.samples_per_s);
}

Result<Workload> BuildJob(const model::Run& run, const attribution::Attribution& attribution,
                          const attribution::Throughput& steps_per_s) {
  auto spec = model::JobSpecOf(run);
  if (!spec.has_value()) {
    return Cannot(run, "no data loader was seen in the job",
                  "record a job that uses PyTorch's DataLoader");
  }
  auto recorded = std::make_shared<Recorded>();
  STALLSCOPE_ASSIGN_OR_RETURN(JobCosts costs, CostsOfJob(run, attribution, recorded->limits));
  recorded->spec = *std::move(spec);
  recorded->job = std::make_shared<const JobCosts>(std::move(costs));
  TakeMachine(run, attribution, *recorded);
  TakeMeasured(attribution, steps_per_s, 1, *recorded);
  recorded->trainer.batch = recorded->samples_per_s / steps_per_s.samples_per_s;
  recorded->steps = run.rows.steps.size();
  Workload workload;
  workload.spec = recorded->spec;
  workload.recorded = std::move(recorded);
  return workload;
}

// By its waits for batches in the window.
uint32_t LongestWaitingRank(const model::Run& run, const attribution::Window& window) {
  std::map<uint32_t, double> waited = {{run.step_ranks.front(), 0}};
  for (size_t i = window.first_row; i < window.first_row + window.rows; ++i) {
    const trace::Step& step = run.rows.steps[i];
    waited[run.RankOfStep(i)] +=
        static_cast<double>(step.received_ns) - static_cast<double>(step.requested_ns);
  }
  return std::max_element(waited.begin(), waited.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

Result<Workload> BuildRanks(const model::Run& run, const attribution::Attribution& attribution,
                            const attribution::Throughput& steps_per_s) {
  const uint32_t rank = LongestWaitingRank(run, attribution.window);
  const auto one = model::IsJob(run) ? model::RunOfRank(run, rank) : std::nullopt;
  if (!one.has_value()) {
    return Cannot(run, "several recordings' ranks cannot be simulated", "pass one rank's trace");
  }
  const std::set<uint32_t> ranks(run.step_ranks.begin(), run.step_ranks.end());
  const attribution::Attribution alone = attribution::Attribute(*one);
  STALLSCOPE_ASSIGN_OR_RETURN(Workload workload, BuildWorkload(*one, alone));
  Recorded all = *workload.recorded;
  if (all.cores < static_cast<double>(ranks.size())) {
    return Cannot(run, "the job has more ranks than cores",
                  "run it with other settings (stallscope replay)");
  }
  all.ranks = static_cast<unsigned>(ranks.size());
  TakeMeasured(attribution, steps_per_s, 1, all);
  all.trainer.batch = all.samples_per_s / steps_per_s.samples_per_s;
  all.limits.push_back("rank " + std::to_string(rank) + ", which waits longest, stands for all " +
                       std::to_string(ranks.size()) + ", on the cores that the others leave");
  workload.recorded = std::make_shared<const Recorded>(std::move(all));
  return workload;
}

}  // namespace

Result<Workload> BuildWorkload(const model::Run& run, const attribution::Attribution& attribution) {
  const std::optional<attribution::Throughput> steps_per_s = attribution::StepRate(attribution);
  if (!steps_per_s.has_value()) {
    return Cannot(run, "the run has no steps, so there is no throughput to predict from",
                  "record some steps");
  }
  if (!run.imported() && (!attribution.throughput || attribution.throughput->samples_per_s <= 0)) {
    return Cannot(run, "the run trained on no samples, so it has no throughput",
                  "record some steps");
  }
  if (!run.step_ranks.empty()) return BuildRanks(run, attribution, *steps_per_s);
  if (model::IsJob(run)) return BuildJob(run, attribution, *steps_per_s);
  auto recorded = std::make_shared<Recorded>();
  std::vector<std::string> names;
  double samples_a_step = 1;
  auto spec = ReadSpec(run.info.spec_json, run.path);
  if (spec.ok()) {
    const auto graph = plan::Lower(spec.value());
    if (!graph.ok()) return Cannot(run, graph.error().what, graph.error().hint);
    const auto& stages = spec.value().stages;
    if (stages.size() > 1 && std::holds_alternative<SourceSpec>(stages[1].kind)) {
      return Cannot(run, "a run of several sources cannot be simulated", "replay it");
    }
    recorded->spec = std::move(spec).value();
    for (const trace::StageInfo& stage : run.stages) names.push_back(stage.name);
  } else {
    ForeignSpec foreign = SpecOfStages(run, attribution);
    if (foreign.spec.stages.empty()) {
      return Cannot(run, "the trace has neither a spec nor stages",
                    "record the input pipeline's stages");
    }
    samples_a_step = foreign.batch;
    TakeForeign(std::move(foreign), run.imported(), names, *recorded);
  }
  TakeStages(run, attribution, names, *recorded);
  if (recorded->imported) {
    TakeForeignTrainer(run, attribution, samples_a_step, *recorded);
  } else {
    recorded->trainer = CostsOfSteps(run, attribution, recorded->spec);
  }
  const bool works = std::any_of(
      recorded->stages.begin(), recorded->stages.end(),
      [](const auto& stage) { return !stage.second.items.empty() || !stage.second.hits.empty(); });
  if (!works) {
    return Cannot(run, "the trace records no work of any stage",
                  "record the input pipeline's stages");
  }
  const DataFacts facts = FactsOf(run, recorded->spec, recorded->made_up_spec);
  recorded->elements_per_epoch = facts.per_epoch;
  recorded->elements_per_file = facts.per_file;
  if (facts.bytes > 0) recorded->stages[recorded->spec.stages.front().name].bytes = facts.bytes;
  TakeHostBytes(run, names, *recorded);
  TakeTuned(run, *recorded);
  TakeMachine(run, attribution, *recorded);
  TakeMeasured(attribution, *steps_per_s, samples_a_step, *recorded);
  recorded->steps = run.rows.steps.size();
  Workload workload;
  workload.spec = recorded->spec;
  workload.recorded = std::move(recorded);
  return workload;
}

}  // namespace stallscope::replay
