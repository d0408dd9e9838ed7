#include "replay/rerun/rerun.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/spec/spec_json.h"
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
  TEST_CASE("a run gives throughput and digest, in this process and in its own") {
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

  TEST_CASE("a stopped run is marked, a failing one gives its error") {
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

  TEST_CASE("a run's stores go to the scratch folder, in this process and in its own") {
    for (const bool apart : {false, true}) {
      test::ScratchDir dir;
      test::ScratchDir scratch;
      Spec spec = Small();
      std::get<SourceSpec>(spec.stages[0].kind).elements = 20;
      const std::vector<StageSpec> more = {
          {"kept", SnapshotSpec{dir / "absent"}},
          {"again", CacheSpec{CacheWhere::kDisk, dir / "thesis.txt", 0}},
          {"repeat", RepeatSpec{}}};
      spec.stages.insert(spec.stages.begin() + 2, more.begin(), more.end());
      std::ofstream(dir / "thesis.txt") << "years of work";
      replay::RerunOptions options;
      options.scratch = scratch.path();
      if (apart) options.program = test::BuildDir() + "/bin/stallscope";
      for (int repeat = 0; repeat < 2; ++repeat) {
        const auto run = replay::RunSpec(spec, options);
        REQUIRE(run.ok());
        CHECK(run.value().run.rows.steps.size() == 30);
        CHECK(run.value().run.info.spec_json.find("absent") != std::string::npos);
        CHECK(std::distance(std::filesystem::directory_iterator(scratch.path()), {}) == 2);
      }
      CHECK_FALSE(std::filesystem::exists(dir / "absent"));
      CHECK(ReadWholeFile(dir / "thesis.txt", 100).value() == "years of work");
    }
  }

  TEST_CASE("files are read or evicted before a run, a missing one is an error") {
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
