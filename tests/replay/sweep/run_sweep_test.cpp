// The order of the work, and what becomes of points that fail or are stopped.
#include "replay/sweep/run_sweep.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "analyzer/base/file.h"
#include "replay/sweep/measured_gains.h"
#include "replay/sweep/sweep_json.h"
#include "replay/sweep/sweep_table.h"
#include "tests/replay/sweep/sweeps.h"
#include "tests/support/paths.h"

using namespace stallscope;
using replay::RunSweep;
using replay::Sweep;
using replay::SweepMode;
using replay::SweepWork;
using test::FakeBench;

namespace {

double Fast(const Spec& spec, int) {
  return 100.0 * static_cast<double>(test::DecodeWorkers(spec));
}

SweepWork WorkOn(const test::ScratchDir& dir, FakeBench* bench, bool resume = false) {
  SweepWork work;
  work.file.path = dir / "s.json";
  work.file.resume = resume;
  work.spec = test::SweepSpec();
  work.predicted_spec = work.spec;
  work.bench = bench;
  return work;
}

Sweep Done(const Sweep& planned, const SweepWork& work) {
  auto done = RunSweep(planned, work);
  REQUIRE(done.ok());
  return std::move(done).value();
}

// The base, and a snapshot of decode's output.
Sweep PlannedSnapshot() {
  Sweep planned = test::PlannedGrid(SweepMode::kRerun, 1);
  replay::Point point;
  point.patch.emplace();
  point.patch->changes.emplace_back(
      InsertChange{{"kept", SnapshotSpec{"kept"}}, Place::After("decode")});
  planned.base = planned.points[*planned.base_point];
  planned.base.set.clear();
  planned.base_point.reset();
  planned.axes.clear();
  planned.points = {point};
  return planned;
}

// Of a real run of the spec, in this process.
replay::Predictor PredictorOf(const test::ScratchDir& dir) {
  replay::RerunOptions options;
  options.scratch = dir.path();
  const auto rerun = replay::RunSpec(test::SweepSpec(), options);
  REQUIRE(rerun.ok());
  auto predictor = replay::Predictor::Make(rerun.value().run, rerun.value().attribution);
  REQUIRE_MESSAGE(predictor.ok(), predictor.error().Line());
  return std::move(predictor).value();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("repeats are interleaved, and each configuration gives one digest") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    size_t told = 0;
    SweepWork work = WorkOn(dir, &bench);
    work.progress = [&](const replay::SweepProgress& at) {
      CHECK(at.total == 6);
      told = at.done;
    };
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kRerun), work);
    CHECK(bench.asked == std::vector<std::string>{"1", "2", "4", "1", "2", "4"});
    CHECK(bench.digests == std::vector<bool>{true, true, true, false, false, false});
    CHECK(told == 6);
    CHECK(IsComplete(sweep));
    CHECK(Measured(sweep.points[2])->samples_per_s == 400);
    CHECK(sweep.points[0].digest == bench.digest);
    CHECK(sweep.points[0].verdict == "balanced");
  }

  TEST_CASE(
      "the run that fills a snapshot does not count, and is reported with those that read it") {
    test::ScratchDir dir;
    FakeBench bench([&](const Spec& spec, int) {
      return spec.stages.size() == 4 ? 100 : bench.fills(bench.asked.size() - 1, spec) ? 80 : 300;
    });
    bench.fills = [](size_t runs, const Spec& spec) { return spec.stages.size() > 4 && runs == 0; };
    const Sweep sweep = Done(PlannedSnapshot(), WorkOn(dir, &bench));
    CHECK(bench.asked.size() == 3);
    const replay::Point& point = sweep.points[0];
    CHECK(point.error.empty());
    CHECK(point.runs.size() == 1);
    CHECK(Measured(point)->samples_per_s == 300);
    REQUIRE(point.filled.has_value());
    CHECK(point.filled->rate.samples_per_s == 80);
    CHECK_FALSE(BaseOf(sweep).filled.has_value());
    const auto gain = replay::MeasuredGain(sweep, point);
    REQUIRE(gain.has_value());
    CHECK(gain->factor == doctest::Approx(3));
    CHECK(gain->first_run.value() == doctest::Approx(0.8));
    // Two samples in 50 ms, 20 ms without the store: 30 ms to make good, 13.3 ms in each pass.
    CHECK(point.filled->stored_samples == 2);
    CHECK(point.filled->stored_s == doctest::Approx(0.05));
    CHECK(replay::PassesToPay(sweep, point).value() == doctest::Approx(3.25));
    const std::string note = replay::TableOf(sweep).rows[1].note;
    CHECK(note.find("0.80x, filling it in 50.0 ms, which pays off after 3.") != std::string::npos);
    // One that saves nothing never does.
    replay::Point no_faster = point;
    no_faster.runs = BaseOf(sweep).runs;
    CHECK_FALSE(replay::PassesToPay(sweep, no_faster).has_value());
    CHECK(replay::ReadSweepFile(dir / "s.json").value().points[0].filled == point.filled);
  }

  TEST_CASE("a snapshot that the steps do not fill is filled by one pass over the data") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    std::vector<int64_t> steps;
    bench.fills = [&](size_t, const Spec& spec) {
      if (spec.stages.size() == 4) return false;
      steps.push_back(spec.trainer.steps);
      return steps.size() < 4;
    };
    const Sweep sweep = Done(PlannedSnapshot(), WorkOn(dir, &bench));
    CHECK(steps == std::vector<int64_t>{40, 40, 0, 40});
    CHECK(sweep.points[0].runs.size() == 1);
    std::filesystem::remove(dir / "s.json");
    bench.fills = [](size_t, const Spec& spec) { return spec.stages.size() > 4; };
    const Sweep never = Done(PlannedSnapshot(), WorkOn(dir, &bench));
    CHECK(never.points[0].error.find("no run fills 'kept'") != std::string::npos);
  }

  TEST_CASE("a run that other programs disturbed is repeated once, and the quieter one counts") {
    test::ScratchDir dir;
    FakeBench bench(
        [&](const Spec& spec, int) { return Fast(spec, 0) - (bench.asked.size() == 2 ? 50 : 0); });
    bench.others = [](size_t runs) { return runs == 1 ? 0.2 : 0.02; };
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kRerun, 1), WorkOn(dir, &bench));
    CHECK(bench.asked == std::vector<std::string>{"1", "2", "2", "4"});
    CHECK(sweep.points[1].runs.size() == 1);
    CHECK(Measured(sweep.points[1])->samples_per_s == 200);
    CHECK(OthersIn(sweep.points[1]) == doctest::Approx(0.02));
  }

  TEST_CASE("work that goes on all the time is no reason to repeat") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    bench.others = [](size_t) { return 0.25; };
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kRerun, 1), WorkOn(dir, &bench));
    CHECK(bench.asked == std::vector<std::string>{"1", "2", "4"});
    CHECK(OthersIn(sweep.points[2]) == doctest::Approx(0.25));
  }

  TEST_CASE("a first run that began with a cold page cache is repeated, and the warm one counts") {
    test::ScratchDir dir;
    FakeBench bench(
        [&](const Spec& spec, int) { return Fast(spec, 0) - (bench.asked.size() == 1 ? 20 : 0); });
    bench.from_disk = [](size_t runs) { return runs == 0 ? 0.9 : 0.01; };
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kRerun, 1), WorkOn(dir, &bench));
    CHECK(bench.asked == std::vector<std::string>{"1", "1", "2", "4"});
    CHECK(Measured(sweep.points[0])->samples_per_s == 100);
    CHECK(sweep.points[0].runs.front().from_disk == doctest::Approx(0.01));
  }

  TEST_CASE("data that never fits into the page cache is no cold start") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    bench.from_disk = [](size_t) { return 0.6; };
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kRerun, 1), WorkOn(dir, &bench));
    // The first one could not know.
    CHECK(bench.asked == std::vector<std::string>{"1", "1", "2", "4"});
    CHECK(sweep.points[0].runs.front().from_disk == doctest::Approx(0.6));
  }

  TEST_CASE("a base that is not a point is run like one") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    Sweep planned = test::PlannedGrid(SweepMode::kRerun, 1);
    planned.points.erase(planned.points.begin() + 1);
    planned.base_point.reset();
    const Sweep sweep = Done(planned, WorkOn(dir, &bench));
    CHECK(bench.asked == std::vector<std::string>{"1", "4", "2"});
    CHECK(Measured(BaseOf(sweep))->samples_per_s == 200);
  }

  TEST_CASE("a failing point keeps its error, and the others continue") {
    test::ScratchDir dir;
    FakeBench bench(
        [](const Spec& spec, int) { return test::DecodeWorkers(spec) == 2 ? -1.0 : 100.0; });
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kRerun), WorkOn(dir, &bench));
    CHECK(bench.asked == std::vector<std::string>{"1", "2", "4", "1", "4"});
    CHECK(sweep.points[1].error == "it fell over");
    CHECK_FALSE(Measured(sweep.points[1]).has_value());
    CHECK(sweep.points[2].runs.size() == 2);
    CHECK(IsComplete(sweep));
  }

  TEST_CASE("a bench that cannot measure fails the sweep, not its points, and resuming goes on") {
    const Error no_lock{ErrorKind::kRun, "cannot acquire the measurement lock", "/a.lock", ""};
    test::ScratchDir dir;
    for (const size_t runs_before : {size_t{0}, size_t{4}}) {
      CAPTURE(runs_before);
      FakeBench bench(&Fast);
      bench.before = [&](size_t runs) {
        if (runs == runs_before) bench.broken = no_lock;
      };
      const auto failed = RunSweep(test::PlannedGrid(SweepMode::kRerun), WorkOn(dir, &bench));
      REQUIRE_FALSE(failed.ok());
      CHECK(failed.error().kind == ErrorKind::kRun);
      CHECK(failed.error().Line() == no_lock.Line());
      CHECK(bench.asked.size() == runs_before);
      const Sweep kept = replay::ReadSweepFile(dir / "s.json").value();
      size_t runs = 0;
      for (const replay::Point& point : kept.points) {
        CHECK(point.error.empty());
        runs += point.runs.size();
      }
      CHECK(runs == runs_before);
      FakeBench later(&Fast);
      CHECK(IsComplete(Done(test::PlannedGrid(SweepMode::kRerun), WorkOn(dir, &later, true))));
      CHECK(later.asked.size() == 6 - runs_before);
      std::filesystem::remove(dir / "s.json");
    }
  }

  TEST_CASE("a point with an invalid spec fails alone") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    Sweep planned = test::PlannedGrid(SweepMode::kRerun, 1);
    planned.points[0].set = {{"decode.ops", R"(["no_such_op"])"}};
    const Sweep sweep = Done(planned, WorkOn(dir, &bench));
    CHECK(sweep.points[0].error.find("no_such_op") != std::string::npos);
    CHECK(bench.asked == std::vector<std::string>{"2", "4"});
  }

  TEST_CASE("unexpectedly different batches are an error of the point") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    bench.before = [&](size_t runs) { bench.digest = runs == 2 ? "other" : "same"; };
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kRerun, 1), WorkOn(dir, &bench));
    CHECK(sweep.points[0].error.empty());
    CHECK(sweep.points[2].error.find("batches") != std::string::npos);
    CHECK(Measured(sweep.points[2]).has_value());
  }

  TEST_CASE("a stop keeps the finished points, and resuming continues") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    SweepWork work = WorkOn(dir, &bench);
    work.stop_requested = [&] { return bench.asked.size() == 4; };
    const Sweep half = Done(test::PlannedGrid(SweepMode::kRerun), work);
    CHECK_FALSE(IsComplete(half));
    CHECK(half.points[0].runs.size() == 2);
    CHECK(half.points[1].runs.size() == 1);
    FakeBench later(&Fast);
    const Sweep whole = Done(test::PlannedGrid(SweepMode::kRerun), WorkOn(dir, &later, true));
    CHECK(later.asked == std::vector<std::string>{"2", "4"});
    CHECK(IsComplete(whole));
  }

  TEST_CASE("an unwritable lease ends the sweep with an error that names the file") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    std::filesystem::create_directories(dir / "s.json.leases/point-1.lease");
    const auto done = RunSweep(test::PlannedGrid(SweepMode::kRerun), WorkOn(dir, &bench));
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().kind == ErrorKind::kRun);
    CHECK(done.error().where == dir / "s.json.leases/point-1.lease");
    CHECK(std::filesystem::exists(dir / "s.json.leases/point-1.lease"));
    std::filesystem::remove(dir / "s.json.leases/point-1.lease");
    CHECK(IsComplete(Done(test::PlannedGrid(SweepMode::kRerun), WorkOn(dir, &bench, true))));
  }

  TEST_CASE("a run stopped midway does not count") {
    test::ScratchDir dir;
    FakeBench bench(&Fast);
    bench.stop = true;
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kRerun), WorkOn(dir, &bench));
    CHECK(bench.asked.size() == 1);
    CHECK(sweep.points[0].runs.empty());
    CHECK(sweep.points[0].error.empty());
  }

  TEST_CASE("predictions come first, and are the same for any number of threads") {
    test::ScratchDir dir;
    replay::Predictor predictor = PredictorOf(dir);
    std::vector<std::string> texts;
    for (const unsigned threads : {1u, 3u}) {
      SweepWork work = WorkOn(dir, nullptr);
      work.file.path = dir / ("t" + std::to_string(threads) + ".json");
      work.predictor = &predictor;
      work.threads = threads;
      const Sweep sweep = Done(test::PlannedGrid(SweepMode::kSimulate), work);
      CHECK(IsComplete(sweep));
      for (const replay::Point& point : sweep.points) {
        REQUIRE(point.predicted.has_value());
        CHECK(point.predicted->low <= point.predicted->samples_per_s);
        CHECK(point.predicted->samples_per_s <= point.predicted->high);
      }
      texts.push_back(replay::WriteSweep(sweep));
    }
    CHECK(texts[0] == texts[1]);
  }

  TEST_CASE("a resumed simulation has the bytes of one that was never interrupted") {
    test::ScratchDir dir;
    replay::Predictor predictor = PredictorOf(dir);
    SweepWork work = WorkOn(dir, nullptr, true);
    work.predictor = &predictor;
    const std::string whole =
        replay::WriteSweep(Done(test::PlannedGrid(SweepMode::kSimulate), work));
    for (size_t size = whole.find("\"points\""); size < whole.size(); size += 97) {
      REQUIRE(WriteFileAtomically(dir / "s.json", whole.substr(0, size)).ok());
      if (!replay::ReadSweepFile(dir / "s.json").ok()) continue;
      CHECK(replay::WriteSweep(Done(test::PlannedGrid(SweepMode::kSimulate), work)) == whole);
    }
  }

  TEST_CASE("both modes: every point is predicted before the first run") {
    test::ScratchDir dir;
    replay::Predictor predictor = PredictorOf(dir);
    FakeBench bench(&Fast);
    SweepWork work = WorkOn(dir, &bench);
    work.predictor = &predictor;
    bench.before = [&](size_t) {
      const Sweep now = replay::ReadSweepFile(dir / "s.json").value();
      for (const replay::Point& point : now.points) CHECK(point.predicted.has_value());
    };
    const Sweep sweep = Done(test::PlannedGrid(SweepMode::kBoth, 1), work);
    CHECK(bench.asked.size() == 3);
    CHECK(IsComplete(sweep));
  }

  TEST_CASE("progress counts what its phase does, and no run of a configuration that failed") {
    test::ScratchDir dir;
    replay::Predictor predictor = PredictorOf(dir);
    FakeBench bench(&Fast);
    SweepWork work = WorkOn(dir, &bench);
    work.predictor = &predictor;
    std::vector<replay::SweepProgress> seen;
    work.progress = [&](const replay::SweepProgress& at) { seen.push_back(at); };
    Sweep planned = test::PlannedGrid(SweepMode::kBoth, 4);
    planned.points[0].error = "failed before";
    Done(planned, work);
    REQUIRE_FALSE(seen.empty());
    CHECK(seen.front().phase == replay::SweepPhase::kPredictions);
    CHECK(seen.front().done == 3);
    CHECK(seen.front().total == 3);
    CHECK(seen.back().phase == replay::SweepPhase::kRuns);
    CHECK(seen.back().done == 8);
    CHECK(seen.back().total == 8);
  }
}
