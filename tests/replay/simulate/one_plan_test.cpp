// What the simulator prices is what the pipeline runs: over random specs, the stages, threads and
// queues of the recording are those of the simulated network.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analyzer/spec/spec_json.h"
#include "analyzer/spec/validate.h"
#include "replay/simulate/network.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/paths.h"

using namespace stallscope;

namespace {

constexpr int kSpecs = 300;
constexpr int kFiles = 3;
constexpr int kImages = 6;

// Stages that share threads, the threads, and the queue behind them (0: not compared).
struct Crew {
  std::vector<std::string> stages;
  uint64_t workers = 1;
  uint64_t capacity = 0;
  bool ordered = true;

  std::string Text() const {
    return fmt::format("[{}] x{} queue {}{}", fmt::join(stages, " "), workers, capacity,
                       ordered ? "" : " unordered");
  }
};

std::string Text(const std::vector<Crew>& crews) {
  std::string text;
  for (const Crew& crew : crews) text += crew.Text() + "\n";
  return text;
}

class RandomSpecs {
 public:
  RandomSpecs(std::string images, uint32_t seed) : images_(std::move(images)), random_(seed) {}

  Spec Next() {
    Spec spec;
    AddSource(spec);
    bool batched = false;
    const uint32_t count = 1 + Below(7);
    for (uint32_t i = 0; i < count; ++i) AddStage(fmt::format("s{}", i), batched, spec);
    if (batched && OneIn(4)) {
      spec.stages.push_back({"on_device", MapSpec{.ops = {"cast(float32)"}, .on = MapOn::kDevice}});
    }
    RewritesSpec& rewrites = spec.rewrites;
    for (bool* flag : {&rewrites.map_fusion, &rewrites.map_and_batch, &rewrites.constant_folding,
                       &rewrites.narrow_dtype_late_cast, &rewrites.vectorise,
                       &rewrites.crop_aware_decode, &rewrites.shuffle_before_decode}) {
      *flag = OneIn(2);
    }
    return spec;
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }
  Knob Workers() {
    return OneIn(4) ? Knob::Auto() : Knob{1 + static_cast<int64_t>(Below(3)), false};
  }

  void AddSource(Spec& spec) {
    SourceSpec source;
    source.format = SourceFormat::kSynthetic;
    source.elements = 3;
    source.bytes = 4;
    source.parallelism = Workers();
    source.deterministic = !OneIn(3);
    source.on_error = OneIn(3) ? OnError::kSkip : OnError::kFail;
    of_images_ = OneIn(2);
    if (of_images_) {
      source = {.format = SourceFormat::kTfrecord,
                .files = {images_},
                .cycle_length = OneIn(3) ? Knob::Auto() : Knob{kFiles, false},
                .parallelism = source.parallelism,
                .deterministic = source.deterministic,
                .on_error = source.on_error};
    } else if (OneIn(4)) {
      source.format = SourceFormat::kSerial;
    }
    spec.stages.push_back({"read", source});
    if (of_images_) AddMap("decode", {"decode_jpeg", OneIn(2) ? "crop(16)" : "resize(16)"}, spec);
  }

  void AddMap(const std::string& name, std::vector<std::string> ops, Spec& spec) {
    MapSpec map;
    map.ops = std::move(ops);
    map.parallelism = Workers();
    map.deterministic = !OneIn(3);
    spec.stages.push_back({name, map});
  }

  std::vector<std::string> Ops() {
    const std::vector<std::string> any = {"busy(0)", "sleep(0)", "cast(float32)"};
    const std::vector<std::string> of_images = {"flip", "crop(8)", "cast(float32)", "normalize",
                                                "busy(0)"};
    const auto& from = of_images_ ? of_images : any;
    std::vector<std::string> ops(1 + Below(3));
    for (std::string& op : ops) op = from[Below(static_cast<uint32_t>(from.size()))];
    return ops;
  }

  void AddStage(const std::string& name, bool& batched, Spec& spec) {
    switch (Below(12)) {
      case 0: {
        PrefetchSpec prefetch;
        prefetch.buffer_size = OneIn(4) ? Knob::Auto() : Knob{Below(4), false};
        spec.stages.push_back({name, prefetch});
        return;
      }
      case 1:
      case 2:
        spec.stages.push_back({name, ShuffleSpec{1 + static_cast<int64_t>(Below(5))}});
        return;
      case 3:
        spec.stages.push_back({name, RepeatSpec{1 + static_cast<int64_t>(Below(2))}});
        return;
      case 4:
        spec.stages.push_back({name, CacheSpec{}});
        return;
      case 5:
        if (batched) return;
        spec.stages.push_back({name, ShardSpec{2, 0}});
        return;
      case 6:
        if (batched) return;
        spec.stages.push_back({name, FilterSpec{"keep_one_in(2)"}});
        return;
      case 7:
      case 8:
        if (batched) return;
        batched = true;
        if (OneIn(2)) AddMap(name + "_cast", {"cast(float32)"}, spec);
        spec.stages.push_back({name, BatchSpec{.size = 2, .parallelism = Workers()}});
        return;
      default:
        AddMap(name, batched ? std::vector<std::string>{"busy(0)"} : Ops(), spec);
    }
  }

  const std::string images_;
  std::mt19937 random_;
  bool of_images_ = false;
};

std::vector<trace::StageInfo> Record(const Spec& spec, const std::string& path,
                                     std::map<uint32_t, uint64_t>& capacities) {
  auto recorder = recorder::Recorder::Start(path, {});
  REQUIRE(recorder.ok());
  {
    const recorder::ThreadScope scope(recorder.value().get(), "trainer");
    const auto built = pipeline::Pipeline::Build(spec, {.recorder = recorder.value().get()});
    REQUIRE_MESSAGE(built.ok(), (built.ok() ? "" : built.error().Line()));
  }
  recorder.value()->Stop();
  std::vector<trace::StageInfo> stages;
  const test::RecordedTrace trace = test::ReadTrace(path);
  for (const trace::Chunk& chunk : trace.chunks) {
    // A definition that changes is written again.
    for (const trace::StageInfo& stage : chunk.definitions.stages) {
      const auto known = std::find_if(stages.begin(), stages.end(),
                                      [&](const auto& other) { return other.id == stage.id; });
      known == stages.end() ? void(stages.push_back(stage)) : void(*known = stage);
    }
    for (const trace::QueueInfo& queue : chunk.definitions.queues) {
      capacities[queue.id.value] = queue.capacity;
    }
  }
  return stages;
}

// The recorded stages by the threads that do their work. `settled` takes what "auto" begins with.
std::vector<Crew> RecordedCrews(const Spec& spec, const std::string& path,
                                replay::Recorded& settled) {
  std::map<uint32_t, uint64_t> capacities;
  std::vector<Crew> crews;
  Crew crew;
  StageId before;
  for (const trace::StageInfo& stage : Record(spec, path, capacities)) {
    if (before.known()) {
      REQUIRE(stage.inputs.size() == 1);
      CHECK(stage.inputs.front() == before);
    }
    before = stage.id;
    if (stage.name == "on_device") continue;
    const uint64_t capacity = stage.queue.known() ? capacities.at(stage.queue.value) : 0;
    if (stage.kind == "prefetch" && capacity == 0) continue;  // none
    crew.stages.push_back(stage.name);
    if (capacity == 0 || stage.kind == "shuffle") continue;
    settled.tuned[stage.name + ".parallelism"] = stage.workers;
    settled.tuned[stage.name + ".buffer_size"] = static_cast<int64_t>(capacity);
    crew.workers = stage.workers;
    crew.capacity =
        stage.kind == "source" && !std::get<SourceSpec>(spec.stages[0].kind).files.empty()
            ? 0
            : capacity;
    crew.ordered = stage.ordered;
    crews.push_back(std::exchange(crew, Crew()));
  }
  if (!crew.stages.empty()) crews.push_back(crew);  // the trainer's
  return crews;
}

std::vector<Crew> SimulatedCrews(const Spec& spec, replay::Recorded recorded) {
  recorded.spec = spec;
  recorded.cores = std::thread::hardware_concurrency();
  recorded.elements_per_epoch = kImages;
  recorded.elements_per_file = static_cast<double>(kImages) / kFiles;
  replay::Workload workload;
  workload.spec = spec;
  workload.recorded = std::make_shared<replay::Recorded>(std::move(recorded));
  const auto network = replay::BuildNetwork(workload, 10);
  REQUIRE(network.ok());
  std::vector<Crew> crews;
  const auto add = [&](const replay::Group& group, bool trainer) {
    Crew crew;
    for (const auto* hops : {&group.chain, &group.work}) {
      for (const replay::Hop& hop : *hops) crew.stages.push_back(spec.stages[hop.stage].name);
    }
    if (!trainer) {
      const StageSpec& last = spec.stages[group.stage];
      const auto* source = std::get_if<SourceSpec>(&last.kind);
      if (std::holds_alternative<PrefetchSpec>(last.kind)) crew.stages.push_back(last.name);
      crew.workers = group.workers;
      crew.capacity = source != nullptr && !source->files.empty() ? 0 : group.limit;
      crew.ordered = group.ordered;
    }
    if (!crew.stages.empty()) crews.push_back(crew);
  };
  for (const replay::Group& group : network.value().groups) add(group, false);
  add(network.value().trainer, true);
  return crews;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("for any spec the simulated threads and queues are the recorded ones") {
    test::ScratchDir dir;
    RandomSpecs specs(test::MakeData(dir / "d", data::DataFormat::kTfRecord, kImages, kFiles), 20);
    std::set<std::string> rewritten;
    for (int i = 0; i < kSpecs; ++i) {
      const Spec spec = specs.Next();
      CAPTURE(WriteSpec(spec));
      REQUIRE(Validate(spec).ok());
      replay::Recorded settled;
      const std::string recorded = Text(RecordedCrews(spec, dir / "r.sst", settled));
      CHECK(Text(SimulatedCrews(spec, std::move(settled))) == recorded);
      const auto graph = plan::Lower(spec);
      REQUIRE(graph.ok());
      rewritten.insert(graph.value().rewrites.begin(), graph.value().rewrites.end());
    }
    CAPTURE(fmt::format("{}", fmt::join(rewritten, " ")));
    CHECK(rewritten.size() == 7);  // each rewrite had something to do
  }
}
