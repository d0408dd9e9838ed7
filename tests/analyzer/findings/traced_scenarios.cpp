#include "tests/analyzer/findings/scenarios.h"

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace stallscope::test {

using attribution::Cause;

namespace {

struct Iterator {
  std::string name;
  std::string kind;
  std::map<std::string, std::string> settings = {};
};

StageSpec StageLike(const Iterator& iterator) {
  const auto is = [&](const char* word) { return iterator.kind.find(word) != std::string::npos; };
  if (is("Batch")) return {iterator.name, BatchSpec{}};
  if (is("Prefetch")) return {iterator.name, PrefetchSpec{}};
  if (is("Map")) return {iterator.name, MapSpec{.ops = {"busy(0)"}, .parallelism = {2, false}}};
  if (is("Repeat")) return {iterator.name, RepeatSpec{}};
  if (is("Shuffle")) return {iterator.name, ShuffleSpec{16}};
  if (is("Shard")) return {iterator.name, ShardSpec{2, 0}};
  if (is("Cache")) return {iterator.name, CacheSpec{}};
  SourceSpec source;
  source.format = SourceFormat::kSynthetic;
  return {iterator.name, source};
}

// The case as TensorFlow's profiler would show it: with these iterators, and without a spec.
void TakeTrace(CaseBuilder& b, std::initializer_list<Iterator> iterators) {
  b.spec.stages.clear();
  for (const Iterator& iterator : iterators) b.spec.stages.push_back(StageLike(iterator));
  b.TakeStagesFromSpec();
  for (const Iterator& iterator : iterators) {
    trace::StageInfo& stage = b.run.stages[b.IdOf(iterator.name).value];
    stage.kind = iterator.kind;
    stage.settings = iterator.settings;
  }
  b.run.stages.back().inputs = {b.run.stages[iterators.size() - 1].id};
  b.run.info.imported_from = "xplane";
  b.with_spec = false;
}

trace::StageInfo& StageOf(CaseBuilder& b, const std::string& name) {
  return b.run.stages[b.IdOf(name).value];
}

// One call of the stage on a thread of its own, in which these operations ran.
void AddCall(CaseBuilder& b, const std::string& stage, std::initializer_list<const char*> ops) {
  model::Track thread;
  thread.info.kind = trace::TrackKind::kThread;
  thread.info.thread = b.run.tracks.size() + 1;
  model::Track detail;
  detail.info.kind = trace::TrackKind::kDetail;
  detail.info.thread = thread.info.thread;
  const auto add = [&](model::Track& track, trace::SpanClass what, int64_t start_ns, int64_t ns) {
    b.run.span_classes.push_back(what);
    track.spans.Append(start_ns, ns, static_cast<uint16_t>(b.run.span_classes.size() - 1),
                       ItemId::None());
  };
  int64_t at = 1'000;
  for (const char* const op : ops) {
    trace::SpanClass what;
    what.kind = trace::SpanKind::kWork;
    what.activity = trace::SpanActivity::kOperator;
    what.name = b.Intern(op);
    add(detail, what, at, 1'000);
    at += 2'000;
  }
  trace::SpanClass work;
  work.kind = trace::SpanKind::kWork;
  work.stage = b.IdOf(stage);
  add(thread, work, 0, at);
  b.run.tracks.push_back(thread);
  b.run.tracks.push_back(detail);
}

void SetCapacity(CaseBuilder& b, const std::string& stage, uint64_t elements) {
  model::Queue queue;
  queue.info.id = {static_cast<uint32_t>(b.run.queues.size())};
  queue.info.capacity = elements;
  StageOf(b, stage).queue = queue.info.id;
  b.run.queues.push_back(queue);
}

void Compile(CaseBuilder& b, int times, double ns) {
  for (const char* const name : {"compilations", "compilations time"}) {
    trace::CounterInfo counter;
    counter.id = {static_cast<uint32_t>(b.run.counters.size())};
    counter.name = name;
    b.run.counters.push_back(counter);
    const double each = counter.name == "compilations" ? 1 : ns;
    for (int i = 1; i <= times; ++i)
      b.run.rows.samples.push_back({i * 1'000, i * each, counter.id});
  }
}

void DecodeAndRepeat(CaseBuilder& b) {
  TakeTrace(b, {{"TFRecord", "TFRecord"},
                {"Map", "ParallelMapV2", {{"shapes", "[224,224,3]"}, {"types", "uint8"}}},
                {"ForeverRepeat", "ForeverRepeat"},
                {"BatchV2", "BatchV2"}});
  b.Stall("Map", Cause::kUnknown, 0.4);
}

void RandomMap(CaseBuilder& b) {
  AddCall(b, "Map", {"random_flip_left_right/random_uniform/RandomUniform:RandomUniform"});
}

void OneMap(CaseBuilder& b, std::map<std::string, std::string> settings) {
  TakeTrace(b, {{"TFRecord", "TFRecord"},
                {"Decode", "ParallelMapV2", {{"shapes", "[?,?,3]"}, {"types", "uint8"}}},
                {"Map", "ParallelMapV2", std::move(settings)},
                {"BatchV2", "BatchV2"}});
  b.Stall("Map", Cause::kUnknown, 0.4);
}

}  // namespace

std::vector<Scenario> TracedScenarios() {
  return {
      {"vectorise", "an iterator that does next to nothing for each element",
       [](CaseBuilder& b) {
         OneMap(b, {{"shapes", "[64]"}, {"types", "float"}});
         b.UseOf("Map").service_ns.mean = 20'000;
       },
       "its elements have no one shape",
       [](CaseBuilder& b) { StageOf(b, "Map").settings["shapes"] = "[?]"; }},
      {"vectorise", "an iterator that does next to nothing, and a shuffle behind it",
       [](CaseBuilder& b) {
         TakeTrace(b, {{"TFRecord", "TFRecord"},
                       {"Map", "ParallelMapV2", {{"shapes", "[64]"}, {"types", "float"}}},
                       {"Between", "Shuffle"},
                       {"BatchV2", "BatchV2", {{"batch_size", "32"}}}});
         b.Stall("Map", Cause::kUnknown, 0.4);
         b.UseOf("Map").service_ns.mean = 20'000;
       },
       "a filter looks at what it makes",
       [](CaseBuilder& b) { StageOf(b, "Between").kind = "Filter"; }},
      {"vectorise", "an iterator that does next to nothing, again",
       [](CaseBuilder& b) {
         OneMap(b, {{"shapes", "[64]"}, {"types", "float"}});
         b.UseOf("Map").service_ns.mean = 20'000;
       },
       "it hands on a file's records", [](CaseBuilder& b) { StageOf(b, "Map").kind = "FlatMap"; }},
      {"map-fusion", "two iterators that do next to nothing",
       [](CaseBuilder& b) {
         OneMap(b, {});
         b.UseOf("Decode").service_ns.mean = 20'000;
         b.UseOf("Map").service_ns.mean = 20'000;
       },
       "one of them keeps the order and the other does not",
       [](CaseBuilder& b) { StageOf(b, "Decode").ordered = false; }},
      {"map-and-batch", "a prefetch keeps tf.data from fusing a map and its batch",
       [](CaseBuilder& b) {
         TakeTrace(b, {{"TFRecord", "TFRecord"},
                       {"Map", "ParallelMapV2"},
                       {"Between", "Prefetch"},
                       {"BatchV2", "BatchV2", {{"batch_size", "32"}}}});
         b.Stall("BatchV2", Cause::kUnknown, 0.4);
       },
       "they are shuffled in between",
       [](CaseBuilder& b) { StageOf(b, "Between").kind = "Shuffle"; }},
      {"cache", "an iterator repeats what is not random", DecodeAndRepeat, "nothing is repeated",
       [](CaseBuilder& b) { StageOf(b, "ForeverRepeat").kind = "FiniteTake"; }},
      {"cache", "an iterator repeats what is not random, again", DecodeAndRepeat,
       "a random operation was recorded", RandomMap},
      {"snapshot", "preprocessing without a random operation", DecodeAndRepeat,
       "a random operation was recorded", RandomMap},
      {"cache-place", "a map behind a cache",
       [](CaseBuilder& b) {
         TakeTrace(b, {{"TFRecord", "TFRecord"},
                       {"MemoryCache", "MemoryCache"},
                       {"Map", "ParallelMapV2"},
                       {"BatchV2", "BatchV2"}});
         b.Stall("Map", Cause::kUnknown, 0.4);
       },
       "a random operation was recorded", RandomMap},
      {"precomputed-augmentation", "a random operation that steps wait for",
       [](CaseBuilder& b) {
         DecodeAndRepeat(b);
         RandomMap(b);
       },
       "steps wait for something else",
       [](CaseBuilder& b) { b.attribution.blame[0].stage = b.IdOf("TFRecord"); }},
      {"precomputed-augmentation", "a random operation before a cache",
       [](CaseBuilder& b) {
         DecodeAndRepeat(b);
         StageOf(b, "ForeverRepeat").kind = "MemoryCache";
         RandomMap(b);
       },
       "its name only begins with its place",
       [](CaseBuilder& b) {
         b.run.tracks.resize(b.run.tracks.size() - 2);
         AddCall(b, "Map", {"random_uniform/Cast:Cast"});
       }},
      {"shuffle-place", "a shuffle of decoded pictures, by their shape and type",
       [](CaseBuilder& b) {
         TakeTrace(b, {{"TFRecord", "TFRecord"},
                       {"Map", "ParallelMapV2", {{"shapes", "[480,640,3]"}, {"types", "uint8"}}},
                       {"Shuffle", "Shuffle"},
                       {"BatchV2", "BatchV2"}});
         AddCall(b, "Map", {"DecodeJpeg:DecodeJpeg"});
         SetCapacity(b, "Shuffle", 1'000);
       },
       "they are small",
       [](CaseBuilder& b) { StageOf(b, "Map").settings["shapes"] = "[64,64,3]"; }},
      {"late-cast", "a cast before a flip",
       [](CaseBuilder& b) {
         OneMap(b, {{"shapes", "[224,224,3]"}, {"types", "float"}});
         AddCall(b, "Map", {"Cast:Cast", "flip_left_right/ReverseV2:ReverseV2"});
       },
       "the flip comes first",
       [](CaseBuilder& b) {
         b.run.tracks.resize(b.run.tracks.size() - 2);
         AddCall(b, "Map", {"flip_left_right/ReverseV2:ReverseV2", "Cast:Cast"});
       }},
      {"redundant-work", "an image is resized twice",
       [](CaseBuilder& b) {
         OneMap(b, {{"shapes", "[64,64,3] []"}, {"types", "float int64"}});
         AddCall(
             b, "Map",
             {"resize/ResizeBilinear:ResizeBilinear", "resize_1/ResizeBilinear:ResizeBilinear"});
       },
       "there are two images",
       [](CaseBuilder& b) { StageOf(b, "Map").settings["shapes"] = "[64,64,3] [64,64,1]"; }},
      {"decode-scaled", "pictures are decoded and made small",
       [](CaseBuilder& b) {
         OneMap(b, {});
         AddCall(b, "Map", {"DecodeJpeg:DecodeJpeg", "resize/ResizeBilinear:ResizeBilinear"});
         b.UseOf("Map").busy_ns = 2'000;
         b.UseOf("Decode").busy_ns = 0;
         b.attribution.window.start_ns = 0;
       },
       "their format has one size",
       [](CaseBuilder& b) {
         b.run.tracks.resize(b.run.tracks.size() - 2);
         AddCall(b, "Map", {"DecodePng:DecodePng", "resize/ResizeBilinear:ResizeBilinear"});
       }},
      {"decode-crop", "a crop of a decoded picture",
       [](CaseBuilder& b) {
         OneMap(b, {});
         StageOf(b, "Map").kind = "MapAndBatch";
         AddCall(b, "Map", {"DecodeJpeg:DecodeJpeg", "random_crop:Slice"});
       },
       "the picture is resized first",
       [](CaseBuilder& b) {
         b.run.tracks.resize(b.run.tracks.size() - 2);
         AddCall(b, "Map",
                 {"DecodeJpeg:DecodeJpeg", "resize/ResizeBilinear:ResizeBilinear",
                  "random_crop:Slice"});
       }},
      {"sharding", "a shard behind a map",
       [](CaseBuilder& b) {
         TakeTrace(b, {{"TFRecord", "TFRecord"},
                       {"Map", "ParallelMapV2"},
                       {"Shard", "Shard", {{"num_shards", "4"}}},
                       {"BatchV2", "BatchV2"}});
         b.Stall("Map", Cause::kUnknown, 0.4);
       },
       "it keeps all", [](CaseBuilder& b) { StageOf(b, "Shard").settings["num_shards"] = "1"; }},
      {"drop-remainder", "partial batches, and compilations",
       [](CaseBuilder& b) {
         OneMap(b, {});
         StageOf(b, "BatchV2").settings = {{"drop_remainder", "false"}, {"batch_size", "32"}};
         Compile(b, 3, 0.1 * CaseBuilder::kSteps * CaseBuilder::kStepNs);
       },
       "the partial batch is dropped",
       [](CaseBuilder& b) { StageOf(b, "BatchV2").settings["drop_remainder"] = "true"; }},
      {"narrow-dtype", "what was bytes is copied as floats",
       [](CaseBuilder& b) {
         OneMap(b, {{"types", "float"}});
         StageOf(b, "BatchV2").settings = {{"types", "float"}};
         b.Spend(attribution::Category::kTransfer, 0.5, findings::Bound::kTransfer);
         b.CopyBatches(trace::CopyMemory::kPinned, 1'000'000);
       },
       "it was never bytes",
       [](CaseBuilder& b) { StageOf(b, "Decode").settings["types"] = "float"; }},
      {"autotune", "two iterators that are both too slow",
       [](CaseBuilder& b) {
         OneMap(b, {});
         b.Stall("Decode", Cause::kUnknown, 0.3);
       },
       "TensorFlow's tuner chooses for one of them",
       [](CaseBuilder& b) { StageOf(b, "Decode").tuned = true; }},
      {"loss-scale", "the scale is updated, but the optimizer is not called each time",
       [](CaseBuilder& b) {
         b.run.info.imported_from = "kineto";
         b.with_spec = false;
         const char* const update = "aten::_amp_update_scale_";
         const char* const step = "Optimizer.step#SGD.step";
         AddCall(b, "decode", {update, step, update, update, update, step});
       },
       "it is called each time",
       [](CaseBuilder& b) {
         const char* const step = "Optimizer.step#SGD.step";
         AddCall(b, "decode", {step, step});
       }},
      {"loss-scale",
       "the profiled steps of a job update the scale, but call the optimizer less often",
       [](CaseBuilder& b) {
         b.run.info.job.command = {"python", "train.py"};
         b.with_spec = false;
         const char* const update = "aten::_amp_update_scale_";
         AddCall(b, "decode", {update, "Optimizer.step#SGD.step", update, update, update});
       },
       "it is called each time",
       [](CaseBuilder& b) {
         const char* const step = "Optimizer.step#SGD.step";
         AddCall(b, "decode", {step, step, step});
       }},
      {"block-length", "an interleave whose blocks are as long as batches",
       [](CaseBuilder& b) {
         TakeTrace(b, {{"Interleave",
                        "ParallelInterleaveV4",
                        {{"block_length", "64"}, {"cycle_length", "4"}}},
                       {"Map", "ParallelMapV2"},
                       {"BatchV2", "BatchV2", {{"batch_size", "32"}}}});
       },
       "they are shorter",
       [](CaseBuilder& b) { StageOf(b, "Interleave").settings["block_length"] = "4"; }},
  };
}

}  // namespace stallscope::test
