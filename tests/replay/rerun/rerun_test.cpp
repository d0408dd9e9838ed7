#include "replay/rerun/rerun.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "analyzer/spec/spec_json.h"
#include "replay/rerun/stores.h"
#include "tests/support/paths.h"

using namespace stallscope;

namespace {

Spec Small() {
  auto spec = ReadSpec(R"~({"name": "small", "seed": 3, "stages": [
    {"name": "read", "source": {"format": "synthetic", "elements": 1000, "bytes": 96}},
    {"name": "work", "map": {"ops": ["busy(20)"], "parallelism": 2}},
    {"name": "batch", "batch": {"size": 4, "drop_remainder": true}}],
    "trainer": {"device": "emulated", "steps": 30, "emulated": {"compute_us_per_batch": 100}}})~",
                       "small");
  REQUIRE(spec.ok());
  return std::move(spec).value();
}

bool IsEmpty(const std::string& folder) { return std::filesystem::is_empty(folder); }

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a run gives throughput and digest, here and in a process of its own, and goes") {
    test::ScratchDir dir;
    replay::RerunOptions options;
    options.scratch = dir.path();
    options.digest = true;
    const auto here = replay::RunSpec(Small(), options);
    REQUIRE(here.ok());
    CHECK_FALSE(here.value().stopped);
    CHECK(here.value().run.rows.steps.size() == 30);
    CHECK(here.value().attribution.throughput.has_value());
    options.program = test::BuildDir() + "/bin/stallscope";
    options.cores = 1;
    const auto apart = replay::RunSpec(Small(), options);
    REQUIRE(apart.ok());
    CHECK(apart.value().run.info.digest == here.value().run.info.digest);
    CHECK(apart.value().run.info.host.cores_allowed == 1);
    CHECK(IsEmpty(dir.path()));
  }

  TEST_CASE("a run that is stopped says so, and one that fails gives its error") {
    test::ScratchDir dir;
    replay::RerunOptions options;
    options.scratch = dir.path();
    Spec endless = Small();
    endless.trainer.steps = 0;
    endless.stages.insert(endless.stages.begin() + 1, StageSpec{"again", RepeatSpec{}});
    options.stop_requested = [] { return true; };
    const auto stopped = replay::RunSpec(endless, options);
    REQUIRE(stopped.ok());
    CHECK(stopped.value().stopped);
    Spec bad = Small();
    std::get<MapSpec>(bad.stages[1].kind).ops = {"one_hot(3)"};
    options.stop_requested = nullptr;
    const auto failed = replay::RunSpec(bad, options);
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().kind == ErrorKind::kRun);
    CHECK(IsEmpty(dir.path()));
  }

  TEST_CASE("what a run stores goes to the scratch folder, unless it is there already") {
    test::ScratchDir dir;
    Spec spec = Small();
    spec.stages.insert(spec.stages.begin() + 2, StageSpec{"kept", SnapshotSpec{dir / "absent"}});
    spec.stages.insert(spec.stages.begin() + 3,
                       StageSpec{"again", CacheSpec{CacheWhere::kDisk, dir.path(), 0}});
    spec.stages.insert(spec.stages.begin() + 4,
                       StageSpec{"memory", CacheSpec{CacheWhere::kMemory, dir / "absent", 0}});
    const Spec moved = replay::WithStoresIn(spec, "/scratch");
    CHECK(std::get<SnapshotSpec>(moved.stages[2].kind).path == "/scratch/store-kept");
    CHECK(std::get<CacheSpec>(moved.stages[3].kind).path == dir.path());
    CHECK(std::get<CacheSpec>(moved.stages[4].kind).path == dir / "absent");
  }

  TEST_CASE("files are read or forgotten before a run, a missing one is an error") {
    test::ScratchDir dir;
    std::ofstream(dir / "a") << "some bytes";
    for (const auto want :
         {replay::PageCache::kAsItIs, replay::PageCache::kWarm, replay::PageCache::kCold}) {
      CHECK(replay::PreparePageCache({dir / "a"}, want).ok());
    }
    CHECK_FALSE(replay::PreparePageCache({dir / "none"}, replay::PageCache::kWarm).ok());
    CHECK_FALSE(replay::PreparePageCache({dir / "none"}, replay::PageCache::kCold).ok());
    CHECK(replay::PreparePageCache({dir / "none"}, replay::PageCache::kAsItIs).ok());
  }
}
