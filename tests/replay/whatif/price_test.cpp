#include "replay/whatif/price.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/replay/kineto_run.h"
#include "tests/replay/made_run.h"
#include "tests/support/job_trace.h"
#include "tests/support/loaded_run.h"

using stallscope::Patch;
using stallscope::SetTo;
using stallscope::attribution::Attribute;
using stallscope::findings::Aim;
using stallscope::findings::Finding;
using stallscope::findings::Gain;
using stallscope::findings::Recommendation;
using stallscope::findings::Settled;
using stallscope::replay::PricerFor;
using stallscope::test::MadeRunOptions;
using stallscope::test::MakeRun;

namespace {

template <class Value>
Finding Proposes(const std::string& path, Value value, double guess) {
  Finding row;
  row.id = path;
  Recommendation recommendation;
  recommendation.patch.changes.emplace_back(SetTo(path, value));
  recommendation.gain = Gain{guess, guess - 0.1, guess + 0.1};
  row.recommendation = std::move(recommendation);
  return row;
}

// 16 ms of sleeping for a batch that the device takes 8 ms for.
std::vector<Finding> Priced(std::vector<Finding> findings, const MadeRunOptions& options = {}) {
  const auto run = MakeRun(options);
  const auto attribution = Attribute(run);
  return Settled(std::move(findings), attribution.window.steps, PricerFor(run, attribution));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a change that helps gets the simulation's gain instead of the guess") {
    const auto priced = Priced({Proposes("fetch.parallelism", 2, 9.0)});
    REQUIRE(priced.size() == 1);
    const Gain& gain = *priced[0].recommendation->gain;
    CHECK(gain.predicted == doctest::Approx(2).epsilon(0.05));
    CHECK(gain.low > 1.5);
    CHECK(gain.low < gain.predicted);
    CHECK(gain.high > gain.predicted);
  }

  TEST_CASE("a recommendation without a gain is not shown") {
    CHECK(Priced({Proposes("prefetch.buffer_size", 8, 9.0)}).empty());
  }

  TEST_CASE("unless its finding stands alone, or is not about speed") {
    Finding alone = Proposes("prefetch.buffer_size", 8, 9.0);
    alone.stands_alone = true;
    Finding memory = Proposes("prefetch.buffer_size", 1, 9.0);
    memory.recommendation->aim = Aim::kMemory;
    const auto priced = Priced({alone, memory});
    REQUIRE(priced.size() == 2);
    CHECK(priced[0].recommendation.has_value());
    CHECK_FALSE(priced[1].recommendation.has_value());
  }

  TEST_CASE("a foreign run's change is priced as far as the file shows what it depends on") {
    const auto price = [](const stallscope::test::KinetoOptions& options) {
      const auto run = stallscope::test::KinetoRun(options);
      const auto attribution = Attribute(run);
      const auto priced = Settled({Proposes("DataLoader.parallelism", 4, 9.0)},
                                  attribution.window.steps, PricerFor(run, attribution));
      REQUIRE(priced.size() == 1);
      return *priced[0].recommendation;
    };
    // 3 ms of loading, 1 ms of computing, and nothing says what more workers would share.
    const Recommendation seen = price({});
    CHECK(seen.gain->predicted == 9.0);
    const Recommendation unseen = price({.in_processes = true});
    CHECK(unseen.gain->predicted == 9.0);  // the rule's own: nothing better is known
  }

  TEST_CASE("the best comes first") {
    const auto priced =
        Priced({Proposes("trainer.emulated.compute_us_per_batch", 8000.0, 1.2),
                Proposes("fetch.parallelism", 2, 1.1), Proposes("fetch.parallelism", 4, 1.0)});
    REQUIRE(priced.size() == 2);
    CHECK(priced[0].recommendation->gain->predicted >= priced[1].recommendation->gain->predicted);
  }

  TEST_CASE("an unpriceable change keeps the rule's estimate, or the reason for none") {
    Finding guessed = Proposes("fetch.parallelism", 2, 1.3);
    guessed.recommendation->patch.changes = {
        stallscope::SetChange{"fetch.ops", R"~(["tokenize(9)"])~"}};
    Finding unknown = guessed;
    unknown.recommendation->gain.reset();
    const auto priced = Priced({guessed, unknown});
    REQUIRE(priced.size() == 2);
    CHECK(priced[0].recommendation->gain->predicted == 1.3);
    CHECK_FALSE(priced[1].recommendation->gain.has_value());
    CHECK(priced[1].recommendation->unpriced.find("fetch.ops") == 0);
  }

  TEST_CASE("other ops are priced by what is usual, and say so") {
    // 1 ms of sleeping for each sample goes, and a moment of work takes its place.
    Finding lighter = Proposes("fetch.parallelism", 2, 9.0);
    lighter.recommendation->patch.changes = {
        stallscope::SetChange{"fetch.ops", R"~(["cast(uint8)"])~"}};
    lighter.recommendation->unpriced = "nobody knows";
    const auto priced = Priced({lighter});
    REQUIRE(priced.size() == 1);
    const Recommendation& advice = *priced[0].recommendation;
    // The device takes 8 ms for a batch, the loader took 16.
    CHECK(advice.gain->predicted == doctest::Approx(2).epsilon(0.1));
    CHECK(advice.unpriced.empty());
    REQUIRE_FALSE(advice.assumptions.empty());
    CHECK(advice.assumptions[0].find("fetch: assumes that") == 0);
  }

  TEST_CASE("a run that cannot be simulated keeps all estimates") {
    auto run = MakeRun();
    const auto attribution = Attribute(run);
    run.tracks[0].spans = {};
    const auto priced =
        Settled({Proposes("fetch.parallelism", 2, 9.0)}, 100, PricerFor(run, attribution));
    CHECK(priced[0].recommendation->gain->predicted == 9.0);
  }

  TEST_CASE("a job's settings are priced by its own batches, or the model says why not") {
    stallscope::test::TraceBuilder trace;
    trace.run.host.cores_online = 4;
    stallscope::test::BuildJob(trace, {.workers = 2, .steps = 60});
    const stallscope::model::Run run = LoadedRun(trace);
    const auto attribution = Attribute(run);
    const auto price = [&](Finding row) {
      row.stands_alone = true;
      row.recommendation->gain.reset();
      row.recommendation->unpriced = "nobody knows";
      PricerFor(run, attribution)(*row.recommendation);
      return *row.recommendation;
    };
    // A batch takes 30 ms in each of two workers, a step 9: 15 ms become 9.
    const Recommendation more = price(Proposes("loader.num_workers", 4, 9.0));
    REQUIRE(more.gain.has_value());
    CHECK(more.gain->predicted == doctest::Approx(15.0 / 9.0).epsilon(0.1));
    CHECK(more.gain->low > 1.2);
    CHECK(more.unpriced.empty());
    const Recommendation pinned = price(Proposes("loader.pin_memory", true, 9.0));
    CHECK_FALSE(pinned.gain.has_value());
    CHECK(pinned.unpriced.starts_with("loader.pin_memory: "));
    const Recommendation batch = price(Proposes("loader.batch_size", 32, 9.0));
    CHECK_FALSE(batch.gain.has_value());
    CHECK(batch.unpriced.find("changes what is trained") != std::string::npos);
  }

  TEST_CASE(
      "a job without workers: a gain that what was not recorded decides is a range in words") {
    // What can be hidden behind a step: 30 ms of 180, or of 430, where handing over may cost as
    // much.
    for (const int64_t computes_ns : {150'000'000, 400'000'000}) {
      stallscope::test::TraceBuilder trace;
      trace.run.host.cores_online = 4;
      stallscope::test::BuildJob(trace, {.workers = 0, .steps = 200, .computes_ns = computes_ns});
      const stallscope::model::Run run = LoadedRun(trace);
      const auto attribution = Attribute(run);
      Finding row = Proposes("loader.num_workers", int64_t{1}, 9.0);
      row.recommendation->gain.reset();
      const auto settled = Settled({row}, 200, PricerFor(run, attribution));
      REQUIRE(settled.size() == 1);
      REQUIRE(settled[0].recommendation.has_value());
      const Recommendation& advice = *settled[0].recommendation;
      CHECK(advice.gain.has_value() == (computes_ns == 150'000'000));
      CHECK(advice.unpriced.starts_with("anything from ") == !advice.gain.has_value());
      CHECK(advice.gain.has_value() !=
            (advice.unpriced.find("record with num_workers=1") != std::string::npos));
    }
  }

  TEST_CASE("on several ranks, a loader's workers and cores are those of one, and it is priced") {
    const auto found = [](uint32_t ranks, uint32_t cores, int64_t computes_ns) {
      stallscope::test::TraceBuilder trace;
      trace.run.host.cores_online = cores;
      stallscope::test::BuildJob(
          trace, {.workers = 1, .steps = 60, .computes_ns = computes_ns, .ranks = ranks});
      const stallscope::model::Run run = LoadedRun(trace);
      for (Finding& row : stallscope::replay::AnswerOn(run, Attribute(run), true).findings) {
        if (row.id == "loader-workers") return std::move(row);
      }
      return Finding();
    };
    const Finding one = found(1, 4, 8'000'000);
    const Finding four = found(4, 16, 8'000'000);
    CHECK(one.text.find("with 1 worker busy") != std::string::npos);
    CHECK(four.text.find("with 1 worker on each of 4 ranks busy") != std::string::npos);
    REQUIRE(one.recommendation.has_value());
    REQUIRE(four.recommendation.has_value());
    CHECK(one.recommendation->patch == four.recommendation->patch);
    REQUIRE(four.recommendation->gain.has_value());
    CHECK(four.recommendation->gain->predicted ==
          doctest::Approx(one.recommendation->gain->predicted).epsilon(0.1));
    CHECK(four.recommendation->assumptions.back().find("stands for all 4") != std::string::npos);
  }

  TEST_CASE("a report names the fewest workers that are as fast as any, priced or not") {
    const auto named = [](uint32_t workers, int64_t computes_ns, bool price) {
      stallscope::test::TraceBuilder trace;
      trace.run.host.cores_online = 8;
      stallscope::test::BuildJob(trace,
                                 {.workers = workers, .steps = 60, .computes_ns = computes_ns});
      const stallscope::model::Run run = LoadedRun(trace);
      for (Finding& row : stallscope::replay::AnswerOn(run, Attribute(run), price).findings) {
        if (row.id == "loader-workers") return row.recommendation->patch;
      }
      return Patch();
    };
    // A batch takes 30 ms in a worker: three keep up with steps of 11 ms, six with steps of 5.5 ms.
    for (const bool price : {true, false}) {
      CHECK(named(1, 11'000'000, price) == Patch{{SetTo("loader.num_workers", int64_t{3})}});
      CHECK(named(1, 5'500'000, price) == Patch{{SetTo("loader.num_workers", int64_t{6})}});
    }
  }

  TEST_CASE("a finding without a patch is left alone") {
    Finding row;
    row.id = "balanced";
    CHECK(Priced({row}).size() == 1);
  }

  TEST_CASE("a measured gain stays beside the new prediction") {
    Finding row = Proposes("fetch.parallelism", 2, 9.0);
    row.recommendation->measured = stallscope::findings::Measurement{1.9, 1.8, 2.0, 2, "", {}};
    CHECK(Priced({row})[0].recommendation->measured->factor == 1.9);
  }
}
