#include "tests/analyzer/spec/specs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"

namespace stallscope::test {
namespace {

uint64_t Draw(std::mt19937_64& random, uint64_t below) { return random() % below; }

std::string RandomNumber(std::mt19937_64& random, const KnobInfo& knob) {
  const double span = knob.range->max - knob.range->min;
  const double unit = static_cast<double>(random() >> 11) / 9007199254740992.0;
  // Small values matter most, and the ends.
  const uint64_t which = Draw(random, 6);
  double value = knob.range->min + span * std::pow(unit, 20);
  if (which == 0) value = knob.range->min;
  if (which == 1) value = knob.range->max;
  if (knob.type == KnobType::kInteger) return std::to_string(static_cast<int64_t>(value));
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string RandomText(std::mt19937_64& random, const KnobInfo& knob) {
  static const char* const kTexts[] = {"plain", "with space",        "\"quoted\"", "back\\slash",
                                       "a.b",   "\xC3\xA9t\xC3\xA9", "[1]",        "true"};
  // Ops of maps, below, are such as run on host and device.
  if (knob.path.ends_with(".op")) return Draw(random, 2) == 0 ? "busy(2.5)" : "keep_one_in(3)";
  std::string text = kTexts[Draw(random, std::size(kTexts))];
  if (text.starts_with('"')) text = R"("\"quoted\"")";
  return text;
}

std::string RandomValue(std::mt19937_64& random, const KnobInfo& knob) {
  if (knob.tunable && Draw(random, 3) == 0) return "auto";
  switch (knob.type) {
    case KnobType::kInteger:
    case KnobType::kNumber:
      return RandomNumber(random, knob);
    case KnobType::kBoolean:
      return Draw(random, 2) == 0 ? "true" : "false";
    case KnobType::kWord:
      return knob.words[Draw(random, knob.words.size())];
    case KnobType::kText:
      return RandomText(random, knob);
    case KnobType::kList:
      if (knob.path.ends_with(".files")) return R"(["a*.bin", "b/\"c\""])";
      return Draw(random, 2) == 0 ? R"x(["flip", "resize( 64 )"])x" : R"x(["cast(uint8)"])x";
    case KnobType::kTable:
      return R"({"image": "i/encoded", "": "x", "a.b": ""})";
  }
  return "";
}

// Puts right what single settings can make wrong between them.
void Repair(Spec& spec) {
  auto& source = std::get<SourceSpec>(spec.stages[0].kind);
  if (source.format == SourceFormat::kSynthetic) {
    source.files.clear();
  } else if (source.format != SourceFormat::kSerial) {
    const SourceSpec fresh;
    source.elements = fresh.elements;
    source.bytes = fresh.bytes;
    source.sleep_us = fresh.sleep_us;
    source.busy_us = fresh.busy_us;
    if (source.files.empty()) source.files = {"x"};
  }
  source.join = SourceJoin::kConcatenate;
  for (StageSpec& stage : spec.stages) {
    if (auto* shard = std::get_if<ShardSpec>(&stage.kind)) {
      shard->index = std::min(shard->index, shard->count - 1);
    }
    if (auto* map = std::get_if<MapSpec>(&stage.kind)) map->input.clear();
  }
  auto& trainer = spec.trainer;
  if (trainer.strategy.kind == StrategyKind::kSingle) trainer.strategy.replicas = 1;
  if (trainer.emulated.preset != EmulatedPreset::kNone) {
    const EmulatedPreset preset = trainer.emulated.preset;
    trainer.emulated = {};
    trainer.emulated.preset = preset;
  }
}

// Buckets have a place; what else stands where does not matter.
void PutBucketBeforeBatch(std::vector<StageSpec>& stages) {
  const auto is_bucket = [](const StageSpec& stage) {
    return std::holds_alternative<BucketByLengthSpec>(stage.kind);
  };
  if (std::erase_if(stages, is_bucket) == 0) return;
  const auto batch = std::find_if(stages.begin(), stages.end(), [](const StageSpec& stage) {
    return std::holds_alternative<BatchSpec>(stage.kind);
  });
  stages.insert(batch, {"bucket_by_length", BucketByLengthSpec{}});
}

}  // namespace

const char* const kExample = R"json({ "name": "images", "seed": 7,
  "stages": [
    {"name": "read",    "source": {"format": "tfrecord", "files": ["data/*.tfrecord"], "cycle_length": 4, "block_length": 16, "parallelism": 2}},
    {"name": "shuffle", "shuffle": {"buffer_size": 1024}},
    {"name": "decode",  "map": {"ops": ["decode_jpeg"], "parallelism": 2, "deterministic": true}},
    {"name": "cache",   "cache": {"where": "memory", "max_bytes": 1000000000}},
    {"name": "augment", "map": {"ops": ["random_resized_crop(224)", "flip"], "parallelism": "auto"
}
},
    {"name": "batch",   "batch": {"size": 32, "drop_remainder": true}},
    {"name": "prefetch","prefetch": {"buffer_size": 2}} ],
  "transfer": {"pinned": true, "overlap": true, "dtype": "uint8"},
  "trainer":  {
  "device" : "host",
             "model" : {"kind" : "mixer", "width" : 128, "depth" : 2},
                       "precision" : "fp32",
                                     "steps" : 200,
                                     "graph" : "captured",
                                               "fuse" : true,
                                                        "strategy" : {
    "kind" : "single"
  }
}
}
)json";

Spec ExampleSpec() {
  auto read = ReadSpec(kExample, "example.json");
  REQUIRE_MESSAGE(read.ok(), read.error().Line());
  return read.value();
}

std::string WithStages(const std::string& stages) {
  return R"({"stages": [{"name": "s", "source": {"format": "synthetic"}}, )" + stages + "]}";
}

Spec OneOfEach() {
  Spec spec;
  spec.stages = {{"source", SourceSpec{}},     {"shard", ShardSpec{}},
                 {"repeat", RepeatSpec{}},     {"filter", FilterSpec{}},
                 {"shuffle", ShuffleSpec{}},   {"prefetch", PrefetchSpec{}},
                 {"map", MapSpec{}},           {"cache", CacheSpec{}},
                 {"snapshot", SnapshotSpec{}}, {"bucket_by_length", BucketByLengthSpec{}},
                 {"batch", BatchSpec{}}};
  return spec;
}

Spec RandomSpec(std::mt19937_64& random) {
  Spec spec = OneOfEach();
  std::vector<StageSpec> others(spec.stages.begin() + 1, spec.stages.end());
  for (int copy = 0; copy < 2; ++copy) {
    others.push_back({"map" + std::to_string(copy), MapSpec{}});
    others.push_back({"prefetch-" + std::to_string(copy), PrefetchSpec{}});
  }
  std::shuffle(others.begin(), others.end(), random);
  others.resize(Draw(random, others.size() + 1));
  PutBucketBeforeBatch(others);
  spec.stages.resize(1);
  if (Draw(random, 4) == 0) spec.stages[0].name = "other";
  spec.stages.insert(spec.stages.end(), others.begin(), others.end());
  for (const KnobInfo& knob : ListKnobs(spec)) {
    if (!knob.required && Draw(random, 2) == 0) continue;
    const Status set = SetKnob(spec, knob.path, RandomValue(random, knob));
    REQUIRE_MESSAGE(set.ok(), set.error().Line());
  }
  Repair(spec);
  return spec;
}

std::string WhyNot(const std::string& text) {
  const auto read = ReadSpec(text, "s.json");
  if (read.ok()) return "read";
  CHECK(read.error().kind == ErrorKind::kUsage);
  CHECK_FALSE(read.error().what.empty());
  CHECK_FALSE(read.error().where.empty());
  CHECK_FALSE(read.error().hint.empty());
  CHECK(read.error().Line().size() < 600);
  return read.error().Line();
}

}  // namespace stallscope::test
