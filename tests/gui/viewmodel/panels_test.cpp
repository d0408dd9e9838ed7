// Every panel of every sample: there, whole, and without a contradiction.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "gui/viewmodel/snapshot.h"
#include "tests/gui/session/scene.h"
#include "tests/support/job_trace.h"

using namespace stallscope;
using namespace stallscope::viewmodel;
namespace intent = session::intent;
using session::Panel;
using test::Do;

namespace {

void Look(session::Session& session, Composer& composer, Panel panel) {
  session::PanelSize size{1'200, 700, 8, 16};
  Do(session, intent::ShowPanel{panel}, intent::SetPanelSize{panel, size});
  session.Settle();
  composer.Compose(session.state());
}

// A recorded job with a loader and ops; with two workers, if it has no other shape.
void OpenJob(session::Session& session, const test::ScratchDir& dir,
             const test::JobShape& shape = {}) {
  test::TraceBuilder trace;
  test::BuildJob(trace, shape);
  trace.Write(dir / "train.sst");
  test::OpenAndSettle(session, dir / "train.sst");
}

// The advice for a job without workers. Its loader's constructor is called in line 41, up to
// `end_column`; its source is known from `source_line` on.
FindingCard CardOfWorkers(uint32_t end_column, uint32_t source_line, const std::string& source) {
  const test::ScratchDir dir;
  session::Session session(test::QuietOptions());
  test::JobShape shape;
  shape.workers = 0;
  shape.call = {41,    4,           41,    end_column, {"DataLoader"}, {"dataset"}, {"num_workers"},
                false, source_line, source};
  OpenJob(session, dir, shape);
  for (const FindingCard& card : BuildFindings(*session.state()).cards) {
    if (card.title == "loader-workers in fetch") return card;
  }
  FAIL("no finding about its workers");
  return {};
}

void CheckOverview(const OverviewModel& model) {
  CHECK_FALSE(model.verdict.empty());
  CHECK_FALSE(model.sentence.empty());
  double at = 0;
  for (const BreakdownPart& part : model.breakdown) {
    CHECK(part.begin == doctest::Approx(at));
    CHECK(part.end >= part.begin);
    at = part.end;
  }
  CHECK(at == doctest::Approx(1).epsilon(1e-6));
  CHECK(model.advice.empty() != model.no_advice.empty());
}

void CheckPipeline(const PipelineModel& model) {
  for (size_t i = 0; i < model.boxes.size(); ++i) {
    const StageBox& a = model.boxes[i];
    CHECK(a.x + a.width <= model.width);
    CHECK(a.y + a.height <= model.height);
    for (size_t k = i + 1; k < model.boxes.size(); ++k) {
      const StageBox& b = model.boxes[k];
      const bool apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y ||
                         b.y + b.height <= a.y;
      CHECK(apart);
    }
  }
  for (const Pipe& pipe : model.pipes) {
    CHECK(pipe.from < model.boxes.size());
    CHECK(pipe.to < model.boxes.size());
    CHECK(pipe.width > 0);
  }
}

void CheckAll(session::Session& session) {
  Composer composer;
  for (const Panel panel : session::kAllPanels) Look(session, composer, panel);
  const Snapshot& all = composer.Compose(session.state());
  REQUIRE(all.overview != nullptr);
  CheckOverview(*all.overview);
  REQUIRE(all.timeline != nullptr);
  CHECK_FALSE(all.timeline->rows.empty());
  REQUIRE(all.pipeline != nullptr);
  CheckPipeline(*all.pipeline);
  REQUIRE(all.stalls != nullptr);
  REQUIRE(all.steps != nullptr);
  REQUIRE(all.findings != nullptr);
  REQUIRE(all.sweep != nullptr);
  REQUIRE(all.compare != nullptr);
  CHECK_FALSE(all.compare->nothing.empty());
  REQUIRE(all.record != nullptr);
  CHECK(all.record->valid);
  REQUIRE(all.spans != nullptr);
  CHECK(all.spans->rows == all.spans->all);
  REQUIRE(all.run != nullptr);
  CHECK_FALSE(all.run->groups.empty());
  for (size_t row = 0; row < std::min<size_t>(all.spans->rows, 50); ++row) {
    CHECK_FALSE(SpanRowAt(*all.state, row).cells[0].empty());
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("overview: a run judged by the steps beside a profile has no share of step time") {
    const test::ScratchDir dir;
    session::Session session(test::QuietOptions());
    OpenJob(session, dir);
    session::State state = *session.state();
    CHECK(BuildOverview(state).sentence.find("of the time, mostly for fetch") != std::string::npos);
    report::Report report = *state.shown.report;
    report.verdict.beside_profile = true;
    state.shown.report = std::make_shared<report::Report>(report);
    CHECK(BuildOverview(state).sentence ==
          "The trainer waits for input, but hardly while the profiler is open.");
  }

  TEST_CASE("every panel of every sample has a model, with and without a range") {
    for (const auto& entry :
         std::filesystem::directory_iterator(test::SourceDir() + "/sample_traces")) {
      if (entry.path().extension() != ".sst") continue;
      CAPTURE(entry.path().string());
      session::SessionOptions options = test::QuietOptions();
      options.side_files = false;
      session::Session session(options);
      test::OpenAndSettle(session, entry.path().string());
      CheckAll(session);
      const session::Range whole = session.state()->view.visible;
      Do(session, intent::LimitRange{session::Range{whole.start_ns + whole.ns() / 3,
                                                    whole.start_ns + whole.ns() * 2 / 3}});
      session.Settle();
      Composer composer;
      for (const Panel panel : session::kAllPanels) Look(session, composer, panel);
      CheckOverview(*composer.Compose(session.state()).overview);
    }
  }

  TEST_CASE("the graph marks the verdict's bottleneck") {
    session::SessionOptions options = test::QuietOptions();
    options.side_files = false;
    session::Session session(options);
    test::OpenAndSettle(session, test::SampleTrace("input_decode"));
    const PipelineModel model = BuildPipeline(*session.state(), 200);
    size_t marked = 0;
    for (const StageBox& box : model.boxes) {
      if (!box.bottleneck) continue;
      ++marked;
      CHECK(box.name == "decode");
      CHECK(box.marked == "bottleneck: cpu");
    }
    CHECK(marked == 1);
    // Folded where the panel is narrow: nothing lies beyond its edge.
    const PipelineModel narrow = BuildPipeline(*session.state(), 40);
    CHECK(narrow.width <= 40);
    CHECK(narrow.height > model.height);
    CheckPipeline(narrow);
  }

  TEST_CASE("a comparison has a verdict, tables and linked lanes") {
    session::SessionOptions options = test::QuietOptions();
    options.side_files = false;
    session::Session session(options);
    test::OpenAndSettle(session, test::SampleTrace("input_decode"));
    const session::RunNumber base = session.state()->active;
    test::OpenAndSettle(session, test::SampleTrace("input_blocked"));
    Do(session, intent::SetBase{base});
    session.Settle();
    const CompareModel model = BuildCompare(*session.state(), 300);
    CHECK(model.nothing.empty());
    CHECK_FALSE(model.answer.empty());
    CHECK(model.totals.rows.size() > 5);
    CHECK_FALSE(model.stages.rows.empty());
    CHECK_FALSE(model.base.rows.empty());
    CHECK(model.base.visible.ns() == model.now.visible.ns());
    uint64_t steps = 0;
    for (const uint64_t bin : model.steps.base) steps += bin;
    CHECK(steps > 10);
    CHECK(steps <= 20);
  }

  TEST_CASE("an unchanged state is not composed again") {
    session::Session session(test::QuietOptions());
    Composer composer;
    const Snapshot& first = composer.Compose(session.state());
    const auto overview = first.overview;
    CHECK(composer.Compose(session.state()).overview == overview);
    Do(session, intent::SetTheme{session::Theme::kLight});
    CHECK(composer.Compose(session.state()).overview != overview);
  }

  TEST_CASE("every panel works with nothing open") {
    session::Session session(test::QuietOptions());
    Composer composer;
    for (const Panel panel : session::kAllPanels) Look(session, composer, panel);
    const Snapshot& all = composer.Compose(session.state());
    CHECK(all.timeline == nullptr);
    CHECK_FALSE(all.stalls->nothing.empty());
    CHECK_FALSE(all.pipeline->nothing.empty());
    CHECK_FALSE(all.compare->nothing.empty());
  }

  TEST_CASE("a job's settings are the knobs of its sweep, and its findings can be verified") {
    const test::ScratchDir dir;
    session::Session session(test::QuietOptions());
    OpenJob(session, dir);
    const SweepModel sweep = BuildSweep(*session.state());
    CHECK(sweep.nothing.empty());
    std::vector<std::string> paths;
    for (const KnobChoice& knob : sweep.knobs) paths.push_back(knob.path);
    CHECK(std::count(paths.begin(), paths.end(), "loader.num_workers") == 1);
    CHECK(std::count(paths.begin(), paths.end(), "job.steps") == 0);
    findings::Recommendation more;
    more.patch.changes.emplace_back(SetChange{"loader.num_workers", "4"});
    const session::OpenRun& open = *session.state()->Active();
    CHECK(WhyNotVerify(*open.run, more).empty());
  }

  TEST_CASE("a job's finding shows the line of its source, and its diff") {
    const FindingCard card = CardOfWorkers(18, 41, "l = DataLoader(ds)\n");
    CHECK(card.where == "/home/u/train.py:41");
    CHECK(card.diff.find("-l = DataLoader(ds)\n+l = DataLoader(ds, num_workers=") !=
          std::string::npos);
    CHECK(card.by_hand.empty());
    CHECK(card.source.empty());
  }

  TEST_CASE("a finding without a diff shows the source around its line") {
    const FindingCard card = CardOfWorkers(29, 37, "a\nb\nc\nd\nl = DataLoader(ds, **options)\ne");
    CHECK(card.diff.empty());
    CHECK(card.by_hand.size() == 1);
    CHECK(card.source == "  b\n  c\n  d\n> l = DataLoader(ds, **options)\n  e\n");
  }

  TEST_CASE("a job's stages show their ops, and its facts the loaders and processes") {
    const test::ScratchDir dir;
    session::Session session(test::QuietOptions());
    OpenJob(session, dir);
    const PipelineModel pipeline = BuildPipeline(*session.state(), 80);
    const auto fetch = std::find_if(pipeline.boxes.begin(), pipeline.boxes.end(),
                                    [](const StageBox& box) { return box.name == "fetch"; });
    REQUIRE(fetch != pipeline.boxes.end());
    CHECK(fetch->lines.back().find("% Store.get") != std::string::npos);
    CHECK(fetch->tooltip.back().find("Resize (transforms.py:80)") != std::string::npos);
    REQUIRE(pipeline.ops.rows.size() == 2);
    CHECK(pipeline.ops.rows[0][1].text == "Store.get");
    CHECK(pipeline.ops.rows[0].back().text == "19 (90.0%), 18 (10.0%)");
    CHECK(pipeline.ops.rows[1].back().text.empty());

    const RunFacts facts = BuildRunFacts(*session.state());
    const auto loader = std::find_if(
        facts.groups.begin(), facts.groups.end(),
        [](const FactGroup& group) { return group.title == "loader: DataLoader of Images"; });
    REQUIRE(loader != facts.groups.end());
    CHECK(std::any_of(loader->facts.begin(), loader->facts.end(), [](const Figure& fact) {
      return fact.name == "num_workers" && fact.text == "2";
    }));
    CHECK(facts.processes.rows.size() == 3);
    CHECK(facts.command_line == "python train.py --data 'a folder'");
  }

  TEST_CASE("a pipeline of our own has no ops of a job") {
    session::Session session(test::QuietOptions());
    test::OpenAndSettle(session, test::SampleTrace("input_decode"));
    CHECK(BuildPipeline(*session.state(), 80).ops.rows.empty());
    CHECK(BuildRunFacts(*session.state()).processes.rows.empty());
  }
}
