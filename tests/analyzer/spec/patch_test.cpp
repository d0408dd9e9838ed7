#include "analyzer/spec/patch.h"

#include <doctest/doctest.h>

#include "analyzer/spec/knobs.h"
#include "tests/analyzer/spec/specs.h"

using stallscope::Apply;
using stallscope::CacheSpec;
using stallscope::Diff;
using stallscope::InsertChange;
using stallscope::JsonLayout;
using stallscope::Knob;
using stallscope::MoveChange;
using stallscope::Patch;
using stallscope::Place;
using stallscope::ReadPatch;
using stallscope::RemoveChange;
using stallscope::SetChange;
using stallscope::SetTo;
using stallscope::Spec;
using stallscope::WritePatch;
using stallscope::test::ExampleSpec;
using stallscope::test::RandomSpec;

namespace {

std::string WhyNotPatch(const std::string& text) {
  const auto patch = ReadPatch(text, "p.json");
  if (patch.ok()) return "read";
  CHECK(patch.error().kind == stallscope::ErrorKind::kUsage);
  CHECK_FALSE(patch.error().hint.empty());
  return patch.error().Line();
}

std::string WhyNotApplied(const Patch& patch) {
  const auto spec = Apply(ExampleSpec(), patch);
  if (spec.ok()) return "applied";
  CHECK(spec.error().kind == stallscope::ErrorKind::kUsage);
  CHECK_FALSE(spec.error().hint.empty());
  return spec.error().Line();
}

// "read shuffle decode ..."
std::string Names(const Spec& spec) {
  std::string names;
  for (const auto& stage : spec.stages) names += (names.empty() ? "" : " ") + stage.name;
  return names;
}

std::string Reordered(const Patch& patch) {
  const auto spec = Apply(ExampleSpec(), patch);
  REQUIRE_MESSAGE(spec.ok(), spec.error().Line());
  return Names(spec.value());
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a patch is read and applied") {
    const auto patch = ReadPatch(R"([
        {"op": "set", "path": "decode.parallelism", "value": 4},
        {"op": "insert", "after": "decode", "stage": {"name": "keep", "cache": {"where": "disk"}}},
        {"op": "remove", "stage": "cache"},
        {"op": "move", "stage": "shuffle", "after": "keep"}])",
                                 "p.json");
    REQUIRE_MESSAGE(patch.ok(), patch.error().Line());
    const auto spec = Apply(ExampleSpec(), patch.value());
    REQUIRE_MESSAGE(spec.ok(), spec.error().Line());
    CHECK(Names(spec.value()) == "read decode keep shuffle augment batch prefetch");
    CHECK(stallscope::GetKnob(spec.value(), "decode.parallelism").value() == "4");
    CHECK(stallscope::GetKnob(spec.value(), "keep.where").value() == "disk");
  }

  TEST_CASE("a place is after a stage, before one, or the start") {
    CHECK(Reordered({{MoveChange{"cache", Place::After("batch")}}}) ==
          "read shuffle decode augment batch cache prefetch");
    CHECK(Reordered({{MoveChange{"cache", Place::Before("decode")}}}) ==
          "read shuffle cache decode augment batch prefetch");
    CHECK(Reordered({{InsertChange{{"c", CacheSpec{}}, Place::After("prefetch")}}}) ==
          "read shuffle decode cache augment batch prefetch c");
    Patch source;
    source.changes = {
        RemoveChange{"read"},
        InsertChange{{"made", stallscope::SourceSpec{.format = stallscope::SourceFormat::kSerial}},
                     Place::Start()}};
    CHECK(Reordered(source) == "made shuffle decode cache augment batch prefetch");
    CHECK(Reordered({}) == "read shuffle decode cache augment batch prefetch");
  }

  TEST_CASE("a patch is written as it is read") {
    const std::string text =
        R"([{"op":"set","path":"decode.parallelism","value":"auto"},)"
        R"({"op":"set","path":"augment.ops","value":["flip"]},)"
        R"({"op":"insert","after":null,"stage":{"name":"r","repeat":{"count":2}}},)"
        R"({"op":"insert","before":"batch","stage":{"name":"c","cache":{}}},)"
        R"({"op":"remove","stage":"cache"},)"
        R"({"op":"move","stage":"shuffle","after":"read"}])";
    const auto patch = ReadPatch(text, "p");
    REQUIRE_MESSAGE(patch.ok(), patch.error().Line());
    CHECK(WritePatch(patch.value(), JsonLayout::kOneLine) == text);
    CHECK(ReadPatch(WritePatch(patch.value()), "p").value() == patch.value());
    CHECK(WritePatch({}, JsonLayout::kOneLine) == "[]");
  }

  TEST_CASE("values are put into JSON by their type") {
    CHECK(SetTo("a.b", 4) == SetChange{"a.b", "4"});
    CHECK(SetTo("a.b", int64_t{1} << 40) == SetChange{"a.b", "1099511627776"});
    CHECK(SetTo("a.b", 0.5) == SetChange{"a.b", "0.5"});
    CHECK(SetTo("a.b", true) == SetChange{"a.b", "true"});
    CHECK(SetTo("a.b", "captured") == SetChange{"a.b", "\"captured\""});
    CHECK(SetTo("a.b", Knob::Auto()) == SetChange{"a.b", "\"auto\""});
    CHECK(SetTo("a.b", Knob{3}) == SetChange{"a.b", "3"});
    CHECK(WhyNotApplied({{SetTo("decode.parallelism", Knob::Auto()), SetTo("batch.size", 64),
                          SetTo("trainer.graph", "eager"), SetTo("transfer.pinned", false),
                          SetTo("trainer.optimizer.momentum", 0.9)}}) == "applied");
  }

  TEST_CASE("a patch is read strictly") {
    CHECK(WhyNotPatch("{}").find("p.json:1:1: the change has no op") == 0);
    CHECK(WhyNotPatch("3").find("p.json:1:1: a patch is a number") == 0);
    CHECK(WhyNotPatch("[3]").find("p.json:1:2, [0]: a change is a number") == 0);
    CHECK(WhyNotPatch("[{}]").find("the change has no op; give one of 'insert'") !=
          std::string::npos);
    CHECK(WhyNotPatch(R"([{"op": "inset", "stage": "a"}])").find("the nearest is 'insert'") !=
          std::string::npos);
    CHECK(WhyNotPatch(R"([{"op": "remove", "stag": "a"}])") ==
          "p.json:1:19, [0]: unknown key 'stag' of remove; the nearest known key is 'stage'");
    CHECK(WhyNotPatch(R"([{"op": "remove", "stage": "a"}])") == "read");
    CHECK(WhyNotPatch(R"([{"op": "remove"}])").find("remove has no 'stage'") != std::string::npos);
    CHECK(WhyNotPatch(R"([{"op": "remove", "stage": "a", "after": "b"}])") != "read");
    CHECK(WhyNotPatch(R"([{"op": "remove", "stage": 3}])").find("stage is a number") !=
          std::string::npos);
    CHECK(WhyNotPatch(R"([{"op": "set", "path": "a.b"}])").find("set has no 'value'") !=
          std::string::npos);
    CHECK(WhyNotPatch(R"([{"op": "move", "stage": "a"}])").find("no place is given") !=
          std::string::npos);
    CHECK(WhyNotPatch(R"([{"op": "move", "stage": "a", "before": null}])") != "read");
    CHECK(WhyNotPatch(R"([{"op": "move", "stage": "a", "after": null}])") == "read");
    CHECK(WhyNotPatch(R"([{"op": "move", "stage": "a", "after": "b", "before": "c"}])")
              .find("two places are given") != std::string::npos);
    CHECK(WhyNotPatch(R"([{"op": "insert", "after": "a", "stage": {"name": "c", "cash": {}}}])")
              .find("[0].stage: unknown key 'cash'; the nearest known key is 'cache'") !=
          std::string::npos);
    CHECK(WhyNotPatch(R"([{"op": "remove", "stage": "a", "stage": "a"}])").find("twice") !=
          std::string::npos);
    CHECK(WhyNotPatch("[] x").find("not JSON") != std::string::npos);
  }

  TEST_CASE("a change that cannot be made says which, and names the nearest") {
    CHECK(WhyNotApplied({{SetTo("batch.size", 8), SetTo("decode.paralelism", 4)}}) ==
          "patch[1], set decode.paralelism: no setting has the path 'decode.paralelism'; the "
          "nearest path is 'decode.parallelism'");
    CHECK(WhyNotApplied({{SetTo("decode.parallelism", 0)}})
              .find("patch[0], set decode.parallelism: parallelism is 0, which is out of range") ==
          0);
    CHECK(WhyNotApplied({{SetChange{"batch.size", "not json"}}}) != "applied");
    CHECK(WhyNotApplied({{RemoveChange{"cash"}}}) ==
          "patch[0], remove cash: no stage is called 'cash'; the nearest is 'cache'");
    CHECK(WhyNotApplied({{RemoveChange{"cache"}, RemoveChange{"cache"}}}).find("patch[1]") == 0);
    CHECK(WhyNotApplied({{MoveChange{"cache", Place::After("decoed")}}})
              .find("no stage is called 'decoed'; the nearest is 'decode'") != std::string::npos);
    CHECK(WhyNotApplied({{MoveChange{"cache", Place::After("cache")}}})
              .find("cannot be placed next to itself") != std::string::npos);
    CHECK(WhyNotApplied({{InsertChange{{"cache", CacheSpec{}}, Place::After("read")}}})
              .find("a stage is already called 'cache'") != std::string::npos);
    CHECK(WhyNotApplied({{InsertChange{{"c", CacheSpec{}}, Place::After("red")}}})
              .find("the nearest is 'read'") != std::string::npos);
  }

  TEST_CASE("only the outcome must be valid") {
    CHECK(WhyNotApplied({{MoveChange{"shuffle", Place::Start()}}}) ==
          "the patched spec, stages[0]: the first stage is a shuffle; begin with a source");
    CHECK(WhyNotApplied({{MoveChange{"shuffle", Place::Start()},
                          MoveChange{"read", Place::Start()}}}) == "applied");
    CHECK(WhyNotApplied({{SetTo("trainer.strategy.replicas", 2)}}) != "applied");
    CHECK(WhyNotApplied({{SetTo("trainer.strategy.replicas", 2),
                          SetTo("trainer.strategy.kind", "mirrored")}}) == "applied");
  }

  TEST_CASE("a difference reads as a person would write it") {
    const Spec from = ExampleSpec();
    CHECK(Diff(from, from).changes.empty());
    Spec to = from;
    REQUIRE(stallscope::SetKnob(to, "decode.parallelism", "auto").ok());
    REQUIRE(stallscope::SetKnob(to, "transfer.pinned", "false").ok());
    CHECK(WritePatch(Diff(from, to), JsonLayout::kOneLine) ==
          R"([{"op":"set","path":"decode.parallelism","value":"auto"},)"
          R"({"op":"set","path":"transfer.pinned","value":false}])");
    const Patch structure{
        {RemoveChange{"cache"}, MoveChange{"shuffle", Place::After("batch")},
         InsertChange{{"again", stallscope::RepeatSpec{}}, Place::After("read")}}};
    const auto changed = Apply(from, structure);
    REQUIRE(changed.ok());
    CHECK(WritePatch(Diff(from, changed.value()), JsonLayout::kOneLine) ==
          R"([{"op":"remove","stage":"cache"},)"
          R"({"op":"insert","after":"read","stage":{"name":"again","repeat":{}}},)"
          R"({"op":"move","stage":"shuffle","after":"batch"}])");
  }

  TEST_CASE("the difference of two specs turns one into the other") {
    std::mt19937_64 random(31);
    Spec from = ExampleSpec();
    for (int draw = 0; draw < 150; ++draw) {
      const Spec to = RandomSpec(random);
      const Patch patch = Diff(from, to);
      const auto applied = Apply(from, patch);
      REQUIRE_MESSAGE(applied.ok(), applied.error().Line() << '\n' << WritePatch(patch));
      REQUIRE(applied.value() == to);
      const auto again = ReadPatch(WritePatch(patch), "again");
      REQUIRE_MESSAGE(again.ok(), again.error().Line());
      REQUIRE(again.value() == patch);
      from = to;
    }
  }

  TEST_CASE("a stage that keeps its name and changes its kind is another stage") {
    const Spec from = ExampleSpec();
    Spec to = from;
    to.stages[3].kind = stallscope::RepeatSpec{.count = 3};
    const auto applied = Apply(from, Diff(from, to));
    REQUIRE(applied.ok());
    CHECK(applied.value() == to);
  }
}
