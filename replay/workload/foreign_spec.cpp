#include "replay/workload/foreign_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

namespace stallscope::replay {
namespace {

// With a number behind it still a stage's name.
constexpr size_t kLongestName = 56;

bool Says(std::string kind, std::string_view word) {
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kind.find(word) != std::string::npos;
}

// One that maps as well has items of its own, of which nothing says how many a batch has.
bool IsBatch(const std::string& kind) { return Says(kind, "batch") && !Says(kind, "map"); }

// As a spec's stage may be called, and no other is.
std::string NameFor(const std::string& name, std::set<std::string>& taken) {
  std::string plain;
  for (const char c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    plain += fits ? c : '_';
  }
  if (plain.empty()) plain = "stage";
  plain.resize(std::min(plain.size(), kLongestName));
  std::string unique = plain;
  for (int n = 2; !taken.insert(unique).second; ++n) unique = fmt::format("{}_{}", plain, n);
  return unique;
}

// From the source to the last stage before the trainer.
std::vector<size_t> ChainOf(const model::Run& run) {
  std::vector<bool> asked(run.stages.size());
  for (const trace::StageInfo& stage : run.stages) {
    for (const StageId input : stage.inputs) {
      if (input.known() && !model::IsTrainer(stage)) asked[input.value] = true;
    }
  }
  std::vector<size_t> chain;
  for (size_t i = run.stages.size(); i-- > 0;) {
    if (asked[i] || model::IsTrainer(run.stages[i])) continue;
    for (size_t at = i; chain.size() <= run.stages.size();) {
      chain.push_back(at);
      const auto& inputs = run.stages[at].inputs;
      if (inputs.empty() || !inputs.front().known()) break;
      at = inputs.front().value;
    }
    break;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

StageSpec StageFor(const model::Run& run, size_t at, const std::string& name, bool first,
                   int64_t batch) {
  const trace::StageInfo& info = run.stages[at];
  StageSpec stage;
  stage.name = name;
  const Knob workers{std::max<int64_t>(1, info.workers), false};
  const uint64_t capacity = info.queue.known() ? run.queues[info.queue.value].info.capacity : 0;
  if (first) {
    SourceSpec source;
    source.format = SourceFormat::kSynthetic;
    source.parallelism = workers;
    source.deterministic = info.ordered;
    stage.kind = source;
  } else if (Says(info.kind, "prefetch")) {
    stage.kind = PrefetchSpec{{static_cast<int64_t>(std::max<uint64_t>(1, capacity)), false}};
  } else if (Says(info.kind, "shuffle")) {
    // Its buffer was full before the recording began, and stays full.
    stage.kind = ShuffleSpec{1};
  } else if (IsBatch(info.kind)) {
    BatchSpec made;
    made.size = batch;
    made.parallelism = workers;
    stage.kind = made;
  } else {
    MapSpec map;
    map.ops = {"busy(0)"};
    map.parallelism = workers;
    map.deterministic = info.ordered;
    stage.kind = map;
  }
  return stage;
}

// Samples of a step: as the run says, else as many elements as its batch stage takes for a batch.
void TakeBatch(const model::Run& run, const attribution::Attribution& attribution,
               const std::vector<size_t>& chain, ForeignSpec& foreign) {
  const auto batch_at = std::find_if(chain.begin(), chain.end(), [&](size_t at) {
    return at != chain.front() && IsBatch(run.stages[at].kind);
  });
  const bool has_batch = batch_at != chain.end();
  double samples = 0;
  for (const auto& step : attribution.steps) samples += step.samples;
  const double mean = samples / static_cast<double>(std::max<size_t>(1, attribution.steps.size()));
  // Without a stage that makes batches of samples its stages' items are whole batches.
  foreign.counts_steps = run.imported() && (mean < 1 || !has_batch);
  if (mean >= 1 && !foreign.counts_steps) foreign.batch = mean;
  if (mean >= 1 || !has_batch) return;
  const auto elements = [&](size_t stage) {
    return stage < attribution.stages.size()
               ? static_cast<double>(attribution.stages[stage].elements)
               : 0.0;
  };
  const double made = elements(*batch_at);
  const double taken = elements(*(batch_at - 1));
  if (made < 1 || taken < made) return;
  foreign.batch = std::round(taken / made);
  foreign.counts_steps = false;
  foreign.limits.push_back(
      fmt::format("assuming {:.0f} samples per step, as many as {} takes for a batch",
                  foreign.batch, run.stages[*batch_at].name));
}

// What would show a stage from inside, in the words of who wrote the trace.
std::string HowToSee(const std::string& kind) {
  if (kind == "dataloader") {
    return "its workers are other processes, which this file shows only from the outside; to see "
           "inside, profile them as well (worker_init_fn), or record the same loop with "
           "num_workers=0";
  }
  if (kind == "tf.data") {
    return "the file has no event of its iterators, and shows it only from the outside; to see "
           "inside, "
           "profile with host_tracer_level=2";
  }
  if (kind.empty()) {
    return "this file shows no input pipeline; to see one, name the data loader's calls while "
           "profiling";
  }
  return "the file shows it only from the outside; to see inside, mark what its threads do (NVTX "
         "ranges)";
}

// Where no stage's work was recorded, all that is known is how long the trainer waited: the last
// stage stands for all of them.
void TakeUnseen(const model::Run& run, const attribution::Attribution& attribution,
                const std::vector<size_t>& chain, ForeignSpec& foreign) {
  if (chain.empty()) {
    SourceSpec source;
    source.format = SourceFormat::kSynthetic;
    foreign.spec.stages.push_back({"input", source});
    foreign.unseen["input"] = HowToSee("");
    return;
  }
  const bool works = std::any_of(chain.begin(), chain.end(), [&](size_t at) {
    return at < attribution.stages.size() && attribution.stages[at].elements > 0;
  });
  if (works) return;
  const trace::StageInfo& last = run.stages[chain.back()];
  const std::string& name = foreign.names[chain.back()];
  foreign.spec.stages = {StageFor(run, chain.back(), name, true, 1)};
  foreign.unseen[name] = HowToSee(last.kind);
}

}  // namespace

ForeignSpec SpecOfStages(const model::Run& run, const attribution::Attribution& attribution) {
  const std::vector<size_t> chain = ChainOf(run);
  ForeignSpec foreign;
  foreign.names.resize(run.stages.size());
  std::set<std::string> taken = {"transfer", "trainer", "rewrites", "budget"};
  for (size_t i = 0; i < run.stages.size(); ++i) {
    foreign.names[i] = NameFor(run.stages[i].name, taken);
  }
  TakeBatch(run, attribution, chain, foreign);
  bool batched = false;
  for (const size_t at : chain) {
    StageSpec stage = StageFor(run, at, foreign.names[at], at == chain.front(),
                               std::max<int64_t>(1, std::llround(foreign.batch)));
    const bool batches = std::holds_alternative<BatchSpec>(stage.kind);
    // A second one would make batches of batches: what it costs is kept as a map's.
    if (batches && batched) stage.kind = MapSpec{.ops = {"busy(0)"}};
    batched = batched || batches;
    foreign.spec.stages.push_back(std::move(stage));
  }
  if (run.imported()) TakeUnseen(run, attribution, chain, foreign);
  foreign.spec.name = run.info.name;
  foreign.spec.trainer.steps = static_cast<int64_t>(run.rows.steps.size());
  const bool computes_itself = run.imported() && attribution.devices.empty();
  foreign.spec.trainer.device = computes_itself ? TrainerDevice::kHost : TrainerDevice::kCuda;
  return foreign;
}

}  // namespace stallscope::replay
