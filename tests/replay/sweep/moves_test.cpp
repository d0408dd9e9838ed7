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
    CHECK_FALSE(same("trainer.accumulate=4"));
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

  TEST_CASE("what a job's settings change besides speed is known, as far as they tell") {
    const Spec spec = test::JobSpecOfTest();
    const auto with = [&](const std::string& setting, bool iterable = false) {
      Spec from = spec;
      std::get<LoaderSpec>(from.stages[0].kind).iterable = iterable;
      const auto to = ApplySettings(from, {setting});
      REQUIRE(to.ok());
      return std::pair(LearnsTheSame(from, to.value()), replay::SideEffect(from, to.value()));
    };
    CHECK(with("loader.prefetch_factor=4") == std::pair(true, std::string()));
    CHECK(with("job.threads=1") == std::pair(true, std::string()));
    CHECK(with("loader.num_workers=4").first);
    CHECK(with("loader.num_workers=4").second.starts_with("random augmentation, if there is any"));
    CHECK_FALSE(with("loader.batch_size=8").first);
    CHECK(with("loader.batch_size=8").second.find("batch size") != std::string::npos);
    CHECK_FALSE(with("loader.num_workers=4", true).first);
    CHECK(with("loader.num_workers=4", true).second.find("iterable") != std::string::npos);
    CHECK(with("loader.prefetch_factor=4", true).first);
  }

  TEST_CASE("a tuner changes a job's workers, how far they work ahead, and threads") {
    const auto paths_of = [](const Spec& spec) {
      std::string paths;
      for (const auto& knob : replay::TunedKnobs(spec, 2)) paths += knob.path + " ";
      return paths;
    };
    Spec spec = test::JobSpecOfTest();
    CHECK(paths_of(spec) ==
          "loader.num_workers loader.prefetch_factor loader.persistent_workers job.threads ");
    auto& loader = std::get<LoaderSpec>(spec.stages[0].kind);
    loader.num_workers = 0;
    CHECK(paths_of(spec) == "loader.num_workers job.threads ");
    // Whose code sets its threads.
    REQUIRE(replay::TunedKnobs(spec, 2, false).size() == 1);
    CHECK(replay::TunedKnobs(spec, 2, false)[0].path == "loader.num_workers");
    loader.num_workers = 2;
    loader.iterable = true;
    CHECK(paths_of(spec).find("num_workers") == std::string::npos);
    for (const Patch& move : MovesFrom(test::JobSpecOfTest(), 2)) {
      const auto moved = Apply(test::JobSpecOfTest(), move);
      REQUIRE(moved.ok());
      CHECK(LearnsTheSame(test::JobSpecOfTest(), moved.value()));
    }
  }

  TEST_CASE("a tuner changes what a loader of another library can be given") {
    Spec spec = test::JobSpecOfTest();
    auto& loader = std::get<LoaderSpec>(spec.stages[0].kind);
    loader = {.knobs = {"num_parallel_calls", "prefetch", "threads"}};
    std::string paths;
    for (const auto& knob : replay::TunedKnobs(spec, 2)) paths += knob.path + " ";
    CHECK(paths == "loader.num_parallel_calls loader.prefetch loader.threads job.threads ");
    // From what the library chose itself to each number.
    CHECK(MovesFrom(spec, 2).size() > 8);
    for (const Patch& move : MovesFrom(spec, 2)) CHECK(Apply(spec, move).ok());
    // grain's processes, each with batches of its own.
    loader = {.num_workers = 2, .knobs = {"num_workers"}};
    CHECK(replay::TunedKnobs(spec, 2)[0].path == "loader.num_workers");
    const auto processes = ApplySettings(spec, {"loader.num_workers=4"});
    REQUIRE(processes.ok());
    CHECK(LearnsTheSame(spec, processes.value()));
    CHECK(replay::SideEffect(spec, processes.value()).find("other elements") != std::string::npos);
    CHECK_FALSE(ApplySettings(spec, {"loader.prefetch_factor=4"}).ok());
    // Shards, to as many as there are workers, or more.
    loader = {.num_workers = 12, .iterable = true, .num_shards = 2};
    loader.knobs = {"num_workers", "num_shards"};
    const auto knobs = replay::TunedKnobs(spec, 2);
    REQUIRE_FALSE(knobs.empty());
    CHECK(knobs[0].path == "loader.num_shards");
    CHECK(knobs[0].values == std::vector<std::string>{"12"});
    const auto more = ApplySettings(spec, {"loader.num_shards=12"});
    REQUIRE(more.ok());
    CHECK(LearnsTheSame(spec, more.value()));
    CHECK(replay::SideEffect(spec, more.value()).find("other elements") != std::string::npos);
  }

  TEST_CASE("the next value of a knob") {
    const replay::TunedKnob workers{"loader.num_workers", {"0", "1", "2", "4", "8"}};
    CHECK(NextValue(workers, "2", true) == "4");
    CHECK(NextValue(workers, "2", false) == "1");
    CHECK(NextValue(workers, "3", true) == "4");
    CHECK(NextValue(workers, "3", false) == "2");
    CHECK(NextValue(workers, "16", false) == "8");
    CHECK_FALSE(NextValue(workers, "8", true).has_value());
    CHECK_FALSE(NextValue(workers, "16", true).has_value());
    CHECK_FALSE(NextValue(workers, "0", false).has_value());
    const replay::TunedKnob flag{"loader.persistent_workers", {"false", "true"}};
    CHECK(NextValue(flag, "false", true) == "true");
    CHECK_FALSE(NextValue(flag, "true", true).has_value());
  }
}
