#include "replay/workbench/workbench.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "analyzer/base/file.h"
#include "replay/sweep/sweep_file.h"
#include "replay/workbench/replaying.h"
#include "replay/workbench/tuning.h"
#include "tests/support/paths.h"

using namespace stallscope;
using namespace stallscope::workbench;

namespace {

std::string Sample(const std::string& name) { return test::SourceDir() + "/sample_traces/" + name; }

Opened OpenedSample(const std::string& name) {
  auto opened = Open({Sample(name)});
  REQUIRE(opened.ok());
  return std::move(opened).value();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an examined run has the attribution of the run, and what explains its stalls") {
    const auto run = Read({Sample("input_decode.sst")});
    REQUIRE(run.ok());
    const auto examined = Examine(run.value(), {});
    REQUIRE(examined.has_value());
    const auto alone = attribution::Attribute(*run.value());
    const attribution::Attribution& found = *examined->opened.attribution;
    CHECK(found.window.ns() == alone.window.ns());
    REQUIRE(found.blame.size() == alone.blame.size());
    for (size_t i = 0; i < alone.blame.size(); ++i) CHECK(found.blame[i].ns == alone.blame[i].ns);
    CHECK(attribution::StallDetails(*examined->groundwork, 2).has_value());
  }

  TEST_CASE("warnings are given once per file, and reading stops when its watch says so") {
    ReadWatch watch;
    size_t warnings = 0;
    watch.on_warning = [&](const std::string&) { ++warnings; };
    const test::ScratchDir dir;
    std::filesystem::copy_file(Sample("inconclusive.sst"), dir / "cut.sst");
    std::filesystem::resize_file(dir / "cut.sst",
                                 std::filesystem::file_size(dir / "cut.sst") * 2 / 3);
    const auto run = Read({dir / "cut.sst"}, watch);
    REQUIRE(run.ok());
    REQUIRE(warnings > 0);
    CHECK(warnings == run.value()->quality.warnings.size());
    watch.on_progress = [](std::optional<double>) { return false; };
    CHECK_FALSE(Read({Sample("pytorch_workers_0.json.gz")}, watch).ok());
    CHECK_FALSE(Read({}).ok());
  }

  TEST_CASE("a run opened for its first epoch is reported on and replayed for it") {
    for (const RunPart part : {RunPart::kSteady, RunPart::kFirstEpoch}) {
      const auto opened = Open({Sample("input_decode.sst")}, {}, part);
      REQUIRE(opened.ok());
      const bool first = part == RunPart::kFirstEpoch;
      CHECK(opened.value().attribution->window.first_epoch == first);
      CHECK(Analyze(opened.value()).first_epoch == first);
      const auto subject =
          ReplaySubject::Make(opened.value(), {replay::SweepMode::kSimulate, false, "", {}, {}});
      REQUIRE(subject.ok());
      const auto grid = subject.value().ReadGrid({"decode.parallelism=1,2"}, {});
      REQUIRE(grid.ok());
      const replay::Sweep sweep = subject.value().PlanGrid(grid.value());
      CHECK(sweep.first_epoch == first);
      const bool said = std::any_of(
          sweep.warnings.begin(), sweep.warnings.end(),
          [](const std::string& text) { return text.find("first epoch") != std::string::npos; });
      CHECK(said == first);
    }
  }

  TEST_CASE("a canceled examination has no result") {
    const auto run = Read({Sample("input_decode.sst")});
    REQUIRE(run.ok());
    const std::atomic<bool> raised{true};
    const Control control{2, Cancel(raised)};
    CHECK_FALSE(Examine(run.value(), control).has_value());
    CHECK_FALSE(ExamineRange(run.value(), 0, 1'000'000, control).has_value());
  }

  TEST_CASE("a report is priced only if that is asked for") {
    const Opened opened = OpenedSample("input_decode.sst");
    const auto gains = [](const report::Report& report) {
      size_t count = 0;
      for (const auto& finding : report.findings) {
        count += finding.recommendation && finding.recommendation->gain ? size_t{1} : 0;
      }
      return count;
    };
    CHECK(gains(Analyze(opened)) > 0);
    CHECK_FALSE(Analyze(opened, {.price = false}).findings.empty());
  }

  TEST_CASE("a run without a spec is simulated, and run only by emulation") {
    const Opened opened = OpenedSample("pytorch_workers_0.json.gz");
    REQUIRE(SpecOf(opened).ok());
    const auto either = ReplaySubject::Make(opened, {});
    REQUIRE(either.ok());
    CHECK(either.value().mode() == replay::SweepMode::kSimulate);
    CHECK_FALSE(either.value().plan().has_value());
    ReplayOptions both;
    both.mode = replay::SweepMode::kBoth;
    const auto refused = ReplaySubject::Make(opened, both);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().kind == ErrorKind::kInput);
    both.emulate = true;
    const auto emulated = ReplaySubject::Make(opened, both);
    REQUIRE(emulated.ok());
    CHECK_FALSE(emulated.value().plan().has_value());  // nothing recorded is run
  }

  TEST_CASE("a grid is counted before it is planned, and simulated into its file") {
    const Opened opened = OpenedSample("input_decode.sst");
    ReplayOptions options;
    options.mode = replay::SweepMode::kSimulate;
    auto subject = ReplaySubject::Make(opened, options);
    REQUIRE(subject.ok());
    const auto grid = subject.value().ReadGrid({"decode.parallelism=1,2,4"}, {});
    REQUIRE(grid.ok());
    CHECK(grid.value().points == 3);
    CHECK_FALSE(subject.value().ReadGrid({"decode.paralelism=1"}, {}).ok());
    const test::ScratchDir dir;
    SweepRun how;
    how.output = dir / "sweep.json";
    size_t told = 0;
    how.progress = [&](const replay::SweepProgress&) { ++told; };
    const auto done = subject.value().Run(subject.value().PlanGrid(grid.value()), how);
    REQUIRE(done.ok());
    CHECK(replay::IsComplete(done.value()));
    CHECK(told > 0);
    CHECK(replay::ReadSweepFile(how.output).ok());
  }

  TEST_CASE("a stopped sweep keeps what is done and goes on from it") {
    const Opened opened = OpenedSample("input_decode.sst");
    ReplayOptions options;
    options.mode = replay::SweepMode::kSimulate;
    auto subject = ReplaySubject::Make(opened, options);
    REQUIRE(subject.ok());
    const auto grid = subject.value().ReadGrid({"decode.parallelism=1,2,4"}, {});
    REQUIRE(grid.ok());
    const replay::Sweep planned = subject.value().PlanGrid(grid.value());
    const test::ScratchDir dir;
    const std::atomic<bool> raised{true};
    SweepRun how;
    how.output = dir / "sweep.json";
    how.cancel = Cancel(raised);
    const auto stopped = subject.value().Run(planned, how);
    REQUIRE(stopped.ok());
    CHECK_FALSE(replay::IsComplete(stopped.value()));
    how.cancel = {};
    how.resume = true;
    const auto done = subject.value().Run(planned, how);
    REQUIRE(done.ok());
    CHECK(replay::IsComplete(done.value()));
  }

  TEST_CASE("a spec is distinguished from a trace by its content") {
    const auto trace = ReadIfSpec(Sample("pytorch_workers_0.json.gz"));
    REQUIRE(trace.ok());
    CHECK_FALSE(trace.value().has_value());
    const test::ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "spec.json",
                                R"({"stages": [{"name": "read", "source": {"format": "synthetic"}},
                                               {"name": "batch", "batch": {"size": 8}}]})")
                .ok());
    const auto spec = ReadIfSpec(dir / "spec.json");
    REQUIRE(spec.ok());
    CHECK(spec.value().has_value());
    TuneRequest request;
    request.input = dir / "spec.json";
    request.simulate_only = true;
    // A spec alone does not say what its stages cost.
    const auto subject = TuneSubject::Make(request, spec.value());
    REQUIRE_FALSE(subject.ok());
    CHECK(subject.error().kind == ErrorKind::kUsage);
  }

  TEST_CASE("a trace is tuned by simulation alone") {
    TuneRequest request;
    request.input = Sample("input_decode.sst");
    request.simulate_only = true;
    auto subject = TuneSubject::Make(request, std::nullopt);
    REQUIRE(subject.ok());
    CHECK(subject.value().runs() == 0);
    const auto tuned = subject.value().Run(Analyze(subject.value().opened()), {});
    REQUIRE(tuned.ok());
    CHECK(tuned.value().best.has_value());
  }

  TEST_CASE("what changes the data of a job is not verified: it is asked for by name") {
    auto run = std::make_shared<model::Run>();
    run->path = "run.sst";
    run->info.job.command = {"python", "train.py"};
    run->loaders.resize(1);
    run->loaders[0].name = "loader";
    run->loaders[0].info.settings_json = R"({"num_workers": 2, "iterable": true})";
    Opened opened{run, std::make_shared<const attribution::Attribution>()};
    CHECK(RecordedSpec(*run).ok());
    report::Report report;
    for (const char* path : {"loader.num_workers", "loader.prefetch_factor"}) {
      report::FindingRow finding;
      finding.recommendation.emplace();
      finding.recommendation->patch = Patch{{SetTo(path, int64_t{4})}};
      report.findings.push_back(finding);
    }
    const auto subject = ReplaySubject::Make(opened, {});
    REQUIRE_MESSAGE(subject.ok(), subject.error().Line());
    CHECK(subject.value().mode() == replay::SweepMode::kRerun);
    REQUIRE(subject.value().plan().has_value());
    CHECK(subject.value().plan()->NeedsYes());
    const replay::Sweep sweep = subject.value().PlanVerification(report);
    REQUIRE(sweep.points.size() == 1);
    CHECK(NameOf(sweep.points[0]) == "loader.prefetch_factor=4");
    CHECK(sweep.warnings.back().find("loader.num_workers=4") != std::string::npos);
    CHECK(subject.value().ReadGrid({"loader.num_workers=0,2,4"}, {}).value().points == 3);
    // By name it is done.
    CHECK(subject.value().With({"loader.num_workers=4"}).ok());
    ReplayOptions emulated;
    emulated.emulate = true;
    CHECK_FALSE(ReplaySubject::Make(opened, emulated).ok());
    run->info.job.command.emplace_back("--token=***");
    CHECK_FALSE(ReplaySubject::Make(opened, {}).ok());
    run->loaders.clear();
    run->info.job.command = {"python", "train.py"};
    CHECK_FALSE(RecordedSpec(*run).ok());
    CHECK_FALSE(ReplaySubject::Make(opened, {}).ok());
  }
}
