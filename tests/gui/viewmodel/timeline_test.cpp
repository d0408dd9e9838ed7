#include "gui/viewmodel/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "gui/viewmodel/selection.h"
#include "gui/viewmodel/timeline_hit.h"
#include "tests/gui/session/scene.h"
#include "tests/support/job_trace.h"

using namespace stallscope;
using namespace stallscope::viewmodel;
namespace intent = session::intent;
using test::Do;

namespace {

constexpr session::PanelSize kSize{1'000, 600, 8, 16};

struct Opened {
  test::ScratchDir dir;
  session::Session session{test::QuietOptions()};
  TimelineBuilder builder;

  explicit Opened(test::TraceBuilder& trace) {
    trace.Write(dir / "run.sst");
    Open(dir / "run.sst");
  }
  explicit Opened(const std::string& path) { Open(path); }
  void Open(const std::string& path) {
    test::OpenAndSettle(session, path);
    Do(session, intent::SetPanelSize{session::Panel::kTimeline, kSize},
       intent::ShowPanel{session::Panel::kTimeline});
  }
  std::shared_ptr<const TimelineModel> Build() { return builder.Build(*session.state()); }
  const session::OpenRun& run() const { return test::ActiveRun(session); }
};

// What part of a column a track's spans cover, each instant once.
double BusyByHand(const model::Track& track, int64_t from, int64_t to) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (size_t i = 0; i < track.spans.size(); ++i) {
    const int64_t start = std::max(track.spans.start_ns[i], from);
    const int64_t end = std::min(track.spans.EndNs(i), to);
    if (start < end) spans.emplace_back(start, end);
  }
  std::sort(spans.begin(), spans.end());
  int64_t covered = 0;
  int64_t until = from;
  for (const auto& [start, end] : spans) {
    covered += std::max<int64_t>(end - std::max(start, until), 0);
    until = std::max(until, end);
  }
  return static_cast<double>(covered) / static_cast<double>(to - from);
}

const LaneRow* RowOf(const TimelineModel& model, const std::string& key) {
  const auto row = std::find_if(model.rows.begin(), model.rows.end(),
                                [&](const LaneRow& lane) { return lane.key == key; });
  return row == model.rows.end() ? nullptr : &*row;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a thread's columns are within one percent of brute force, at any zoom") {
    for (const char* sample : {"input_decode", "input_read", "format_1_0"}) {
      Opened opened(test::SampleTrace(sample));
      for (int zoom = 0; zoom < 6; ++zoom) {
        const auto model = opened.Build();
        REQUIRE(model != nullptr);
        const auto bounds = timeline::ColumnBounds({model->visible.start_ns, model->visible.end_ns},
                                                   static_cast<size_t>(model->width));
        for (const LaneRow& row : model->rows) {
          // What lies inside other work covers no more than that does.
          const bool below = row.depth != kAllDepths && row.depth > 0;
          if (row.kind != LaneKind::kThread || below) continue;
          const model::Track& track = opened.run().run->tracks[row.track.value];
          REQUIRE(row.texels.size() == static_cast<size_t>(model->width));
          for (size_t k = 0; k < row.texels.size(); k += 7) {
            const double expected = BusyByHand(track, bounds[k], bounds[k + 1]);
            CHECK(std::fabs(row.texels[k].busy / 255.0 - expected) <= 0.01);
          }
        }
        Do(opened.session, intent::Zoom{6, {}});
      }
    }
  }

  TEST_CASE("rows are redrawn only when the view changes") {
    Opened opened(test::SampleTrace("input_decode"));
    const auto first = opened.Build();
    Do(opened.session, intent::Measure{session::Range{1, 2}});
    const auto same = opened.Build();
    CHECK(same->drawn == first->drawn);
    CHECK(same->measured.has_value());
    CHECK(same->rows[0].texels == first->rows[0].texels);
    Do(opened.session, intent::Zoom{2, {}});
    CHECK(opened.Build()->drawn > first->drawn);
  }

  TEST_CASE("a folded group draws its members in its head") {
    Opened opened(test::SampleTrace("input_contention"));
    const std::vector<Lane> plan = PlanLanes(opened.run(), {});
    const auto group = std::find_if(plan.begin(), plan.end(),
                                    [](const Lane& lane) { return lane.kind == LaneKind::kGroup; });
    REQUIRE(group != plan.end());
    REQUIRE(group->members.size() > 1);
    const size_t before = opened.Build()->rows.size();
    Do(opened.session, intent::ToggleLane{group->key});
    const auto folded = opened.Build();
    const LaneRow* const head = RowOf(*folded, group->key);
    REQUIRE(head != nullptr);
    CHECK(head->collapsed);
    CHECK(folded->rows.size() < before + 1);
    CHECK(RowOf(*folded, "track:" + std::to_string(group->members[0].value)) == nullptr);
    CHECK(std::any_of(head->texels.begin(), head->texels.end(),
                      [](const Texel& texel) { return texel.busy > 0; }));
    Do(opened.session, intent::ToggleLane{group->key});
    CHECK(opened.Build()->rows.size() == before);
  }

  TEST_CASE("a job's threads are grouped by process, the program's first") {
    test::TraceBuilder trace;
    test::BuildJob(trace);
    Opened opened(trace);
    std::vector<std::string> names;
    for (const Lane& lane : PlanLanes(opened.run(), {})) {
      names.push_back(std::string(static_cast<size_t>(lane.indent), ' ') + lane.name + ": " +
                      lane.detail);
    }
    CHECK(names == std::vector<std::string>{"steps: ", "device: where its time goes",
                                            "train.py: pid 700", "worker 0: pid 711, 2 threads",
                                            " worker 0: 2 levels", " worker 0 feeder: 6 spans",
                                            "worker 1: pid 712, 2 threads", " worker 1: 2 levels",
                                            " worker 1 feeder: 6 spans",
                                            "counters of processes: 18 in all"});
    const std::vector<Lane> unfolded =
        PlanLanes(opened.run(), {"process counters", "counters:1", "process:1", "process:2"});
    const auto counter = std::find_if(unfolded.begin(), unfolded.end(),
                                      [](const Lane& lane) { return lane.name == "rss"; });
    REQUIRE(counter != unfolded.end());
    CHECK(counter->indent == 2);
    CHECK(std::none_of(unfolded.begin(), unfolded.end(),
                       [](const Lane& lane) { return lane.name == "worker 1 feeder"; }));
  }

  TEST_CASE("many workers are one group, folded") {
    test::TraceBuilder trace;
    test::BuildJob(trace, {.workers = 64, .steps = 256});
    Opened opened(trace);
    const std::vector<Lane> folded = PlanLanes(opened.run(), {});
    const auto workers = std::find_if(folded.begin(), folded.end(), [](const Lane& lane) {
      return lane.name == "loader workers";
    });
    REQUIRE(workers != folded.end());
    CHECK(workers->detail == "64 processes");
    CHECK(workers->collapsed);
    CHECK(workers->members.size() == 128);
    CHECK(folded.size() == 5);  // steps, device, train.py, workers, counters
    const std::vector<Lane> open = PlanLanes(opened.run(), {workers->key});
    CHECK(open.size() == folded.size() + 64);
  }

  TEST_CASE("a job's stall leads through the worker to the op and its line") {
    test::TraceBuilder trace;
    test::BuildJob(trace);
    Opened opened(trace);
    Do(opened.session, intent::SelectStep{5, true});
    opened.session.Settle();
    const SelectionModel stall = DescribeSelection(*opened.session.state());
    CHECK(stall.text.starts_with("step 5 waited 7.00 ms (7,000,000 ns): fetch blocked "));
    CHECK(stall.lead == "worker 1 (pid 712): fetch for 6.50 ms, of which Store.get 3.00 ms");
    CHECK(stall.place.whole == "/home/u/train.py:17");
    CHECK(stall.place.brief == "train.py:17");
    const auto model = opened.Build();
    CHECK(std::any_of(model->chain.begin(), model->chain.end(), [](const ChainPiece& piece) {
      return piece.text == "Store.get: blocked, 3.00 ms" && piece.row != kNoRow;
    }));
    // The span itself, selected, and its tooltip.
    const LaneRow* const lane = RowOf(*model, "track:1");
    REQUIRE(lane != nullptr);
    const double x = XAtTime(*model, 20'000'000);
    const TimelineHit hit = HitTest(*model, *opened.session.state(), x, lane->y + 0.5);
    REQUIRE(hit.interval.has_value());
    const auto lines = TooltipOf(*model, *opened.session.state(), hit);
    CHECK(std::find(lines.begin(), lines.end(), "on worker 0 of worker 0 (pid 711)") !=
          lines.end());
    CHECK(lines.back() == "train.py:17");
    Do(opened.session, intent::Select{{.interval = hit.interval}, false});
    const SelectionModel span = DescribeSelection(*opened.session.state());
    CHECK(span.lead == "worker 0 (pid 711)");
    CHECK(span.place.whole == "/home/u/train.py:17");
  }

  TEST_CASE("nested work has one row per depth, or one when folded") {
    test::TraceBuilder trace;
    const StageId decode = trace.Stage("decode");
    const StageId read = trace.Stage("read");
    const TrackId worker = trace.Thread("decode 0", decode);
    trace.Work(worker, read, 2'000'000, 4'000'000, ItemId{1});
    trace.Work(worker, decode, 1'000'000, 9'000'000, ItemId{1});
    trace.Seal(10'000'000);
    Opened opened(trace);
    const auto model = opened.Build();
    const LaneRow* const outer = RowOf(*model, "track:0");
    const LaneRow* const inner = RowOf(*model, "track:0/1");
    REQUIRE(outer != nullptr);
    REQUIRE(inner != nullptr);
    CHECK(outer->group);
    CHECK(inner->y > outer->y);
    const auto at = static_cast<size_t>(XAtTime(*model, 3'000'000));
    CHECK(outer->texels[at].paint == PaintOfStage(decode));
    CHECK(inner->texels[at].paint == PaintOfStage(read));
    CHECK(inner->texels[static_cast<size_t>(XAtTime(*model, 6'000'000))].busy == 0);
    const session::State& state = *opened.session.state();
    const auto x = static_cast<double>(at);
    const auto hit = HitTest(*model, state, x, static_cast<double>(inner->y) + 0.2);
    REQUIRE(hit.interval.has_value());
    CHECK(hit.interval->index == 0);
    CHECK(HitTest(*model, state, x, static_cast<double>(outer->y) + 0.2).interval->index == 1);
    session::Selection selection;
    selection.interval = hit.interval;
    Do(opened.session, intent::Select{selection, false});
    const auto selected = opened.Build()->selected;
    REQUIRE(selected.has_value());
    CHECK(opened.Build()->rows[selected->row].key == "track:0/1");

    Do(opened.session, intent::ToggleLane{"track:0"});
    const auto folded = opened.Build();
    CHECK(RowOf(*folded, "track:0/1") == nullptr);
    CHECK(RowOf(*folded, "track:0")->texels[at].paint == PaintOfStage(read));
  }

  TEST_CASE("the pointer hits the span at that instant") {
    Opened opened(test::SampleTrace("input_decode"));
    Do(opened.session, intent::Zoom{20, {}});
    const auto model = opened.Build();
    size_t hits = 0;
    for (const LaneRow& row : model->rows) {
      if (row.kind != LaneKind::kThread) continue;
      for (int x = 3; x < model->width; x += 50) {
        const TimelineHit hit =
            HitTest(*model, *opened.session.state(), x + 0.5, static_cast<double>(row.y) + 0.5);
        CHECK(&model->rows[hit.row] == &row);
        if (!hit.interval.has_value()) continue;
        ++hits;
        const session::SpanRow span = opened.run().spans->At(*hit.interval);
        CHECK(span.ref.track == row.track);
        // In the same column at least.
        const int64_t column = model->visible.ns() / model->width + 1;
        CHECK(span.start_ns <= hit.time_ns + column);
        CHECK(span.start_ns + span.duration_ns > hit.time_ns);
        const auto lines = TooltipOf(*model, *opened.session.state(), hit);
        REQUIRE(lines.size() >= 4);
        CHECK(lines[1].find(" ns") != std::string::npos);
      }
    }
    CHECK(hits > 10);
    CHECK(HitTest(*model, *opened.session.state(), -1, 0).row == kNoRow);
    CHECK(HitTest(*model, *opened.session.state(), 1, 1e9).row == kNoRow);
  }

  TEST_CASE("a selected stall has its band, chain and path") {
    test::TraceBuilder trace;
    test::BuildSteps(trace, 40);
    trace.Seal(41'000'000);
    Opened opened(trace);
    Do(opened.session, intent::SelectStep{9, true}, intent::FollowItem{ItemId{9}});
    Do(opened.session, intent::FitSelection{});
    opened.session.Settle();
    const auto model = opened.Build();
    REQUIRE_FALSE(model->stalls.empty());
    CHECK(std::any_of(model->stalls.begin(), model->stalls.end(), [](const StallBand& band) {
      return band.selected && band.step_row == 9 && band.x1 > band.x0;
    }));
    REQUIRE_FALSE(model->chain.empty());
    CHECK(model->chain[0].row != kNoRow);
    CHECK(model->chain[0].text.find("decode: ") == 0);
    CHECK(XAtTime(*model, 10'000'000) ==
          doctest::Approx(static_cast<double>(model->chain[0].x0)).epsilon(0.01));
    REQUIRE_FALSE(model->path.empty());
    CHECK_FALSE(model->ticks.empty());
  }

  TEST_CASE("windows in which a stage was slowed are marked, others are not") {
    test::TraceBuilder trace;
    test::BuildSteps(trace, 40);
    const StageId slowed{0};
    trace.rows().Add(trace::Probe{10'000'000, 14'000'000, StageId::None(), 0, 0, 0});
    trace.rows().Add(trace::Probe{14'000'000, 18'000'000, slowed, 4, 400, 100});
    trace.Seal(41'000'000);
    Opened opened(trace);
    const auto model = opened.Build();
    REQUIRE(model->probes.size() == 1);
    const ProbeBand& band = model->probes[0];
    CHECK(band.brief == opened.run().run->NameOf(slowed));
    CHECK(band.text == band.brief + " slowed by 25%");
    CHECK(static_cast<double>(band.x0) == doctest::Approx(XAtTime(*model, 14'000'000)));
    CHECK(static_cast<double>(band.x1) == doctest::Approx(XAtTime(*model, 18'000'000)));
    const auto tip_at = [&](int64_t time_ns) {
      for (size_t row = 0; row < model->rows.size(); ++row) {
        const LaneRow& lane = model->rows[row];
        const double y = static_cast<double>(lane.y) + static_cast<double>(lane.height) / 2;
        const auto hit =
            HitTest(*model, *opened.session.state(), XAtTime(*model, time_ns) + 0.5, y);
        const auto lines = TooltipOf(*model, *opened.session.state(), hit);
        if (!lines.empty()) return lines.back();
      }
      return std::string();
    };
    CHECK(tip_at(16'000'000) == "causal check: " + band.text + " on purpose");
    CHECK(tip_at(12'000'000).find("causal check") == std::string::npos);
  }

  TEST_CASE("labels appear only where they fit") {
    Opened opened(test::SampleTrace("input_decode"));
    for (int zoom = 0; zoom < 8; ++zoom) {
      const auto model = opened.Build();
      for (const LaneRow& row : model->rows) {
        for (const Label& label : row.labels) {
          CHECK(label.x1 - label.x0 >= 2 * kSize.character);
          CHECK(label.brief.size() < label.text.size());
          if (row.kind == LaneKind::kSteps) CHECK(label.text == "step " + label.brief);
          CHECK(label.x0 >= 0);
          CHECK(label.x1 <= static_cast<float>(model->width));
        }
      }
      Do(opened.session, intent::Zoom{4, {}});
    }
    const auto near = opened.Build();
    CHECK(std::any_of(near->rows.begin(), near->rows.end(),
                      [](const LaneRow& row) { return !row.labels.empty(); }));
  }

  TEST_CASE("x and time convert both ways") {
    Opened opened(test::SampleTrace("balanced"));
    const auto model = opened.Build();
    for (const double x : {0.0, 10.0, 333.3, static_cast<double>(model->width)}) {
      CHECK(XAtTime(*model, TimeAtX(*model, x)) == doctest::Approx(x).epsilon(1e-3));
    }
  }
}
