// A user in each of the panels, and with what lies around them: each line of a script is one
// interaction.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/gui/views/script.h"
#include "tests/gui/views/stage.h"
#include "tests/support/paths.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using session::Overlay;
using session::Panel;
using session::Request;
using test::Ctrl;
using test::Play;
using test::Sample;
using test::Stage;
using viewmodel::Chord;
using viewmodel::Key;
using viewmodel::KeyOf;
namespace intent = session::intent;

namespace {

Chord CtrlShift(char key) { return {KeyOf(key), true, true, false}; }

template <class T>
void Do(Stage& stage, T asked) {
  session::Intents intents;
  intents.Add(std::move(asked));
  stage.Ask(intents);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a table is copied in each form") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    stage.Show(Panel::kPipeline);
    const auto copied = [&](const char* beginning) {
      const Request& request = stage.state().request;
      return request.kind == Request::Kind::kCopy && request.text.rfind(beginning, 0) == 0;
    };
    const auto click = [&](const char* text) {
      return [&stage, text] {
        stage.ClickWholeText("Copy");
        stage.ClickText(text);
      };
    };
    Play({
        {"Copy offers three forms", [&] { stage.ClickWholeText("Copy"); },
         [&] { return stage.Sees("Copy as Markdown"); }},
        {"Esc leaves it", [&] { stage.Key(Key::kEscape); },
         [&] { return !stage.Sees("Copy as Markdown"); }},
        {"CSV", click("Copy as CSV"), [&] { return copied("stage,kind,workers"); }},
        {"TSV", click("Copy as TSV"), [&] { return copied("stage\tkind\tworkers"); }},
        {"Markdown", click("Copy as Markdown"), [&] { return copied("| stage | kind"); }},
    });
  }

  TEST_CASE("stalls and steps lead to the timeline") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    stage.Show(Panel::kStalls);
    const auto selected = [&] { return stage.state().view.selected; };
    const auto at_timeline = [&] {
      return stage.state().view.panel == Panel::kTimeline && selected().step_row.has_value();
    };
    const auto back = [&] { stage.Press({Key::kLeft, false, false, true}); };
    Play({
        {"a cell of the matrix selects stage and cause",
         [&] {
           // The darkest one: nearly all of the stall is decode's.
           stage.ClickText(stage.snapshot().stalls->cells[1].back().text);
         },
         [&] { return selected().stage.known() && selected().cause.has_value(); }},
        {"another click takes it back",
         [&] { stage.ClickText(stage.snapshot().stalls->cells[1].back().text); },
         [&] { return !selected().cause.has_value(); }},
        {"one of the longest stalls leads to the timeline",
         [&] { stage.ClickText(stage.snapshot().stalls->worst.rows[0][1].text); }, at_timeline},
        {"which draws its chain", [] {}, [&] { return !stage.snapshot().timeline->chain.empty(); }},
        {". goes to the next step", [&] { stage.Key('.'); },
         [&] { return selected().step_row != std::optional<uint64_t>(); }},
        {"Alt+Left goes back",
         [&] {
           while (stage.state().view.panel == Panel::kTimeline && stage.state().can_go_back) back();
         },
         [&] { return stage.state().view.panel == Panel::kStalls; }},
        {"5 shows the steps", [&] { stage.Key('5'); },
         [&] { return stage.state().view.panel == Panel::kSteps; }},
        {"an outlier leads to the timeline",
         [&] {
           Do(stage, intent::Select{});
           stage.ClickWholeText(stage.snapshot().steps->outliers.rows[0][1].text);
         },
         at_timeline},
    });
  }

  TEST_CASE("a sweep is set up by clicks and fills its pictures") {
    const test::ScratchDir dir;
    std::filesystem::copy_file(Sample("input_decode"), dir / "run.sst");
    Stage stage;
    stage.Open(dir / "run.sst");
    stage.Show(Panel::kSweep);
    const auto sweep = [&]() -> const session::SweepState& { return stage.state().sweep; };
    Play({
        {"there are no points yet", [] {}, [&] { return stage.Sees("No points yet"); }},
        {"a knob is added by a click", [&] { stage.ClickText("decode.parallelism"); },
         [&] { return sweep().vary.size() == 1 && sweep().points > 1; }},
        {"and another one", [&] { stage.ClickWholeText("prefetch.buffer_size"); },
         [&] { return sweep().vary.size() == 2; }},
        {"Start predicts all points", [&] { stage.ClickWholeText("Start"); },
         [&] { return sweep().table != nullptr && sweep().table->rows.size() == sweep().points; }},
        {"there is a heat map", [] {}, [&] { return stage.snapshot().sweep->heat.has_value(); }},
        {"a knob is taken away", [&] { stage.ClickText("\xC3\x97"); },
         [&] { return sweep().vary.size() == 1; }},
    });
  }

  TEST_CASE("two runs are compared, with and without linked zoom") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    Do(stage, intent::OpenFile{Sample("input_contention"), true});
    stage.Show(Panel::kCompare);
    const auto model = [&]() -> const viewmodel::CompareModel& {
      return *stage.snapshot().compare;
    };
    const session::Range whole = stage.state().view.visible;
    const auto on_lanes = [&] {
      const ImVec2 at = stage.Find("device 0 compute").value_or(ImVec2());
      return ImVec2(at.x + 300, at.y);
    };
    session::Range base;
    Play({
        {"the statistics have answered", [] {}, [&] { return stage.Sees(model().answer); }},
        {"both sides have lanes", [] {},
         [&] { return !model().base.rows.empty() && !model().now.rows.empty(); }},
        {"the wheel zooms both", [&] { stage.Wheel(on_lanes(), 4); },
         [&] {
           return stage.state().view.visible.ns() < whole.ns() &&
                  model().base.visible.ns() == model().now.visible.ns();
         }},
        {"a drag moves both",
         [&] {
           base = model().base.visible;
           const ImVec2 at = on_lanes();
           stage.Drag(at, {at.x - 80, at.y});
         },
         [&] { return model().base.visible.start_ns > base.start_ns; }},
        {"the link is let go of", [&] { stage.ClickText("linked zoom"); },
         [&] { return !stage.state().compare.linked_zoom; }},
        {"the other one shows its whole again", [] {},
         [&] { return model().base.visible.ns() != model().now.visible.ns(); }},
        {"and linked again", [&] { stage.ClickText("linked zoom"); },
         [&] { return model().base.visible.ns() == model().now.visible.ns(); }},
        {"the stage table is copied",
         [&] {
           stage.ClickWholeText("Copy");
           stage.ClickText("Copy as CSV");
         },
         [&] { return stage.state().request.kind == Request::Kind::kCopy; }},
    });
  }

  TEST_CASE("a spec is checked as it is typed") {
    Stage stage;
    stage.Show(Panel::kRecord);
    const auto record = [&]() -> const session::RecordState& { return stage.state().record; };
    Play({
        {"the example is valid", [] {}, [&] { return stage.Sees("The spec is valid."); }},
        {"a stray sign is an error with its line",
         [&] {
           stage.ClickText("drop_remainder");
           stage.Key(Key::kHome);
           stage.Type("?");
         },
         [&] { return record().problem.has_value() && stage.Sees("line 6"); }},
        {"which cannot be recorded", [&] { stage.Key(Key::kF5); },
         [&] { return !record().running; }},
        {"taking it back makes it valid", [&] { stage.Key(Key::kBackspace); },
         [&] { return !record().problem.has_value(); }},
        {"knobs are filtered",
         [&] {
           stage.ClickText("Filter knobs");
           stage.Type("batch.size");
         },
         [&] { return stage.look().memory.knob_filter == "batch.size"; }},
        {"Save asks where to", [&] { stage.ClickWholeText("Save"); },
         [&] {
           return stage.state().request.kind == Request::Kind::kSaveDialog &&
                  stage.state().save == session::SaveWhat::kSpec;
         }},
    });
  }

  TEST_CASE("keys start exports") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    const auto asks = [&](session::SaveWhat what) {
      return [&stage, what] {
        return stage.state().request.kind == Request::Kind::kSaveDialog &&
               stage.state().save == what;
      };
    };
    Play({
        {"Ctrl+E for the report", [&] { stage.Press(Ctrl('E')); }, asks(session::SaveWhat::kHtml)},
        {"Ctrl+Shift+E for the panel", [&] { stage.Press(CtrlShift('E')); },
         asks(session::SaveWhat::kPicture)},
        {"the listed spans by a click",
         [&] {
           stage.Show(Panel::kSpans);
           stage.ClickText("Export CSV");
         },
         asks(session::SaveWhat::kTable)},
    });
  }

  TEST_CASE("bookmarks are kept and visited") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    stage.Show(Panel::kTimeline);
    const auto visible = [&] { return stage.state().view.visible; };
    const session::Range whole = visible();
    session::Range kept;
    Play({
        {"M keeps the whole", [&] { stage.Key('M'); },
         [&] { return stage.state().bookmarks.size() == 1; }},
        {"M keeps another place",
         [&] {
           stage.Key('W');
           stage.Key('W');
           kept = visible();
           stage.Key('M');
         },
         [&] { return stage.state().bookmarks.size() == 2; }},
        {"B goes to a bookmark",
         [&] {
           stage.Key('W');
           stage.Key('B');
         },
         [&] { return visible() == whole || visible() == kept; }},
        {"and to the next one",
         [&] {
           kept = visible();
           stage.Key('B');
         },
         [&] { return visible() != kept; }},
        {"a range is marked and L limits every panel to it",
         [&] {
           Do(stage, intent::Measure{session::Range{whole.start_ns, whole.start_ns + 100'000'000}});
           stage.Key('L');
         },
         [&] { return stage.state().view.range.has_value(); }},
        {"Esc gives the whole back", [&] { stage.Key(Key::kEscape); },
         [&] { return !stage.state().view.range.has_value(); }},
    });
  }

  TEST_CASE("themes, text sizes and the tour") {
    test::StageOptions options;
    options.samples = {Sample("input_decode")};
    Stage stage(options);
    const auto settings = [&]() -> const session::Settings& { return stage.state().settings; };
    double scale = 0;
    Play({
        {"Ctrl+T makes it light", [&] { stage.Press(Ctrl('T')); },
         [&] { return settings().theme == session::Theme::kLight; }},
        {"Ctrl+T makes it dark", [&] { stage.Press(Ctrl('T')); },
         [&] { return settings().theme == session::Theme::kDark; }},
        {"Ctrl+= makes text larger", [&] { stage.Press(Ctrl('=')); },
         [&] {
           scale = settings().scale;
           return scale > 1;
         }},
        {"Ctrl+- makes it smaller", [&] { stage.Press(Ctrl('-')); },
         [&] { return settings().scale < scale; }},
        {"Ctrl+0 as the screen says", [&] { stage.Press(Ctrl('0')); },
         [&] { return settings().scale == 0; }},
        {"the tour is a command", [&] { Do(stage, intent::TourStep{0}); },
         [&] { return stage.state().overlay == Overlay::kTour; }},
        {"it offers a sample", [&] { stage.ClickText("Open sample"); },
         [&] { return stage.state().Active() != nullptr; }},
        {"Next shows the timeline", [&] { stage.ClickWholeText("Next"); },
         [&] { return stage.state().view.panel == Panel::kTimeline; }},
        {"Next shows the findings", [&] { stage.ClickWholeText("Next"); },
         [&] { return stage.state().view.panel == Panel::kFindings; }},
        {"Back goes back", [&] { stage.ClickWholeText("Back"); },
         [&] { return stage.state().tour_step == 1; }},
        {"Next again", [&] { stage.ClickWholeText("Next"); },
         [&] { return stage.state().tour_step == 2; }},
        {"Done ends it, for good", [&] { stage.ClickWholeText("Done"); },
         [&] { return stage.state().overlay == Overlay::kNone && settings().tour_done; }},
        {"the run is closed with Ctrl+W", [&] { stage.Press(Ctrl('W')); },
         [&] { return stage.state().runs.empty(); }},
        {"it is among the recent ones", [] {},
         [&] { return stage.Sees("Recent") && settings().recent.size() == 1; }},
        {"a click opens it again", [&] { stage.ClickText("input_decode.sst"); },
         [&] { return stage.state().Active() != nullptr; }},
    });
  }
}
