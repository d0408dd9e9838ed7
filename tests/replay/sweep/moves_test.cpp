#include "replay/sweep/moves.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/validate.h"
#include "tests/replay/sweep/sweeps.h"

using namespace stallscope;
using replay::DistanceOf;
using replay::LearnsTheSame;
using replay::MovesFrom;

TEST_SUITE("fast") {
  TEST_CASE("every move gives a valid spec that learns the same, and none repeats") {
    const Spec spec = test::SweepSpec();
    std::vector<Spec> seen{spec};
    for (const Patch& move : MovesFrom(spec, 2)) {
      const auto moved = Apply(spec, move);
      REQUIRE(moved.ok());
      CHECK(Validate(moved.value()).ok());
      CHECK(LearnsTheSame(spec, moved.value()));
      CHECK(std::find(seen.begin(), seen.end(), moved.value()) == seen.end());
      seen.push_back(moved.value());
    }
    CHECK(seen.size() > 20);
  }

  TEST_CASE("a prefetch is offered where there is none, and not behind a map of the device") {
    Spec spec = test::SweepSpec();
    spec.stages.pop_back();
    const auto inserts = [](const Spec& from) {
      const auto moves = MovesFrom(from, 2);
      return std::any_of(moves.begin(), moves.end(), [](const Patch& move) {
        return std::holds_alternative<InsertChange>(move.changes.front());
      });
    };
    CHECK(inserts(spec));
    CHECK_FALSE(inserts(test::SweepSpec()));
    spec.stages.push_back({"late", MapSpec{{"normalize"}, {}, true, MapOn::kDevice}});
    CHECK_FALSE(inserts(spec));
  }

  TEST_CASE("an automatic knob stays automatic") {
    Spec spec = test::SweepSpec();
    REQUIRE(SetKnob(spec, "decode.parallelism", "auto").ok());
    for (const replay::TunedKnob& knob : replay::TunedKnobs(spec, 2)) {
      CHECK(knob.path != "decode.parallelism");
    }
  }

  TEST_CASE("a generous spec has the largest of everything, and is far away") {
    const Spec generous = replay::Generous(test::SweepSpec(), 2);
    CHECK(Validate(generous).ok());
    CHECK(test::DecodeWorkers(generous) == 8);
    const auto distance = [](const Spec& to) { return DistanceOf(test::SweepSpec(), to, 2); };
    CHECK(distance(test::SweepSpec()) == 0);
    for (const Patch& move : MovesFrom(test::SweepSpec(), 2)) {
      const auto near = Apply(test::SweepSpec(), move);
      REQUIRE(near.ok());
      CHECK(distance(near.value()) > 0);
      CHECK(distance(near.value()) < distance(generous));
    }
    CHECK(LearnsTheSame(generous, test::SweepSpec()));
  }

  TEST_CASE("batch, types and precision change what is learned; order and workers do not") {
    const auto same = [](const char* setting) {
      const auto spec = ApplySettings(test::SweepSpec(), {setting});
      REQUIRE(spec.ok());
      return LearnsTheSame(test::SweepSpec(), spec.value());
    };
    CHECK(same("decode.parallelism=7"));
    CHECK(same("decode.deterministic=false"));
    CHECK(same("trainer.graph=captured"));
    CHECK_FALSE(same("batch.size=8"));
    CHECK_FALSE(same("transfer.dtype=uint8"));
    CHECK_FALSE(same("trainer.precision=bf16"));
    CHECK_FALSE(same("trainer.optimizer.momentum=0.9"));
  }

  TEST_CASE("a store of what never changes learns the same, one of random draws does not") {
    const Spec spec = test::SpecFrom(R"~({"name": "stores", "stages": [
      {"name": "read", "source": {"format": "tfrecord", "files": ["*.tfrecord"]}},
      {"name": "mix", "shuffle": {"buffer_size": 100}},
      {"name": "decode", "map": {"ops": ["decode_jpeg", "random_resized_crop(64)", "flip"]}},
      {"name": "again", "repeat": {"count": 0}},
      {"name": "batch", "batch": {"size": 4}}]})~");
    const auto same = [&](const std::string& patch) {
      const auto read = ReadPatch(patch, "patch");
      REQUIRE_MESSAGE(read.ok(), read.error().Line());
      const auto changed = Apply(spec, read.value());
      REQUIRE_MESSAGE(changed.ok(), changed.error().Line());
      return LearnsTheSame(spec, changed.value());
    };
    const std::string split = R"~([
      {"op": "set", "path": "decode.ops", "value": ["decode_jpeg"]},
      {"op": "insert", "after": "decode", "stage": {"name": "kept", STORE}},
      {"op": "insert", "after": "kept",
       "stage": {"name": "draw", "map": {"ops": ["random_resized_crop(64)", "flip"]}}})~";
    const auto with = [&](const std::string& store) {
      std::string text = split;
      return text.replace(text.find("STORE"), 5, store);
    };
    const std::string moved = R"~(, {"op": "move", "stage": "mix", "after": "kept"}])~";
    CHECK(same(with(R"~("cache": {})~") + moved));
    CHECK(same(with(R"~("snapshot": {"path": "kept"})~") + moved));
    // The same ops on the device.
    CHECK(same(R"~([{"op": "set", "path": "decode.ops",
                     "value": ["decode_jpeg", "random_resized_crop(64)"]},
                    {"op": "insert", "after": "decode", "stage": {"name": "late",
                     "map": {"ops": ["flip"], "on": "device"}}},
                    {"op": "move", "stage": "again", "before": "decode"}])~"));
    // The first order would be every epoch's.
    CHECK_FALSE(same(with(R"~("cache": {})~") + "]"));
    CHECK_FALSE(same(R"~([{"op": "insert", "after": "decode", "stage": {"name": "kept",
                          "snapshot": {"path": "kept"}}}])~"));
  }
}
