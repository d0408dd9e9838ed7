#include "analyzer/spec/knobs.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "analyzer/spec/spec_json.h"
#include "tests/analyzer/spec/specs.h"

using stallscope::ApplySettings;
using stallscope::GetKnob;
using stallscope::Knob;
using stallscope::KnobInfo;
using stallscope::KnobType;
using stallscope::ListKnobs;
using stallscope::MapSpec;
using stallscope::SetKnob;
using stallscope::Spec;
using stallscope::test::ExampleSpec;
using stallscope::test::OneOfEach;
using stallscope::test::RandomSpec;

namespace {

std::map<std::string, KnobInfo> ByPath(const Spec& spec) {
  std::map<std::string, KnobInfo> knobs;
  for (const KnobInfo& knob : ListKnobs(spec)) knobs[knob.path] = knob;
  return knobs;
}

std::string WhyNotSet(Spec spec, const std::string& path, const std::string& text) {
  const auto set = SetKnob(spec, path, text);
  if (set.ok()) return "set";
  CHECK(set.error().kind == stallscope::ErrorKind::kUsage);
  CHECK_FALSE(set.error().hint.empty());
  return set.error().Line();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every setting explains itself") {
    for (const KnobInfo& knob : ListKnobs(OneOfEach())) {
      INFO(knob.path);
      CHECK_FALSE(knob.doc.empty());
      const bool number = knob.type == KnobType::kInteger || knob.type == KnobType::kNumber;
      CHECK(knob.range.has_value() == number);
      if (number) CHECK(knob.range->min < knob.range->max);
      CHECK(knob.words.empty() == (knob.type != KnobType::kWord));
      if (knob.tunable) CHECK(knob.type == KnobType::kInteger);
      CHECK(knob.value == knob.default_value);
    }
  }

  TEST_CASE("what may be auto is what tf.data tunes") {
    std::set<std::string> tunable;
    for (const KnobInfo& knob : ListKnobs(OneOfEach())) {
      if (knob.tunable) tunable.insert(knob.path);
    }
    CHECK(tunable == std::set<std::string>{"source.cycle_length", "source.parallelism",
                                           "map.parallelism", "batch.parallelism",
                                           "prefetch.buffer_size"});
  }

  TEST_CASE("the list has the paths of this spec's stages, with their values") {
    const auto knobs = ByPath(ExampleSpec());
    CHECK(knobs.at("decode.parallelism").value == "2");
    CHECK(knobs.at("decode.parallelism").default_value == "1");
    CHECK(knobs.at("augment.parallelism").value == "auto");
    CHECK(knobs.at("augment.ops").value == R"x(["random_resized_crop(224)","flip"])x");
    CHECK(knobs.at("batch.size").value == "32");
    CHECK(knobs.at("batch.size").required);
    CHECK(knobs.at("transfer.pinned").value == "true");
    CHECK(knobs.at("transfer.dtype").words ==
          std::vector<std::string>{"uint8", "float16", "float32"});
    CHECK(knobs.at("trainer.model.width").value == "128");
    CHECK(knobs.at("trainer.emulated.compute_us_per_batch").type == KnobType::kNumber);
    CHECK(knobs.at("trainer.emulated.h2d_gbps_pinned").value == "12");
    CHECK(knobs.at("trainer.optimizer.learning_rate").value == "0.01");
    CHECK(knobs.at("trainer.strategy.replicas").range->max == 64);
    CHECK(knobs.at("rewrites.map_fusion").value == "false");
    CHECK(knobs.at("budget.memory_bytes").value == "0");
    CHECK(knobs.at("seed").value == "7");
    CHECK(knobs.at("name").value == "images");
    CHECK_FALSE(knobs.contains("stages"));
    CHECK_FALSE(knobs.contains("trainer.model"));
    CHECK_FALSE(knobs.contains("decode.name"));
  }

  TEST_CASE("texts are set by the field's type") {
    Spec spec = ExampleSpec();
    CHECK(SetKnob(spec, "decode.parallelism", "4").ok());
    CHECK(std::get<MapSpec>(spec.stages[2].kind).parallelism == Knob{4});
    CHECK(SetKnob(spec, "decode.parallelism", "auto").ok());
    CHECK(std::get<MapSpec>(spec.stages[2].kind).parallelism == Knob::Auto());
    CHECK(SetKnob(spec, "decode.deterministic", "false").ok());
    CHECK_FALSE(std::get<MapSpec>(spec.stages[2].kind).deterministic);
    CHECK(SetKnob(spec, "decode.ops", R"x(["decode_png", "resize(8)"])x").ok());
    CHECK(std::get<MapSpec>(spec.stages[2].kind).ops.size() == 2);
    CHECK(SetKnob(spec, "trainer.precision", "bf16").ok());
    CHECK(spec.trainer.precision == stallscope::Precision::kBf16);
    CHECK(SetKnob(spec, "trainer.emulated.compute_us_per_batch", "1500.5").ok());
    CHECK(spec.trainer.emulated.compute_us_per_batch == 1500.5);
    CHECK(SetKnob(spec, "name", "two words").ok());
    CHECK(spec.name == "two words");
    CHECK(SetKnob(spec, "name", "4").ok());
    CHECK(spec.name == "4");
    CHECK(SetKnob(spec, "name", "").ok());
    CHECK(spec.name.empty());
    CHECK(SetKnob(spec, "read.features", R"({"image": "jpeg"})").ok());
    CHECK(GetKnob(spec, "read.features").value() == R"({"image":"jpeg"})");
    CHECK(SetKnob(spec, "read.features", "{}").ok());
    CHECK(GetKnob(spec, "read.features").value() == "{}");
  }

  TEST_CASE("a text that the field cannot take is refused and changes nothing") {
    const Spec spec = ExampleSpec();
    CHECK(WhyNotSet(spec, "decode.parallelism", "0") ==
          "decode.parallelism: parallelism is 0, which is out of range; give an integer from "
          "1 to 1024 or \"auto\"");
    CHECK(WhyNotSet(spec, "decode.parallelism", "many") ==
          "decode.parallelism: parallelism is 'many'; give an integer from 1 to 1024 or "
          "\"auto\"");
    for (const char* bad : {"", "1.5", "08", "4 4", "0x4", "[4]", "null", "\"4\""}) {
      CHECK(WhyNotSet(spec, "decode.parallelism", bad) != "set");
    }
    CHECK(WhyNotSet(spec, "batch.size", "auto") != "set");
    CHECK(WhyNotSet(spec, "transfer.pinned", "yes").find("give true or false") !=
          std::string::npos);
    CHECK(WhyNotSet(spec, "trainer.graph", "capture").find("the nearest is 'captured'") !=
          std::string::npos);
    CHECK(WhyNotSet(spec, "augment.ops", "flip").find("a list of strings") != std::string::npos);
    CHECK(WhyNotSet(spec, "augment.ops", "[]") != "set");
    CHECK(WhyNotSet(spec, "read.features", R"({"a": "b", "a": "c"})") != "set");
    CHECK(WhyNotSet(spec, "name", "\xff").find("not UTF-8") != std::string::npos);
    Spec same = spec;
    CHECK_FALSE(SetKnob(same, "decode.parallelism", "0").ok());
    CHECK(same == spec);
  }

  TEST_CASE("an unknown path names the nearest") {
    const Spec spec = ExampleSpec();
    CHECK(WhyNotSet(spec, "decode.paralelism", "4") ==
          "no setting has the path 'decode.paralelism'; the nearest path is "
          "'decode.parallelism'");
    CHECK(WhyNotSet(spec, "trainer.model.widht", "4").find("'trainer.model.width'") !=
          std::string::npos);
    CHECK(WhyNotSet(spec, "trainer.model", "4").find("'trainer.model' has fields of its own") !=
          std::string::npos);
    CHECK(WhyNotSet(spec, "shuffle", "4").find("has fields of its own") != std::string::npos);
    CHECK(WhyNotSet(spec, "seeds", "4").find("'seed'") != std::string::npos);
    CHECK(WhyNotSet(spec, "strategy.replicas", "4").find("'trainer.strategy.replicas'") !=
          std::string::npos);
    CHECK(WhyNotSet(spec, "", "4").find("no setting has the path ''") != std::string::npos);
    CHECK(WhyNotSet(spec, "decode.map.parallelism", "4") != "set");
    CHECK(WhyNotSet(spec, "stages", "[]") != "set");
    CHECK_FALSE(GetKnob(spec, "decode.size").ok());
  }

  TEST_CASE("a value that was read can be set again, and changes nothing") {
    std::mt19937_64 random(7);
    for (int draw = 0; draw < 20; ++draw) {
      const Spec spec = RandomSpec(random);
      for (const KnobInfo& knob : ListKnobs(spec)) {
        Spec same = spec;
        CHECK(GetKnob(spec, knob.path).value() == knob.value);
        const auto set = SetKnob(same, knob.path, knob.value);
        REQUIRE_MESSAGE(set.ok(), knob.path << '=' << knob.value << ' ' << set.error().Line());
        REQUIRE(same == spec);
      }
    }
  }

  TEST_CASE("settings are applied in order and checked together") {
    const Spec spec = ExampleSpec();
    const auto two =
        ApplySettings(spec, {"trainer.strategy.replicas=2", "trainer.strategy.kind=mirrored"});
    REQUIRE(two.ok());
    CHECK(two.value().trainer.strategy.replicas == 2);
    const auto one = ApplySettings(spec, {"trainer.strategy.replicas=2"});
    REQUIRE_FALSE(one.ok());
    CHECK(one.error().where == "the spec after --set, trainer.strategy.replicas");
    CHECK(ApplySettings(spec, {"name=a=b"}).value().name == "a=b");
    const auto no_value = ApplySettings(spec, {"batch.size"});
    REQUIRE_FALSE(no_value.ok());
    CHECK(no_value.error().hint.find("PATH=VALUE") != std::string::npos);
    CHECK_FALSE(ApplySettings(spec, {"decode.ops=[\"rotate\"]"}).ok());
  }
}
