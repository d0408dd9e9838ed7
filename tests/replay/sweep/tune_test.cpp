// The tuner against a bench whose truth is known.
#include "replay/sweep/tune.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "analyzer/base/thread.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/spec/knobs.h"
#include "replay/sweep/moves.h"
#include "replay/sweep/search.h"
#include "replay/whatif/price.h"
#include "tests/replay/sweep/sweeps.h"
#include "tests/support/job_trace.h"
#include "tests/support/loaded_run.h"
#include "tests/support/paths.h"

using namespace stallscope;
using replay::Tuned;
using test::FakeBench;

namespace {

replay::Predictor PredictorOf(const Spec& spec, bool knows_memory = true) {
  test::ScratchDir dir;
  replay::RerunOptions options;
  options.scratch = dir.path();
  auto rerun = replay::RunSpec(spec, options);
  REQUIRE(rerun.ok());
  if (!knows_memory) rerun.value().attribution.memory.peak_rss_bytes.reset();
  auto predictor = replay::Predictor::Make(rerun.value().run, rerun.value().attribution);
  REQUIRE_MESSAGE(predictor.ok(), predictor.error().Line());
  predictor.value().SetOptions(replay::ShortSimulation());
  return std::move(predictor).value();
}

replay::TuneOptions Options(unsigned max_runs = 10) {
  replay::TuneOptions options;
  options.max_runs = max_runs;
  options.limits.cores = 2;
  return options;
}

Tuned Done(Result<Tuned> tuned) {
  REQUIRE_MESSAGE(tuned.ok(), tuned.error().Line());
  return std::move(tuned).value();
}

Result<Tuned> TuneWith(const replay::Predictor& predictor, const Spec& base, replay::Bench* bench,
                       const replay::TuneOptions& options) {
  return replay::Tune(&predictor, base, bench, options);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a sleeping map gets more workers by simulation alone") {
    const Spec spec = test::SweepSpec();
    const Tuned tuned = Done(TuneWith(PredictorOf(spec), spec, nullptr, Options()));
    REQUIRE(tuned.best.has_value());
    const replay::Try& best = tuned.tries[*tuned.best];
    CHECK(test::DecodeWorkers(best.spec) > 2);
    CHECK(best.point.predicted->samples_per_s > tuned.base.point.predicted->samples_per_s);
    CHECK(tuned.runs == 0);
    CHECK(replay::LearnsTheSame(ResultOf(tuned), spec));
  }

  TEST_CASE("by simulation alone: a memory limit below the base's own, and a stop at once") {
    const Spec spec = test::SweepSpec();
    const replay::Predictor predictor = PredictorOf(spec);
    replay::TuneOptions options = Options();
    options.limits.memory_bytes = 1;
    const Tuned tight = Done(TuneWith(predictor, spec, nullptr, options));
    CHECK(tight.tries.empty());
    CHECK_FALSE(tight.best.has_value());
    CHECK(ResultOf(tight) == spec);
    CHECK(tight.ended.find("no change is predicted to gain") == 0);
    // With room for everything the limit changes nothing.
    options.limits.memory_bytes = uint64_t{1} << 40;
    CHECK(Done(TuneWith(predictor, spec, nullptr, options)).best.has_value());
    options.limits.stop_requested = [] { return true; };
    const Tuned stopped = Done(TuneWith(predictor, spec, nullptr, options));
    CHECK(stopped.ended == "stopped");
    CHECK(ResultOf(stopped) == spec);
  }

  TEST_CASE("a memory limit that could not be applied is said to be none") {
    const Spec spec = test::SweepSpec();
    replay::TuneOptions options = Options();
    options.limits.memory_bytes = uint64_t{1} << 40;
    const replay::Predictor unknown = PredictorOf(spec, false);
    const Tuned tuned = Done(TuneWith(unknown, spec, nullptr, options));
    const std::string all = std::to_string(tuned.tries.size() + 1);
    REQUIRE(tuned.tries.size() > 0);
    CHECK(tuned.unlimited == "the limit was not applied to " + all + " of " + all +
                                 " settings, whose memory is not known: runs measure it, leave "
                                 "out --mode simulate");
    // Runs measure it; what is known needs no word, and neither does a search without a limit.
    FakeBench bench(
        [](const Spec& s, int) { return 100.0 * static_cast<double>(test::DecodeWorkers(s)); });
    CHECK(Done(TuneWith(unknown, spec, &bench, options)).unlimited.empty());
    CHECK(Done(TuneWith(PredictorOf(spec), spec, nullptr, options)).unlimited.empty());
    options.limits.memory_bytes = 0;
    CHECK(Done(TuneWith(unknown, spec, nullptr, options)).unlimited.empty());
  }

  TEST_CASE("simulations find the same with any number of threads") {
    const Spec spec = test::SweepSpec();
    const replay::Predictor predictor = PredictorOf(spec);
    replay::TuneOptions options = Options();
    options.limits.threads = 4;
    const Tuned whole = Done(TuneWith(predictor, spec, nullptr, options));
    for (uint64_t n = 1; n <= 3; ++n) {
      const ThreadStartFault fault(n);
      const Tuned tuned = Done(TuneWith(predictor, spec, nullptr, options));
      CHECK(fault.starts() >= n);
      CHECK(ResultOf(tuned) == ResultOf(whole));
    }
  }

  TEST_CASE("runs confirm the better configuration within the run limit") {
    const Spec spec = test::SweepSpec();
    FakeBench bench([](const Spec& s, int) {
      return 1000.0 * static_cast<double>(std::min<int64_t>(test::DecodeWorkers(s), 4));
    });
    const Tuned tuned = Done(TuneWith(PredictorOf(spec), spec, &bench, Options()));
    REQUIRE(tuned.best.has_value());
    CHECK(test::DecodeWorkers(tuned.tries[*tuned.best].spec) >= 4);
    CHECK(bench.asked.size() == tuned.runs);
    CHECK(tuned.runs <= 10);
    REQUIRE(tuned.comparison.has_value());
    CHECK(tuned.comparison->answer == compare::Answer::kFaster);
    // Not here: it was done when the spec was recorded.
    CHECK(std::count(bench.probes.begin(), bench.probes.end(), true) == 0);
  }

  TEST_CASE(
      "more workers and deeper queues than the simulation can use are run, and kept if faster") {
    const Spec spec = test::SweepSpec();
    const replay::Predictor predictor = PredictorOf(spec);
    const auto workers_with = [&](double gain, int64_t& first) {
      first = 0;
      FakeBench bench([&](const Spec& s, int) {
        const int64_t workers = test::DecodeWorkers(s);
        if (first == 0 && workers > 2) first = workers;
        return 1000.0 * static_cast<double>(workers) *
               (workers <= first || first == 0
                    ? 1.0
                    : gain * static_cast<double>(first) / static_cast<double>(workers));
      });
      replay::TuneOptions options = Options(8);
      options.limits.cores = 4;  // otherwise eight workers are the most
      const Tuned tuned = Done(TuneWith(predictor, spec, &bench, options));
      REQUIRE(tuned.best.has_value());
      CHECK(tuned.runs <= 8);
      return test::DecodeWorkers(tuned.tries[*tuned.best].spec);
    };
    int64_t first = 0;
    CHECK(workers_with(1.05, first) > first);
    // Within the noise, the smaller configuration wins.
    CHECK(workers_with(1.01, first) == first);
  }

  TEST_CASE("a base that began with a cold page cache is run again, and the cold run forgotten") {
    const Spec spec = test::SweepSpec();
    const replay::Predictor predictor = PredictorOf(spec);
    const auto tuned_with = [&](double later) {
      FakeBench bench([&](const Spec&, int) { return bench.asked.size() == 1 ? 400.0 : 500.0; });
      bench.from_disk = [&](size_t runs) { return runs == 0 ? 0.9 : later; };
      return Done(TuneWith(predictor, spec, &bench, Options()));
    };
    const Tuned warm = tuned_with(0.0);
    for (const auto& run : warm.base.point.runs) CHECK(run.rate.samples_per_s == 500);
    CHECK_FALSE(warm.best.has_value());
    // All runs read from the disk: the data does not fit into the page cache.
    CHECK(tuned_with(0.9).base.point.runs.front().rate.samples_per_s == 400);
  }

  TEST_CASE("one run of base and best is enough where both are as predicted") {
    const Spec spec = test::SweepSpec();
    const replay::Predictor predictor = PredictorOf(spec);
    const auto runs_with = [&](double of_predicted) {
      FakeBench bench([&](const Spec& s, int) {
        return of_predicted * predictor.Predict(s).rate->samples_per_s;
      });
      const Tuned tuned = Done(TuneWith(predictor, spec, &bench, Options()));
      REQUIRE(tuned.best.has_value());
      REQUIRE(tuned.comparison.has_value());
      CHECK(tuned.comparison->answer == compare::Answer::kFaster);
      return tuned.base.runs.size();
    };
    CHECK(runs_with(1) == 1);
    CHECK(runs_with(0.3) > 1);
  }

  TEST_CASE("where nothing helps the base stays, with a reason") {
    const Spec spec = test::SweepSpec();
    FakeBench bench([](const Spec& s, int) { return test::DecodeWorkers(s) == 2 ? 500.0 : 400.0; });
    const Tuned tuned = Done(TuneWith(PredictorOf(spec), spec, &bench, Options()));
    CHECK_FALSE(tuned.best.has_value());
    CHECK(ResultOf(tuned) == spec);
    CHECK_FALSE(tuned.ended.empty());
    CHECK(tuned.runs <= 10);
  }

  TEST_CASE("a failing configuration, or one that needs too much memory, is not the best") {
    const Spec spec = test::SweepSpec();
    FakeBench bench([](const Spec& s, int) { return test::DecodeWorkers(s) == 2 ? 500.0 : -1.0; });
    const Tuned failed = Done(TuneWith(PredictorOf(spec), spec, &bench, Options()));
    CHECK_FALSE(failed.best.has_value());
    REQUIRE_FALSE(failed.tries.empty());
    CHECK(failed.tries[0].point.error == "it fell over");
    FakeBench large(
        [](const Spec& s, int) { return 100.0 * static_cast<double>(test::DecodeWorkers(s)); });
    replay::TuneOptions options = Options();
    options.limits.memory_bytes = 999'999;  // the bench's runs need 1,000,000
    const Tuned tuned = Done(TuneWith(PredictorOf(spec), spec, &large, options));
    CHECK_FALSE(tuned.best.has_value());
  }

  TEST_CASE("the search leaves out what runs have shown to have no memory") {
    const Spec spec = test::SweepSpec();
    const replay::Predictor predictor = PredictorOf(spec);
    replay::SearchLimits limits = Options().limits;
    const auto most = [&] {
      int64_t workers = 0;
      for (const replay::Candidate& found : replay::Search(predictor, spec, {}, limits)) {
        workers = std::max<int64_t>(workers, test::DecodeWorkers(found.spec));
      }
      return workers;
    };
    CHECK(most() > 3);
    limits.fits = [](const Spec& s) { return test::DecodeWorkers(s) <= 3; };
    CHECK(most() == 3);
  }

  TEST_CASE("a base that cannot run is an error") {
    const Spec spec = test::SweepSpec();
    FakeBench bench([](const Spec&, int) { return -1.0; });
    CHECK_FALSE(TuneWith(PredictorOf(spec), spec, &bench, Options()).ok());
  }

  TEST_CASE("a bench that cannot measure is an error, at the base and on the way") {
    const Spec spec = test::SweepSpec();
    const replay::Predictor predictor = PredictorOf(spec);
    for (const size_t runs_before : {size_t{0}, size_t{1}}) {
      CAPTURE(runs_before);
      FakeBench bench([](const Spec&, int) { return 100.0; });
      bench.before = [&](size_t runs) {
        if (runs == runs_before) bench.broken = Error{ErrorKind::kRun, "no lock", "/a.lock", ""};
      };
      const auto tuned = TuneWith(predictor, spec, &bench, Options());
      REQUIRE_FALSE(tuned.ok());
      CHECK(tuned.error().Line() == bench.broken->Line());
      CHECK(bench.asked.size() == runs_before);
    }
  }

  TEST_CASE("the fewest cores that keep up") {
    const Spec spec = test::SweepSpec();
    FakeBench bench(
        [](const Spec& s, int) { return 100.0 * static_cast<double>(test::DecodeWorkers(s)); });
    replay::TuneOptions options = Options();
    options.goal = replay::TuneGoal::kCost;
    const Tuned tuned = Done(TuneWith(PredictorOf(spec), spec, &bench, options));
    REQUIRE(tuned.best.has_value());
    CHECK(tuned.tries[*tuned.best].point.cores == 1);
    CHECK(ResultOf(tuned).budget.cores == 1);
  }

  TEST_CASE("a stop keeps what is known by then") {
    const Spec spec = test::SweepSpec();
    FakeBench bench([](const Spec&, int) { return 100.0; });
    replay::TuneOptions options = Options();
    options.limits.stop_requested = [&] { return !bench.asked.empty(); };
    const Tuned tuned = Done(TuneWith(PredictorOf(spec), spec, &bench, options));
    CHECK(tuned.runs == 1);
    CHECK_FALSE(tuned.best.has_value());
  }

  TEST_CASE("ideas that cannot be tried are named") {
    const Spec spec = test::SweepSpec();
    replay::TuneOptions options = Options();
    options.ideas = {Patch{{InsertChange{{"kept", SnapshotSpec{"kept"}}, Place::After("decode")}}},
                     Patch{{SetTo("batch.size", int64_t{8})}}};
    const Tuned tuned = Done(TuneWith(PredictorOf(spec), spec, nullptr, options));
    CHECK(tuned.ended.find("cannot price it: ") != std::string::npos);
    CHECK(tuned.ended.find("kept") != std::string::npos);
    CHECK(tuned.ended.find("may change what is learned: batch.size=8") != std::string::npos);
  }

  TEST_CASE("an idea that cannot be simulated is run") {
    const Spec spec = test::SweepSpec();
    CacheSpec cache;
    cache.where = CacheWhere::kDisk;
    FakeBench bench([](const Spec& s, int) {
      const bool keeps = std::any_of(s.stages.begin(), s.stages.end(),
                                     [](const StageSpec& stage) { return stage.name == "kept"; });
      return keeps ? 900.0 : 500.0;
    });
    replay::TuneOptions options = Options();
    options.ideas = {Patch{{InsertChange{{"kept", cache}, Place::After("decode")}}}};
    const Tuned tuned = Done(TuneWith(PredictorOf(spec), spec, &bench, options));
    REQUIRE(tuned.best.has_value());
    const auto& stages = tuned.tries[*tuned.best].spec.stages;
    CHECK(std::any_of(stages.begin(), stages.end(),
                      [](const StageSpec& stage) { return stage.name == "kept"; }));
    CHECK(tuned.ended.find("not tried") == std::string::npos);
    CHECK(tuned.runs <= 10);
  }

  TEST_CASE("a job is tuned by runs alone, one setting after the other") {
    const Spec spec = test::JobSpecOfTest();
    // Best from 6 workers on; a deeper queue adds a little, threads take away.
    FakeBench bench([](const Spec& s, int) {
      const auto& loader = std::get<LoaderSpec>(s.stages[0].kind);
      return 100.0 * static_cast<double>(std::min<int64_t>(loader.num_workers, 6)) *
             (loader.prefetch_factor > 2 ? 1.05 : 1.0) * (s.job.threads > 0 ? 0.5 : 1.0);
    });
    const Tuned tuned = Done(replay::Tune(nullptr, spec, &bench, Options(16)));
    REQUIRE(tuned.best.has_value());
    const auto& best = std::get<LoaderSpec>(tuned.tries[*tuned.best].spec.stages[0].kind);
    CHECK(best.num_workers == 6);
    CHECK(best.prefetch_factor == 4);
    CHECK(tuned.tries[*tuned.best].spec.job.threads == 0);
    CHECK(tuned.bound.empty());
    CHECK(tuned.ended == "no single further change is faster");
    CHECK(tuned.runs <= 16);
    // The base is checked for what bounds it, once; nothing else is disturbed.
    CHECK(bench.probes.front());
    CHECK(std::count(bench.probes.begin(), bench.probes.end(), true) == 1);
    // A recommendation is tried first.
    replay::TuneOptions options = Options(16);
    options.ideas = {Patch{{SetTo("loader.num_workers", int64_t{4})}},
                     Patch{{SetTo("loader.batch_size", int64_t{64})}}};
    bench.asked.clear();
    const Tuned again = Done(replay::Tune(nullptr, spec, &bench, options));
    REQUIRE(bench.asked.size() > 2);
    CHECK(bench.asked[0] == "2");
    CHECK(bench.asked[1] == "4");
    CHECK(again.ended.find("may change what is learned: loader.batch_size=64") !=
          std::string::npos);
  }

  TEST_CASE("a report and a tuner name the same number of workers") {
    for (const uint32_t workers : {0U, 1U, 2U}) {
      for (const int64_t computes_ns : {6'000'000, 9'000'000, 12'000'000}) {
        CAPTURE(workers);
        CAPTURE(computes_ns);
        test::TraceBuilder trace;
        trace.run.host.cores_online = 8;
        test::BuildJob(trace, {.workers = workers, .steps = 60, .computes_ns = computes_ns});
        const model::Run run = test::LoadedRun(trace);
        const auto attribution = attribution::Attribute(run);
        auto predictor = replay::Predictor::Make(run, attribution);
        REQUIRE_MESSAGE(predictor.ok(), predictor.error().Line());
        predictor.value().SetOptions(replay::ShortSimulation());
        const Spec spec = *model::JobSpecOf(run);
        replay::TuneOptions options = Options();
        options.limits.cores = 8;
        const Tuned alone = Done(TuneWith(predictor.value(), spec, nullptr, options));
        std::optional<Spec> shown;
        for (const auto& finding : replay::AnswerOn(run, attribution, true).findings) {
          if (finding.id != "loader-workers") continue;
          options.ideas = {finding.recommendation->patch};
          shown = Apply(spec, options.ideas[0]).value();
        }
        REQUIRE(shown.has_value());
        const Tuned tuned = Done(TuneWith(predictor.value(), spec, nullptr, options));
        CHECK(GetKnob(ResultOf(tuned), "loader.num_workers").value() ==
              GetKnob(*shown, "loader.num_workers").value());
        CHECK(GetKnob(ResultOf(alone), "loader.num_workers").value() ==
              GetKnob(*shown, "loader.num_workers").value());
      }
    }
  }

  TEST_CASE("fewer workers are tried where more are slower") {
    Spec spec = test::JobSpecOfTest();
    std::get<LoaderSpec>(spec.stages[0].kind).num_workers = 6;
    FakeBench bench([](const Spec& s, int) {
      return 1000.0 / static_cast<double>(1 + std::get<LoaderSpec>(s.stages[0].kind).num_workers);
    });
    const Tuned tuned = Done(replay::Tune(nullptr, spec, &bench, Options(16)));
    REQUIRE(tuned.best.has_value());
    CHECK(std::get<LoaderSpec>(tuned.tries[*tuned.best].spec.stages[0].kind).num_workers == 0);
  }

  TEST_CASE("no worker is started that has no memory left") {
    const Spec spec = test::JobSpecOfTest();
    int64_t most = 0;
    FakeBench bench([&](const Spec& s, int) {
      const int64_t workers = std::get<LoaderSpec>(s.stages[0].kind).num_workers;
      most = std::max(most, workers);
      return 100.0 * static_cast<double>(workers);
    });
    bench.memory = [](const Spec& s) {
      return uint64_t{1'000'000} *
             static_cast<uint64_t>(std::get<LoaderSpec>(s.stages[0].kind).num_workers);
    };
    replay::TuneOptions options = Options(16);
    options.limits.memory_bytes = 7'000'000;
    const Tuned tuned = Done(replay::Tune(nullptr, spec, &bench, options));
    REQUIRE(tuned.best.has_value());
    CHECK(std::get<LoaderSpec>(tuned.tries[*tuned.best].spec.stages[0].kind).num_workers == 6);
    CHECK(most == 6);
    CHECK(tuned.ended.find("memory limit") != std::string::npos);
  }
}
