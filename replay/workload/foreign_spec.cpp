#include "replay/workload/foreign_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

namespace stallscope::replay {
namespace {

bool Says(std::string kind, std::string_view word) {
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return kind.find(word) != std::string::npos;
}

// As a spec's stage may be called, and no other is.
std::string NameFor(const std::string& name, std::set<std::string>& taken) {
  std::string plain;
  for (const char c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    plain += fits ? c : '_';
  }
  if (plain.empty()) plain = "stage";
  std::string unique = plain;
  for (int n = 2; !taken.insert(unique).second; ++n) unique = fmt::format("{}_{}", plain, n);
  return unique;
}

// From the source to the last stage before the trainer.
std::vector<size_t> ChainOf(const model::Run& run) {
  std::vector<bool> asked(run.stages.size());
  for (const trace::StageInfo& stage : run.stages) {
    for (const StageId input : stage.inputs) {
      if (input.known() && stage.kind != "trainer") asked[input.value] = true;
    }
  }
  std::vector<size_t> chain;
  for (size_t i = run.stages.size(); i-- > 0;) {
    if (asked[i] || run.stages[i].kind == "trainer") continue;
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
    stage.kind = ShuffleSpec{static_cast<int64_t>(std::max<uint64_t>(1, capacity))};
  } else if (Says(info.kind, "batch") && !Says(info.kind, "map")) {
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

}  // namespace

Result<ForeignSpec> SpecOfStages(const model::Run& run,
                                 const attribution::Attribution& attribution) {
  const std::vector<size_t> chain = ChainOf(run);
  if (chain.empty()) {
    return Error{ErrorKind::kInput, "the trace has neither a spec nor stages", run.path,
                 "record the input pipeline's stages"};
  }
  ForeignSpec foreign;
  foreign.names.resize(run.stages.size());
  std::set<std::string> taken;
  double samples = 0;
  for (const auto& step : attribution.steps) samples += step.samples;
  const double mean = samples / static_cast<double>(std::max<size_t>(1, attribution.steps.size()));
  const auto batch = std::max<int64_t>(1, std::llround(mean));
  for (size_t i = 0; i < run.stages.size(); ++i) {
    foreign.names[i] = NameFor(run.stages[i].name, taken);
  }
  bool batched = false;
  for (const size_t at : chain) {
    StageSpec stage = StageFor(run, at, foreign.names[at], at == chain.front(), batch);
    const bool batches = std::holds_alternative<BatchSpec>(stage.kind);
    // A second one would make batches of batches: what it costs is kept as a map's.
    if (batches && batched) stage.kind = MapSpec{.ops = {"busy(0)"}};
    batched = batched || batches;
    foreign.spec.stages.push_back(std::move(stage));
  }
  foreign.spec.name = run.info.name;
  foreign.spec.trainer.steps = static_cast<int64_t>(run.rows.steps.size());
  foreign.spec.trainer.device = TrainerDevice::kCuda;
  return foreign;
}

}  // namespace stallscope::replay
