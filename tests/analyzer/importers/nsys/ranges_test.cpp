#include "analyzer/importers/nsys/ranges.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/attribution/attribution.h"
#include "tests/analyzer/importers/nsys/made_database.h"

using namespace stallscope::importers::nsys;  // NOLINT(google-build-using-namespace)
using namespace stallscope;                   // NOLINT(google-build-using-namespace)
using importers::nsys::MarkedRanges;
using importers::nsys::MarkedThread;
using test::MadeDatabase;

namespace {

void Begin(MadeDatabase& database) {
  database.Run(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel'), (2, 'decode'), (3, 'read'), "
      "  (4, 'pthread_cond_wait');"
      "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 83886089, 1, 1);"
      "CREATE TABLE OSRT_API (start, end, globalTid, nameId);");
}

void AddRange(MadeDatabase& database, int start, int end, const std::string& text,
              const std::string& thread = test::kThread) {
  database.Run("INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(start) + ", " +
               std::to_string(end) + ", 59, '" + text + "', NULL, " + thread + ");");
}

StageId StageNamed(const model::Run& run, const std::string& name) {
  for (const auto& stage : run.stages) {
    if (stage.name == name) return stage.id;
  }
  return StageId::None();
}

// A trainer that fetches three batches, in the first of which it works for so many stages, and so
// many threads beside it that each work for the first of them.
MarkedRanges Made(uint32_t stages, size_t workers) {
  MarkedRanges marked;
  marked.keys = {"data loading"};
  MarkedThread& trainer = marked.threads.emplace_back();
  trainer.launches = true;
  for (int64_t i = 0; i < 3; ++i) {
    trainer.ranges.push_back({i * 1'000'000, i * 1'000'000 + 900'000, 0, {}});
  }
  for (uint32_t i = 1; i <= stages; ++i) {
    marked.keys.push_back("stage " + std::to_string(i));
    trainer.ranges.push_back({i, i + 1, i, {}});
  }
  marked.texts = marked.keys;
  for (size_t i = 0; i < workers; ++i) {
    marked.threads.emplace_back().ranges.push_back({5, 6, 1, {}});
  }
  return marked;
}

size_t TracksOf(uint32_t stages, size_t workers) {
  MarkedRanges marked = Made(stages, workers);
  importers::RunBuilder builder("a", "nsys");
  CHECK(importers::nsys::AddMarkedRanges(marked, builder).loader);
  return builder.run().tracks.size();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a range's text tells what it is") {
    CHECK(RangeKey("Train Step 12") == "train step");
    CHECK(RangeKey("iteration_3") == "iteration");
    CHECK(RangeKey("ProfilerStep#7") == "profilerstep");
    CHECK(RangeNumber("epoch 2 step 31") == 31);
    CHECK(!RangeNumber("step").has_value());
    CHECK(StepRank("profilerstep") > StepRank("train step"));
    CHECK(StepRank("train step") > StepRank("iteration"));
    CHECK(StepRank("optimizer step") == 0);
    CHECK(StepRank("stepping") == 0);
    CHECK(StepRank("forward") == 0);
    CHECK(IsLoader(RangeKey("enumerate(DataLoader)#_Multi.__next__")));
    CHECK(IsLoader(RangeKey("data_loading")));
    CHECK(!IsLoader(RangeKey("metadata")));
    CHECK(IsFrameworkOp("aten::copy_, op_id = 991065"));
    CHECK(!IsFrameworkOp("copy to device"));
  }

  TEST_CASE("ranges are steps, fetches and stages") {
    MadeDatabase database;
    Begin(database);
    for (int step = 0; step < 4; ++step) {
      const int at = 1'000 * (step + 1);
      AddRange(database, at, at + 900, "step " + std::to_string(10 + step));
      AddRange(database, at, at + 700, "data loading");
      AddRange(database, at + 700, at + 900, "optimizer step " + std::to_string(step));
      // A worker that launches nothing: by the name's number, and reading for a while.
      database.Run("INSERT INTO NVTX_EVENTS VALUES (" + std::to_string(at) + ", " +
                   std::to_string(at + 680) + ", 59, NULL, 2, 83886099);");
      database.Run("INSERT INTO OSRT_API VALUES (" + std::to_string(at + 100) + ", " +
                   std::to_string(at + 200) + ", 83886099, 3);");
    }
    const auto read = database.Read();
    REQUIRE(read.ok());
    const model::Run& run = read.value();
    REQUIRE(run.rows.steps.size() == 4);
    CHECK(run.rows.steps[0].index == 10);
    CHECK(run.rows.steps[1].requested_ns == 2'000);
    const StageId decode = StageNamed(run, "decode");
    const StageId loader = StageNamed(run, "data loading");
    REQUIRE(decode.known());
    REQUIRE(loader.known());
    CHECK(run.stages[loader.value].inputs == std::vector<StageId>{decode});
    const attribution::Attribution a = attribution::Attribute(run);
    CHECK(a.breakdown[attribution::At(attribution::Category::kInputStall)]->ns == 2'800);
    int64_t io = 0;
    int64_t decoding = 0;
    for (const auto& blame : a.blame) {
      if (blame.stage != decode) continue;
      (blame.cause == attribution::Cause::kIo ? io : decoding) += blame.ns;
    }
    CHECK(io == 400);
    CHECK(decoding >= 2'320);
  }

  TEST_CASE("ranges that occur as often as steps are not steps") {
    MadeDatabase database;
    Begin(database);
    for (int i = 0; i < 5; ++i) {
      AddRange(database, 100 * i, 100 * i + 50, "forward");
      AddRange(database, 100 * i + 50, 100 * i + 90, "optimizer step");
    }
    const model::Run run = database.Imported();
    CHECK(run.rows.steps.empty());
  }

  TEST_CASE("ranges without an end are left out and counted") {
    MadeDatabase database;
    Begin(database);
    database.Run(
        "INSERT INTO NVTX_EVENTS VALUES (5, NULL, 59, 'open', NULL, 83886089);"
        "INSERT INTO NVTX_EVENTS VALUES (5, 9, 34, 'a mark', NULL, 83886089);"
        "INSERT INTO NVTX_EVENTS VALUES (NULL, NULL, 75, 'a domain', NULL, NULL);");
    const model::Run run = database.Imported();
    REQUIRE(run.quality.warnings.size() == 1);
    CHECK(run.quality.warnings[0].find("1 range was open") != std::string::npos);
  }

  TEST_CASE(
      "threads with few kinds of work belong to the loader, with more than 64 they mark items") {
    CHECK(TracksOf(64, 2) == 3);
    CHECK(TracksOf(65, 2) == 1);
  }

  TEST_CASE("20,000 workers are not compared with 100,000 stages each") {
    CHECK(TracksOf(100'000, 20'000) == 1);
  }
}
