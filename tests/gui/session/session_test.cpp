#include "gui/session/session.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "analyzer/base/file.h"
#include "analyzer/base/thread.h"
#include "tests/gui/session/scene.h"
#include "tests/support/job_trace.h"

using namespace stallscope;
using namespace stallscope::session;
using test::ActiveRun;
using test::Do;
using test::KeepingOptions;
using test::OpenAndSettle;
using test::QuietOptions;
using test::SampleTrace;

namespace {

// A run of 40 steps of 1 ms, from 1 ms on, in a folder that goes with the test.
struct Opened {
  test::ScratchDir dir;
  std::string path = dir / "run.sst";
  Session session{QuietOptions()};

  Opened() {
    test::TraceBuilder trace;
    test::BuildSteps(trace, 40);
    trace.Seal(41'000'000);
    trace.Write(path);
    OpenAndSettle(session, path);
  }
  const State& state() const { return *session.state(); }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a session without a run ignores every intent") {
    Session session(QuietOptions());
    const auto before = session.state();
    CHECK_FALSE(session.Poll());
    CHECK(session.state() == before);
    Do(session, intent::Fit{}, intent::Zoom{2, {}}, intent::Pan{1}, intent::StepSame{1},
       intent::FitSelection{}, intent::GoBack{}, intent::AddBookmark{}, intent::ShowEvidence{},
       intent::Verify{}, intent::StartSweep{}, intent::ExportHtml{"x.html"}, intent::FindNext{1},
       intent::SelectSpanRows{0, 5}, intent::CloseRun{3}, intent::SwitchRun{3}, intent::Escape{});
    session.Settle();
    CHECK(session.state()->Active() == nullptr);
    CHECK(session.state()->bookmarks.empty());
  }

  TEST_CASE("a trace opens with every piece, and shows its whole range") {
    Opened opened;
    const OpenRun& run = ActiveRun(opened.session);
    CHECK(run.index != nullptr);
    CHECK(run.spans->size() == 80);
    CHECK(run.stalls->size() >= 36);
    CHECK(opened.state().shown.report->steps > 30);
    CHECK(opened.state().view.visible == Range{1'000, 41'000'000});
    CHECK(opened.state().settings.recent.front() == opened.path);
    CHECK(opened.state().jobs.empty());
    CHECK_FALSE(run.following);
  }

  TEST_CASE("a job that trains late opens at its steps") {
    const test::ScratchDir dir;
    test::TraceBuilder trace;
    test::BuildJob(trace, {.trains_at_ns = 2'000'000'000});
    trace.Write(dir / "train.sst");
    Session session(QuietOptions());
    test::OpenAndSettle(session, dir / "train.sst");
    const Range steps = session.state()->view.visible;
    CHECK(steps.start_ns > 1'900'000'000);
    CHECK(steps.start_ns < 2'000'000'000);
    Do(session, intent::Fit{});
    CHECK(session.state()->view.visible.start_ns == 1'000);
    CHECK(session.state()->view.visible.end_ns > steps.end_ns - 20'000'000);
  }

  TEST_CASE("a session whose n-th worker gets no thread settles, with a notice") {
    const Opened opened;
    for (uint64_t n = 1; n <= 8; ++n) {
      const ThreadStartFault fault(n);
      Session session(QuietOptions());
      Do(session, intent::OpenFile{opened.path, false});
      session.Settle();
      Do(session, intent::ShowPanel{Panel::kSpans}, intent::Find{"decode"});
      session.Settle();
      CHECK(session.state()->jobs.empty());
      if (fault.starts() < n) continue;
      // Analyses go on with fewer threads; what has none at all is said.
      const bool said =
          std::any_of(session.state()->notices.begin(), session.state()->notices.end(),
                      [](const Notice& notice) {
                        return notice.text.find("cannot start another thread") != std::string::npos;
                      });
      CHECK((said || ActiveRun(session).stage == OpenStage::kReady));
      if (n == 1) {
        CHECK(said);
        CHECK(ActiveRun(session).stage == OpenStage::kFailed);
      }
    }
  }

  TEST_CASE("a file that cannot be opened is reported once, and opens when it appears") {
    const test::ScratchDir dir;
    Session session(QuietOptions());
    Do(session, intent::OpenFile{dir / "none.sst", false});
    session.Settle();
    CHECK(ActiveRun(session).stage == OpenStage::kFailed);
    CHECK(ActiveRun(session).error->where.find("none.sst") != std::string::npos);
    CHECK(session.state()->notices.size() == 1);
    std::filesystem::copy_file(SampleTrace("balanced"), dir / "none.sst");
    Do(session, intent::OpenFile{dir / "none.sst", false});
    session.Settle();
    CHECK(ActiveRun(session).stage == OpenStage::kReady);
  }

  TEST_CASE("zoom keeps the instant under the pointer, and stays within the run") {
    Opened opened;
    const int64_t at = 11'000'000;
    const auto part = [&] {
      const Range now = opened.state().view.visible;
      return static_cast<double>(at - now.start_ns) / static_cast<double>(now.ns());
    };
    const double before = part();
    Do(opened.session, intent::Zoom{4, at});
    CHECK(part() == doctest::Approx(before).epsilon(1e-4));
    CHECK(opened.state().view.visible.ns() == doctest::Approx(41e6 / 4).epsilon(1e-3));
    Do(opened.session, intent::Zoom{1e30, at});
    CHECK(opened.state().view.visible.ns() == 16);
    Do(opened.session, intent::Zoom{1e-30, at});
    CHECK(opened.state().view.visible == Range{1'000, 41'000'000});
    Do(opened.session, intent::Zoom{2, {}}, intent::Pan{-50});
    CHECK(opened.state().view.visible.start_ns == 1'000);
    Do(opened.session, intent::Pan{1e300});
    CHECK(opened.state().view.visible.end_ns == 41'000'000);
  }

  TEST_CASE("undo goes back one view; the moves of a gesture are one") {
    Opened opened;
    const View begin = opened.state().view;
    Do(opened.session, intent::Zoom{2, {}}, intent::Zoom{2, {}}, intent::Pan{0.5});
    const View moved = opened.state().view;
    Do(opened.session, intent::ShowPanel{Panel::kSteps});
    Do(opened.session, intent::ShowRange{{2'000'000, 3'000'000}, false});
    Do(opened.session, intent::ShowRange{{2'100'000, 3'100'000}, true});
    Do(opened.session, intent::GoBack{});
    CHECK(opened.state().view.panel == Panel::kSteps);
    CHECK(opened.state().view.visible == moved.visible);
    Do(opened.session, intent::GoBack{}, intent::GoBack{});
    CHECK(opened.state().view == begin);
    CHECK_FALSE(opened.state().can_go_back);
    Do(opened.session, intent::GoForward{}, intent::GoForward{}, intent::GoForward{});
    CHECK(opened.state().view.visible == Range{2'100'000, 3'100'000});
    CHECK_FALSE(opened.state().can_go_forward);
  }

  TEST_CASE("a range limits the figures to its steps, and Esc clears it") {
    Opened opened;
    Do(opened.session, intent::Measure{Range{20'000'000, 10'000'000}});
    CHECK(opened.state().measured == Range{10'000'000, 20'000'000});
    Do(opened.session, intent::LimitRange{opened.state().measured});
    CHECK_FALSE(opened.state().measured.has_value());
    opened.session.Settle();
    REQUIRE(opened.state().shown.range.has_value());
    CHECK(opened.state().shown.report->steps == 10);
    Do(opened.session, intent::Escape{});
    opened.session.Settle();
    CHECK_FALSE(opened.state().shown.range.has_value());
    CHECK(opened.state().shown.report->steps > 30);
  }

  TEST_CASE("a selected step is explained, and a followed batch has its path") {
    Opened opened;
    Do(opened.session, intent::SelectStep{7, true}, intent::FollowItem{ItemId{7}});
    opened.session.Settle();
    CHECK(opened.state().view.panel == Panel::kTimeline);
    REQUIRE_FALSE(opened.state().explanation.chain.empty());
    CHECK(opened.state().explanation.chain.front().start_ns == 8'000'000);
    REQUIRE(opened.state().explanation.path.has_value());
    CHECK(opened.state().explanation.path->step == 7);
    Do(opened.session, intent::StepSame{1});
    opened.session.Settle();
    CHECK(opened.state().explanation.step_row == 8);
    CHECK(opened.state().explanation.chain.front().start_ns == 9'000'000);
    Do(opened.session, intent::Escape{});
    opened.session.Settle();
    CHECK(opened.state().explanation.chain.empty());
  }

  TEST_CASE("a superseded explanation stops") {
    Session session(QuietOptions());
    OpenAndSettle(session, SampleTrace("input_decode"));
    // Many in one go: all but the last are asked to end before they can hand anything over.
    for (uint64_t step = 20; step < 30; ++step) Do(session, intent::SelectStep{step});
    session.Poll();
    const auto going_on = std::count_if(
        session.state()->jobs.begin(), session.state()->jobs.end(),
        [](const Job& job) { return job.kind == JobKind::kExplain && !job.cancelled; });
    CHECK(going_on <= 1);
    session.Settle();
    CHECK(session.state()->explanation.step_row == 29);
    const auto last = session.state()->explanation.chain;
    Do(session, intent::SelectStep{20});
    session.Settle();
    Do(session, intent::SelectStep{29});
    session.Settle();
    CHECK(session.state()->explanation.chain.size() == last.size());
  }

  TEST_CASE("a range whose analysis is canceled limits nothing") {
    Session session(QuietOptions());
    OpenAndSettle(session, SampleTrace("input_decode"));
    const Range whole = session.state()->view.visible;
    Do(session, intent::LimitRange{Range{whole.start_ns, whole.start_ns + whole.ns() / 2}});
    for (const Job& job : session.state()->jobs) {
      if (job.kind == JobKind::kAnalyze) Do(session, intent::CancelJob{job.number});
    }
    session.Settle();
    // It may have been done before it could be canceled.
    CHECK(session.state()->view.range == session.state()->shown.range);
  }

  TEST_CASE("next and previous step through one stage's spans, and stop at the ends") {
    Opened opened;
    Selection first;
    first.interval = IntervalRef{IntervalKind::kSpan, TrackId{0}, 0};
    Do(opened.session, intent::Select{first, false}, intent::StepSame{-1});
    CHECK(opened.state().view.selected.interval->index == 0);
    Do(opened.session, intent::StepSame{1}, intent::StepSame{1});
    CHECK(opened.state().view.selected.interval->index == 2);
  }

  TEST_CASE("find wraps around its hits") {
    Opened opened;
    Do(opened.session, intent::Find{"kind=wait"});
    opened.session.Settle();
    CHECK(opened.state().find_hits == 40);
    CHECK(opened.state().view.selected.interval->index == 0);
    Do(opened.session, intent::FindNext{-1});
    CHECK(opened.state().find_at == 39);
    CHECK(opened.state().view.selected.interval->index == 39);
    Do(opened.session, intent::FindNext{1});
    CHECK(opened.state().find_at == 0);
    Do(opened.session, intent::Find{"nowhere"});
    opened.session.Settle();
    CHECK(opened.state().find_hits == 0);
  }

  TEST_CASE("spans are listed on demand, within the range") {
    Opened opened;
    CHECK(opened.state().spans.list == nullptr);
    Do(opened.session, intent::ShowPanel{Panel::kSpans});
    opened.session.Settle();
    REQUIRE(opened.state().spans.list != nullptr);
    CHECK(opened.state().spans.list->rows.size() == 80);
    Do(opened.session, intent::SelectSpanRows{0, 10});
    opened.session.Settle();
    CHECK(opened.state().spans.statistics->count == 10);
    SpanQuery query;
    query.filter = "kind=work";
    Do(opened.session, intent::QuerySpans{query},
       intent::LimitRange{Range{10'000'000, 20'000'000}});
    opened.session.Settle();
    CHECK(opened.state().spans.list->rows.size() == 10);
    CHECK(opened.state().spans.statistics == nullptr);
    query.filter = "duration>soon";
    Do(opened.session, intent::QuerySpans{query});
    opened.session.Settle();
    CHECK(opened.state().spans.error.has_value());
    CHECK(opened.state().spans.list->rows.size() == 10);
  }

  TEST_CASE("bookmarks and the view are saved beside the unchanged trace") {
    const test::ScratchDir dir;
    const std::string path = dir / "run.sst";
    std::filesystem::copy_file(SampleTrace("input_decode"), path);
    const auto bytes = ReadWholeFile(path, 1 << 20).value();
    Range seen;
    {
      Session session(KeepingOptions());
      OpenAndSettle(session, path);
      Do(session, intent::Zoom{4, {}}, intent::AddBookmark{"here"}, intent::ToggleLane{"stage:1"});
      seen = session.state()->view.visible;
    }
    CHECK(ReadWholeFile(path, 1 << 20).value() == bytes);
    Session session(KeepingOptions());
    OpenAndSettle(session, path);
    CHECK(session.state()->view.visible == seen);
    REQUIRE(session.state()->bookmarks.size() == 1);
    CHECK(session.state()->bookmarks[0].name == "here");
    CHECK(session.state()->layout.collapsed.count("stage:1") == 1);
    Do(session, intent::Fit{}, intent::GoToBookmark{0});
    CHECK(session.state()->view.visible == seen);
  }

  TEST_CASE("looking at a trace leaves nothing beside it") {
    const test::ScratchDir dir;
    std::filesystem::copy_file(SampleTrace("balanced"), dir / "run.sst");
    {
      Session session(KeepingOptions());
      OpenAndSettle(session, dir / "run.sst");
      // Also one that another run was looked at after, and whose panels were gone through.
      Do(session, intent::ShowPanel{Panel::kTimeline}, intent::Zoom{4, {}}, intent::Fit{});
      OpenAndSettle(session, SampleTrace("balanced"));
      Do(session, intent::ShowPanel{Panel::kSteps});
    }
    CHECK_FALSE(std::filesystem::exists(SampleTrace("balanced") + ".view"));
    CHECK_FALSE(std::filesystem::exists(dir / "run.sst.view"));
  }

  TEST_CASE("two runs keep their own views, and are compared") {
    Session session(QuietOptions());
    OpenAndSettle(session, SampleTrace("input_decode"));
    const RunNumber first = session.state()->active;
    Do(session, intent::Zoom{8, {}});
    const Range zoomed = session.state()->view.visible;
    OpenAndSettle(session, SampleTrace("input_blocked"));
    CHECK(session.state()->view.visible != zoomed);
    Do(session, intent::SetBase{first});
    session.Settle();
    REQUIRE(session.state()->compare.comparison != nullptr);
    CHECK(session.state()->compare.comparison->base_runs == 1);
    Do(session, intent::SwitchRun{first});
    CHECK(session.state()->view.visible == zoomed);
    session.Settle();
    CHECK(session.state()->compare.comparison == nullptr);  // a run against itself
    const RunNumber active = session.state()->active;
    Do(session, intent::CloseRun{active});
    session.Settle();
    CHECK(session.state()->runs.size() == 1);
    CHECK(session.state()->active != active);
    CHECK(session.state()->compare.base == kNoRun);
  }

  TEST_CASE("evidence jumps to its place on the timeline") {
    Session session(QuietOptions());
    OpenAndSettle(session, SampleTrace("input_decode"));
    const auto& findings = session.state()->shown.report->findings;
    REQUIRE_FALSE(findings.empty());
    REQUIRE_FALSE(findings[0].evidence.empty());
    Do(session, intent::ShowEvidence{0, 0});
    CHECK(session.state()->view.panel == Panel::kTimeline);
    CHECK(session.state()->view.selected.finding == 0);
    Do(session, intent::ShowEvidence{0, 1'000}, intent::ShowEvidence{1'000, 0});
    Do(session, intent::GoBack{});
    CHECK(session.state()->view.panel == Panel::kOverview);
  }

  TEST_CASE("reports and listed spans are written to the given path") {
    Opened opened;
    Do(opened.session, intent::ExportHtml{});
    CHECK(opened.state().request.kind == Request::Kind::kSaveDialog);
    CHECK(opened.state().save == SaveWhat::kHtml);
    CHECK(opened.state().request.path == opened.dir / "run.html");
    Do(opened.session, intent::ExportHtml{opened.dir / "run.html"},
       intent::ShowPanel{Panel::kSpans});
    opened.session.Settle();
    CHECK(ReadWholeFile(opened.dir / "run.html", 1 << 24).value().find("<html") !=
          std::string::npos);
    Do(opened.session, intent::ExportSpans{opened.dir / "spans.csv"});
    opened.session.Settle();
    const std::string csv = ReadWholeFile(opened.dir / "spans.csv", 1 << 20).value();
    CHECK(csv.rfind("start_ns,duration_ns,track,kind,name,cause,item,bytes\r\n", 0) == 0);
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 81);
    Do(opened.session, intent::ExportHtml{opened.dir / "no/such/folder.html"});
    opened.session.Settle();
    CHECK(opened.state().notices.back().level == NoticeLevel::kError);
  }

  TEST_CASE("settings are saved for the next start") {
    const test::ScratchDir dir;
    SessionOptions options = QuietOptions();
    options.settings_path = dir / "settings.json";
    {
      Session session(options);
      Do(session, intent::SetTheme{Theme::kLight}, intent::SetScale{9},
         intent::SetWindowSize{1'000, 700});
    }
    const Settings kept = ReadSettings(dir / "settings.json");
    CHECK(kept.theme == Theme::kLight);
    CHECK(kept.scale == kLargestScale);
    CHECK(kept.window_width == 1'000);
  }

  TEST_CASE("the first start offers the samples and a tour, once") {
    SessionOptions options;
    options.samples = {SampleTrace("balanced")};
    Session session(options);
    CHECK(session.state()->overlay == Overlay::kTour);
    Do(session, intent::TourStep{1}, intent::TourStep{3});
    CHECK(session.state()->overlay == Overlay::kNone);
    CHECK(session.state()->settings.tour_done);
  }

  TEST_CASE("every sample opens, and so does a damaged one") {
    for (const auto& entry :
         std::filesystem::directory_iterator(test::SourceDir() + "/sample_traces")) {
      if (entry.path().extension() != ".sst") continue;
      CAPTURE(entry.path().string());
      Session session(QuietOptions());
      OpenAndSettle(session, entry.path().string());
      const test::ScratchDir dir;
      std::string bytes = ReadWholeFile(entry.path().string(), 1 << 24).value();
      bytes.resize(bytes.size() / 2);
      REQUIRE(WriteFileAtomically(dir / "half.sst", bytes).ok());
      OpenAndSettle(session, dir / "half.sst");
      CHECK_FALSE(ActiveRun(session).run->quality.Complete());
    }
  }

  TEST_CASE("a canceled opening leaves nothing behind") {
    // The worker is held where it first tells something, until it has been asked to end.
    std::atomic<bool> asked{false};
    SessionOptions options = QuietOptions();
    options.wake = [&] { asked.wait(false); };
    Session session(options);
    Do(session, intent::OpenFile{SampleTrace("input_decode"), false});
    session.Poll();
    REQUIRE(session.state()->jobs.size() == 1);
    CHECK(session.state()->jobs[0].kind == JobKind::kOpen);
    Do(session, intent::CancelJob{session.state()->jobs[0].number});
    asked = true;
    asked.notify_all();
    session.Settle();
    CHECK(session.state()->runs.empty());
    CHECK(session.state()->active == kNoRun);
    CHECK(session.state()->notices.empty());
  }
}
