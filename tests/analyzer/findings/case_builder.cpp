#include "tests/analyzer/findings/case_builder.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/model/job_spec.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope::test {

using attribution::At;
using attribution::Category;
using attribution::Cause;

namespace {

constexpr const char* kSpec = R"json({"name": "images", "stages": [
  {"name": "read", "source": {"format": "tfrecord", "files": ["data/*.tfrecord"],
                              "cycle_length": 4, "parallelism": 2}},
  {"name": "shuffle", "shuffle": {"buffer_size": 1024}},
  {"name": "decode", "map": {"ops": ["decode_jpeg"], "parallelism": 2}},
  {"name": "augment", "map": {"ops": ["random_resized_crop(224)", "flip"], "parallelism": 2}},
  {"name": "batch", "batch": {"size": 32, "drop_remainder": true}},
  {"name": "prefetch", "prefetch": {"buffer_size": 4}}],
  "transfer": {"pinned": true, "overlap": true, "dtype": "uint8", "prefetch_to_device": 2},
  "trainer": {"device": "cuda", "graph": "captured", "fuse": true, "precision": "bf16"}})json";

uint32_t WorkersOf(const StageSpec& stage) {
  if (const auto* source = std::get_if<SourceSpec>(&stage.kind)) {
    return static_cast<uint32_t>(source->parallelism.value);
  }
  if (const auto* map = std::get_if<MapSpec>(&stage.kind)) {
    return static_cast<uint32_t>(map->parallelism.value);
  }
  if (const auto* batch = std::get_if<BatchSpec>(&stage.kind)) {
    return static_cast<uint32_t>(batch->parallelism.value);
  }
  return 1;
}

uint64_t PlacesOf(const StageSpec& stage) {
  if (const auto* prefetch = std::get_if<PrefetchSpec>(&stage.kind)) {
    return static_cast<uint64_t>(prefetch->buffer_size.value);
  }
  return WorkersOf(stage) > 1 ? WorkersOf(stage) : 0;
}

bool ByBatch(const StageSpec& stage) {
  return std::holds_alternative<BatchSpec>(stage.kind) ||
         std::holds_alternative<PrefetchSpec>(stage.kind);
}

}  // namespace

CaseBuilder::CaseBuilder() {
  Result<Spec> read = ReadSpec(kSpec, "case");
  REQUIRE_MESSAGE(read.ok(), read.error().Line());
  spec = std::move(read).value();
  run.format = "sst";
  run.info.device.kind = "cuda";
  run.quality.sealed = true;
  TakeStagesFromSpec();

  attribution.window = {.start_ns = 0, .end_ns = kSteps * kStepNs};
  attribution.window.steps = kSteps;
  const double per_s = 1e9 * kBatch / kStepNs;
  attribution.throughput = attribution::Throughput{per_s, 0.99 * per_s, 1.01 * per_s};
  attribution.step_ns = attribution::Quantiles{kStepNs, kStepNs, kStepNs, kStepNs, 0.05};
  for (int64_t i = 0; i < kSteps; ++i) {
    attribution::StepShare step;
    step.index = static_cast<uint64_t>(i);
    step.start_ns = i * kStepNs;
    step.end_ns = step.start_ns + kStepNs;
    step.samples = kBatch;
    step.ns[At(Category::kCompute)] = kStepNs;
    attribution.steps.push_back(step);
    trace::Step row;
    row.index = step.index;
    row.requested_ns = step.start_ns;
    row.device_done_ns = step.end_ns;
    row.samples = kBatch;
    run.rows.steps.push_back(row);
  }
  for (auto& total : attribution.breakdown) total = attribution::CategoryTotal{};
  attribution.breakdown[At(Category::kCompute)]->fraction = 1;
  attribution.timelines.push_back({});
  attribution::DeviceUse device;
  device.busy_ns = kSteps * kStepNs;
  attribution.devices.push_back(device);
  attribution.kernels.push_back({Intern("gemm"), 1000, kSteps * kStepNs, 1.0, false});
  attribution.cpu.cores = 8;
  attribution.cpu.process_busy = 0.8;
  attribution.memory = {.peak_rss_bytes = uint64_t{2} << 30,
                        .available_bytes = uint64_t{8} << 30,
                        .limit_bytes = uint64_t{16} << 30,
                        .stages = {}};
  verdict.bound = findings::Bound::kCompute;
}

void CaseBuilder::TakeStagesFromSpec() {
  run.stages.clear();
  attribution.stages.clear();
  for (size_t i = 0; i < spec.stages.size(); ++i) {
    const StageSpec& stage = spec.stages[i];
    trace::StageInfo info;
    info.id = {static_cast<uint32_t>(i)};
    info.name = stage.name;
    info.kind = KindWord(stage);
    if (i > 0) info.inputs.push_back({static_cast<uint32_t>(i - 1)});
    info.workers = WorkersOf(stage);
    info.ordered = true;
    run.stages.push_back(info);
    attribution::StageUse use;
    use.stage = info.id;
    use.workers = info.workers;
    use.elements = static_cast<uint64_t>(ByBatch(stage) ? kSteps : kSteps * kBatch);
    use.items_per_sample = ByBatch(stage) ? 1.0 / kBatch : 1.0;
    // One part in twenty of what would be too slow.
    use.service_ns.mean = 0.05 * kStepNs * use.workers / (use.items_per_sample * kBatch);
    use.service_ns.variation = 0.3;
    use.busy_ns = static_cast<int64_t>(use.service_ns.mean * static_cast<double>(use.elements));
    use.cpu_ns = use.busy_ns;
    use.utilization = 0.05;
    use.capacity_samples_per_s = 20e9 * kBatch / kStepNs;
    if (PlacesOf(stage) > 0) use.queue = attribution::QueueUse{{}, PlacesOf(stage), {}, {}, {}};
    attribution.stages.push_back(use);
  }
  AddTrainerAndThreads();
}

// As recordings have them: the trainer is a stage, a prefetch has threads and no work, and what has
// no threads of its own works in those of the stage that asks.
void CaseBuilder::AddTrainerAndThreads() {
  trace::StageInfo trainer;
  trainer.id = {static_cast<uint32_t>(run.stages.size())};
  trainer.name = "trainer";
  trainer.kind = "trainer";
  run.stages.push_back(trainer);
  StageId owner = trainer.id;
  run.tracks.clear();
  for (size_t i = spec.stages.size(); i-- > 0;) {
    attribution::StageUse& use = attribution.stages[i];
    if (use.queue.has_value()) owner = use.stage;
    use.runs_in = owner;
    if (!std::holds_alternative<PrefetchSpec>(spec.stages[i].kind)) continue;
    use.elements = 0;
    use.items_per_sample = 0;
    use.service_ns = {};
    use.busy_ns = use.cpu_ns = 0;
    use.runs_in = {};
    use.capacity_samples_per_s.reset();
    model::Track track;
    track.info.stage = use.stage;
    run.tracks.push_back(track);
  }
}

StageSpec& CaseBuilder::StageSpecOf(std::string_view name) {
  const auto at = std::find_if(spec.stages.begin(), spec.stages.end(),
                               [&](const StageSpec& stage) { return stage.name == name; });
  REQUIRE(at != spec.stages.end());
  return *at;
}

StageId CaseBuilder::IdOf(std::string_view name) const {
  const auto at = std::find_if(run.stages.begin(), run.stages.end(),
                               [&](const trace::StageInfo& stage) { return stage.name == name; });
  REQUIRE(at != run.stages.end());
  return at->id;
}

attribution::StageUse& CaseBuilder::UseOf(std::string_view name) {
  return attribution.stages[IdOf(name).value];
}

void CaseBuilder::Spend(Category category, double share, findings::Bound bound) {
  attribution.breakdown[At(category)]->fraction += share;
  attribution.breakdown[At(Category::kCompute)]->fraction -= share;
  const auto ns = static_cast<int64_t>(share * kStepNs);
  for (auto& step : attribution.steps) {
    step.ns[At(category)] += ns;
    step.ns[At(Category::kCompute)] -= ns;
  }
  verdict.bound = bound;
}

void CaseBuilder::Stall(std::string_view name, Cause cause, double share) {
  Spend(Category::kInputStall, share, findings::Bound::kInput);
  const StageId stage = IdOf(name);
  attribution.blame.push_back(
      {stage, cause, static_cast<int64_t>(share * kSteps * kStepNs), share});
  verdict.stage = stage;
  verdict.cause = cause;
  if (cause == Cause::kOrder || cause == Cause::kBuffer) return;
  attribution::StageUse& use = UseOf(name);
  use.service_ns.mean = 1.0 * kStepNs * use.workers / (use.items_per_sample * kBatch);
  use.busy_ns = static_cast<int64_t>(use.service_ns.mean * static_cast<double>(use.elements));
  const bool burns = cause == Cause::kCpu || cause == Cause::kUnknown;
  use.cpu_ns = burns ? use.busy_ns : use.busy_ns / 10;
  use.utilization = 0.98;
  use.capacity_samples_per_s = 1e9 * kBatch / kStepNs;
}

void CaseBuilder::ReadElements(size_t count, size_t files, uint64_t bytes, size_t epochs) {
  for (size_t epoch = 0; epoch < epochs; ++epoch) {
    for (size_t i = 0; i < count; ++i) {
      trace::Element element;
      element.item = {epoch * count + i};
      element.record = i / files;
      element.bytes = bytes;
      element.file = Intern("train-0000" + std::to_string(i % files) + ".tfrecord");
      element.epoch = static_cast<uint32_t>(epoch);
      run.rows.elements.push_back(element);
    }
  }
}

void CaseBuilder::GrowMemory(double bytes) {
  attribution.memory.growth_bytes_per_s =
      bytes * 1e9 / static_cast<double>(attribution.window.ns());
}

void CaseBuilder::CopyBatches(trace::CopyMemory memory, uint64_t bytes, size_t a_step) {
  attribution::CopyUse use;
  use.memory = memory;
  for (uint64_t i = 0; i < kSteps * a_step; ++i) {
    trace::Copy copy;
    copy.batch = {i / a_step};
    copy.bytes = bytes;
    copy.memory = memory;
    run.rows.copies.push_back(copy);
    ++use.count;
    use.bytes += bytes;
    use.ns += static_cast<int64_t>(bytes / 4);
  }
  attribution.devices.front().copies.push_back(use);
}

trace::StringId CaseBuilder::Intern(std::string text) {
  const auto at = std::find(run.strings.begin(), run.strings.end(), text);
  if (at != run.strings.end()) return {static_cast<uint32_t>(at - run.strings.begin())};
  run.strings.push_back(std::move(text));
  return {static_cast<uint32_t>(run.strings.size() - 1)};
}

std::vector<findings::Finding> CaseBuilder::Find(bool price, const findings::Pricer& pricer) const {
  const findings::Case c{run, attribution, verdict,
                         with_spec ? std::optional<Spec>(spec) : std::nullopt,
                         model::JobSpecOf(run)};
  return findings::Find(c, price, pricer);
}

std::optional<findings::Finding> CaseBuilder::FindingOf(std::string_view id) const {
  for (findings::Finding& finding : Find()) {
    if (finding.id == id) return std::move(finding);
  }
  return std::nullopt;
}

}  // namespace stallscope::test
