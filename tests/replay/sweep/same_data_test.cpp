// Which changes must not change the data: each rule with one that must not and one that may.
#include "replay/sweep/same_data.h"

#include <doctest/doctest.h>

#include "analyzer/spec/knobs.h"
#include "tests/replay/sweep/sweeps.h"

using namespace stallscope;
using replay::DataKey;

namespace {

Spec Base() {
  return test::SpecFrom(R"~({"stages": [
    {"name": "read", "source": {"format": "tfrecord", "files": ["x"], "cycle_length": 2}},
    {"name": "decode", "map": {"ops": ["decode_jpeg", "resize(8)"]}},
    {"name": "crop", "map": {"ops": ["random_resized_crop(4)"]}},
    {"name": "batch", "batch": {"size": 4}}, {"name": "ready", "prefetch": {"buffer_size": 2}}],
    "trainer": {"device": "emulated", "steps": 40}})~");
}

bool Same(const std::vector<std::string>& settings) {
  const auto changed = ApplySettings(Base(), settings);
  REQUIRE(changed.ok());
  return DataKey(changed.value(), 40) == DataKey(Base(), 40);
}

bool SameWith(const Patch& patch) {
  const auto changed = Apply(Base(), patch);
  REQUIRE(changed.ok());
  return DataKey(changed.value(), 40) == DataKey(Base(), 40);
}

Patch CacheAfter(const char* stage) {
  return Patch{{InsertChange{{"cache", CacheSpec{}}, Place::After(stage)}}};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("knobs of speed keep the data") {
    CHECK(Same({"decode.parallelism=8"}));
    CHECK(Same({"read.parallelism=4", "read.throttle_bytes_per_s=1000"}));
    CHECK(Same({"ready.buffer_size=9", "batch.parallelism=2"}));
    CHECK(Same({"transfer.pinned=true", "transfer.overlap=true"}));
    CHECK(Same({"trainer.graph=captured", "trainer.fuse=true", "rewrites.map_fusion=true"}));
  }

  TEST_CASE("settings that may change a batch do not keep the data") {
    CHECK_FALSE(Same({"batch.size=8"}));
    CHECK_FALSE(Same({"transfer.dtype=uint8"}));
    CHECK_FALSE(Same({"seed=9"}));
    CHECK_FALSE(Same({"read.cycle_length=1"}));
    CHECK_FALSE(Same({R"~(decode.ops=["decode_jpeg","resize(9)"])~"}));
  }

  TEST_CASE("a cache keeps the data before a random op, and freezes its draws behind one") {
    CHECK(SameWith(CacheAfter("decode")));
    CHECK_FALSE(SameWith(CacheAfter("crop")));
  }

  TEST_CASE("without order only whole passes can be compared") {
    Spec unordered = Base();
    std::get<MapSpec>(unordered.stages[1].kind).deterministic = false;
    CHECK_FALSE(DataKey(unordered, 40).has_value());
    CHECK(DataKey(unordered, 39).has_value());  // the data ended
    unordered.trainer.steps = 0;
    CHECK(DataKey(unordered, 40).has_value());
  }

  TEST_CASE("a differing digest marks the later point, only where it must not differ") {
    replay::Sweep sweep = test::PlannedGrid(replay::SweepMode::kRerun, 1);
    for (replay::Point& point : sweep.points) {
      point.runs = {{{1, 1, 1}, 40, 0, "here"}};
      point.digest = "same";
    }
    replay::CheckDigests(test::SweepSpec(), sweep);
    for (const replay::Point& point : sweep.points) CHECK(point.error.empty());
    sweep.points[2].digest = "other";
    replay::CheckDigests(test::SweepSpec(), sweep);
    CHECK(sweep.points[0].error.empty());
    CHECK(sweep.points[2].error.find("decode.parallelism=1") != std::string::npos);
    sweep.points[2].error.clear();
    sweep.points[2].set.push_back({"batch.size", "8"});
    replay::CheckDigests(test::SweepSpec(), sweep);
    CHECK(sweep.points[2].error.empty());
  }
}
