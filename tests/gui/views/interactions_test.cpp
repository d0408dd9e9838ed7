// A user with a mouse and a keyboard, and what becomes of the state: each line of a script is one
// interaction.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/gui/session/scene.h"
#include "tests/gui/views/script.h"
#include "tests/gui/views/stage.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using session::Overlay;
using session::Panel;
using test::Ctrl;
using test::Interaction;
using test::Play;
using test::Sample;
using test::Stage;
using viewmodel::Chord;
using viewmodel::Key;
using viewmodel::KeyOf;

namespace {

// In the middle of the lanes.
ImVec2 Middle(const Stage& stage) {
  const ImVec2 from = stage.LanesFrom();
  const ImVec2 to = stage.LanesTo();
  return {(from.x + to.x) / 2, (from.y + to.y) / 2};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("keys and wheel zoom and pan the timeline") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    stage.Show(Panel::kTimeline);
    const session::Range whole = stage.state().view.visible;
    session::Range before = whole;
    const auto now = [&] { return stage.state().view.visible; };
    const auto keep = [&](const std::function<void()>& act) {
      return [&stage, &before, act] {
        before = stage.state().view.visible;
        act();
      };
    };
    const auto narrower = [&] { return now().ns() < before.ns(); };
    const auto wider = [&] { return now().ns() > before.ns(); };
    const auto right = [&] {
      return now().start_ns > before.start_ns && now().ns() == before.ns();
    };
    const auto left = [&] { return now().start_ns < before.start_ns && now().ns() == before.ns(); };
    const auto same = [&] { return now() == before; };
    const ImVec2 middle = Middle(stage);
    const ImVec2 near_left(stage.LanesFrom().x + 20, middle.y);
    Play({
        {"the whole run is shown at first", [] {},
         [&] { return now() == whole && whole.ns() > 0; }},
        {"W zooms in", keep([&] { stage.Key('W'); }), narrower},
        {"W zooms in again", keep([&] { stage.Key('W'); }), narrower},
        {"S zooms out", keep([&] { stage.Key('S'); }), wider},
        {"W once more", keep([&] { stage.Key('W'); }), narrower},
        {"W and once more", keep([&] { stage.Key('W'); }), narrower},
        {"D moves right", keep([&] { stage.Key('D'); }), right},
        {"A moves left", keep([&] { stage.Key('A'); }), left},
        {"F fits the whole run", keep([&] { stage.Key('F'); }), [&] { return now() == whole; }},
        {"S cannot go beyond the whole run", keep([&] { stage.Key('S'); }), same},
        {"A cannot go before its start", keep([&] { stage.Key('A'); }), same},
        {"the wheel zooms in", keep([&] { stage.Wheel(middle, 1); }), narrower},
        {"the wheel zooms out", keep([&] { stage.Wheel(middle, -1); }), wider},
        {"the wheel at the left end keeps the start", keep([&] { stage.Wheel(near_left, 4); }),
         [&] { return narrower() && now().start_ns - whole.start_ns < whole.ns() / 50; }},
        {"Shift and the wheel move along", keep([&] { stage.Wheel(middle, -2, true); }), right},
        {"a drag to the left shows what comes later", keep([&] {
           stage.Drag(middle, {middle.x - 100, middle.y});
         }),
         right},
        {"a drag to the right shows what was before", keep([&] {
           stage.Drag(middle, {middle.x + 60, middle.y});
         }),
         left},
        {"Alt+Left undoes the drag", keep([&] {
           stage.Press({Key::kLeft, false, false, true});
         }),
         right},
        {"Alt+Right does it again", keep([&] {
           stage.Press({Key::kRight, false, false, true});
         }),
         left},
        {"F fits", keep([&] { stage.Key('F'); }), [&] { return now() == whole; }},
    });
  }

  TEST_CASE("a range is measured, limits the panels, and Esc clears it") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    stage.Show(Panel::kTimeline);
    const session::Range whole = stage.state().view.visible;
    const ImVec2 middle = Middle(stage);
    const auto label = stage.Find("200 ms");
    REQUIRE(label.has_value());
    const ImVec2 times(middle.x, label->y);
    Play({
        {"Shift and a drag mark a range",
         [&] {
           stage.Drag({middle.x - 200, middle.y}, {middle.x + 200, middle.y}, true);
         },
         [&] { return stage.state().measured && stage.state().view.visible == whole; }},
        {"its length is on the screen", [] {}, [&] { return stage.Sees(" ns)"); }},
        {"Clear takes it away", [&] { stage.ClickText("Clear"); },
         [&] { return !stage.state().measured; }},
        {"a drag along the times marks one, too",
         [&] {
           stage.Drag(times, {times.x + 150, times.y});
         },
         [&] { return stage.state().measured.has_value(); }},
        {"Zoom in shows just it", [&] { stage.ClickText("Zoom in"); },
         [&] { return stage.state().view.visible.ns() < whole.ns() / 2; }},
        {"Esc takes the mark away", [&] { stage.Key(Key::kEscape); },
         [&] { return !stage.state().measured; }},
        {"F fits the whole run", [&] { stage.Key('F'); },
         [&] { return stage.state().view.visible == whole; }},
        {"another mark from right to left",
         [&] {
           stage.Drag({middle.x + 300, middle.y}, {middle.x - 100, middle.y}, true);
         },
         [&] { return stage.state().measured && stage.state().measured->ns() > 0; }},
        {"limits every panel", [&] { stage.ClickText("Limit all panels"); },
         [&] { return stage.state().view.range && !stage.state().measured; }},
        {"the overview tells the range alone", [&] { stage.Show(Panel::kOverview); },
         [&] { return stage.Sees("Esc for the whole run"); }},
        {"the status says so", [] {}, [&] { return stage.Sees("limited to"); }},
        {"Esc gives the whole run back", [&] { stage.Key(Key::kEscape); },
         [&] { return !stage.state().view.range; }},
    });
  }

  TEST_CASE("the rail switches to every panel") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    std::vector<Interaction> script;
    for (const Panel panel : session::kAllPanels) {
      const std::string title(session::TitleOf(panel));
      script.push_back({"click " + title,
                        [&stage, panel] {
                          // The list is drawn first of all that has these words.
                          const auto at = stage.Find(std::string(session::TitleOf(panel)));
                          REQUIRE(at);
                          CHECK(at->x < 150);
                          stage.Click(*at);
                        },
                        [&stage, panel] { return stage.state().view.panel == panel; }});
    }
    Play(script);
    std::vector<Interaction> back;
    for (size_t i = session::kPanels; i-- > 1;) {
      const Panel before = session::kAllPanels[i - 1];
      back.push_back({"Alt+Left goes back to " + std::string(session::TitleOf(before)),
                      [&stage] {
                        stage.Press({Key::kLeft, false, false, true});
                      },
                      [&stage, before] { return stage.state().view.panel == before; }});
    }
    Play(back);
  }

  TEST_CASE("palette, help, path box and search open and close") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    const auto overlay = [&] { return stage.state().overlay; };
    const Chord palette{KeyOf('P'), true, true, false};
    Play({
        {"Ctrl+Shift+P opens the palette", [&] { stage.Press(palette); },
         [&] {
           return overlay() == Overlay::kPalette && stage.look().memory.palette_text.empty();
         }},
        {"letters filter it", [&] { stage.Type("timel"); },
         [&] { return stage.look().memory.palette_text == "timel"; }},
        {"Enter runs the best one", [&] { stage.Key(Key::kEnter); },
         [&] {
           return overlay() == Overlay::kNone && stage.state().view.panel == Panel::kTimeline;
         }},
        {"the palette opens again, empty", [&] { stage.Press(palette); },
         [&] {
           return overlay() == Overlay::kPalette && stage.look().memory.palette_text.empty();
         }},
        {"Down chooses the second", [&] { stage.Key(Key::kDown); },
         [&] { return stage.look().memory.palette_row == 1; }},
        {"Up the first again", [&] { stage.Key(Key::kUp); },
         [&] { return stage.look().memory.palette_row == 0; }},
        {"Esc closes it", [&] { stage.Key(Key::kEscape); },
         [&] { return overlay() == Overlay::kNone; }},
        {"nonsense finds nothing",
         [&] {
           stage.Press(palette);
           stage.Type("qqqq");
         },
         [&] { return stage.Sees("No matching commands"); }},
        {"a click beside it closes it",
         [&] {
           stage.Click({20, 880});
         },
         [&] { return overlay() == Overlay::kNone; }},
        {"? opens the help", [&] { stage.Key('?'); }, [&] { return overlay() == Overlay::kHelp; }},
        {"it lists keys", [] {}, [&] { return stage.Sees("Ctrl+O"); }},
        {"Esc closes the help", [&] { stage.Key(Key::kEscape); },
         [&] { return overlay() == Overlay::kNone; }},
        {"Ctrl+O asks for a file", [&] { stage.Press(Ctrl('O')); },
         [&] { return stage.state().request.kind == session::Request::Kind::kOpenDialog; }},
        {"without a dialog the path box opens",
         [&] {
           session::Intents intents;
           intents.Add(session::intent::SetOverlay{Overlay::kOpenPath});
           stage.Ask(intents);
         },
         [&] { return stage.Sees("Open trace"); }},
        {"a path is typed", [&] { stage.Type(Sample("transfer")); },
         [&] { return stage.look().memory.path_text == Sample("transfer"); }},
        {"Enter opens it", [&] { stage.Key(Key::kEnter); },
         [&] { return overlay() == Overlay::kNone && stage.state().runs.size() == 2; }},
        {"it is the one that is shown", [] {},
         [&] { return stage.state().Active()->title == "transfer.sst"; }},
        {"Ctrl+F opens the search", [&] { stage.Press(Ctrl('F')); },
         [&] { return overlay() == Overlay::kFind; }},
        {"a word is looked for", [&] { stage.Type("read"); },
         [&] { return stage.state().find_text == "read" && stage.state().find_hits > 0; }},
        {"Esc closes the search", [&] { stage.Key(Key::kEscape); },
         [&] { return overlay() == Overlay::kNone; }},
        {"/ opens it, too", [&] { stage.Key('/'); }, [&] { return overlay() == Overlay::kFind; }},
        {"Esc", [&] { stage.Key(Key::kEscape); }, [&] { return overlay() == Overlay::kNone; }},
        {"Ctrl+Q asks the program to end", [&] { stage.Press(Ctrl('Q')); },
         [&] { return stage.state().request.kind == session::Request::Kind::kQuit; }},
    });
  }

  TEST_CASE("a span is selected, followed and deselected") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    stage.Show(Panel::kSpans);
    const auto selected = [&] { return stage.state().view.selected.interval; };
    std::optional<session::IntervalRef> first;
    Play({
        {"all spans are listed", [] {},
         [&] { return stage.snapshot().spans && stage.snapshot().spans->rows > 1000; }},
        {"a filter is typed",
         [&] {
           stage.ClickText("Filter: decode");
           stage.Type("decode");
         },
         [&] {
           return stage.state().spans.query.filter == "decode" &&
                  stage.snapshot().spans->rows < stage.snapshot().spans->all;
         }},
        {"a bad filter says which word", [&] { stage.Type(" duration>soon"); },
         [&] { return !stage.snapshot().spans->problem.empty(); }},
        {"Esc leaves the field", [&] { stage.Key(Key::kEscape); },
         [&] { return stage.state().view.panel == Panel::kSpans; }},
        {"a click on a head sorts by it", [&] { stage.ClickWholeText("duration"); },
         [&] { return stage.state().spans.query.sort == session::SpanColumn::kDuration; }},
        {"another one turns the order", [&] { stage.ClickWholeText("duration"); },
         [&] { return stage.state().spans.query.descending; }},
    });
    session::Intents clear;
    clear.Add(session::intent::QuerySpans{{"decode", session::SpanColumn::kDuration, true, {}}});
    stage.Ask(clear);
    Play({
        {"a click on a row selects the span and goes to it",
         [&] {
           stage.Click({700, 160});
         },
         [&] { return selected() && stage.state().view.panel == Panel::kTimeline; }},
        {". goes to the next of the same stage",
         [&] {
           first = selected();
           stage.Key('.');
         },
         [&] { return selected() && selected() != first; }},
        {", goes back to it", [&] { stage.Key(','); }, [&] { return selected() == first; }},
        {"M sets a bookmark", [&] { stage.Key('M'); },
         [&] { return stage.state().bookmarks.size() == 1; }},
        {"F leaves the place", [&] { stage.Key('F'); },
         [&] { return stage.state().view.visible != stage.state().bookmarks[0].visible; }},
        {"Esc takes the selection away", [&] { stage.Key(Key::kEscape); },
         [&] { return !selected(); }},
    });
  }

  TEST_CASE("findings open, jump and copy") {
    Stage stage;
    stage.Open(Sample("input_decode"));
    stage.Show(Panel::kOverview);
    const auto request = [&] { return stage.state().request; };
    Play({
        {"Why opens the finding", [&] { stage.ClickText("Why"); },
         [&] {
           return stage.state().view.panel == Panel::kFindings &&
                  stage.state().view.selected.finding.has_value();
         }},
        {"it shows the evidence", [] {}, [&] { return stage.Sees("Evidence"); }},
        {"its code is copied", [&] { stage.ClickText("Copy tf.data"); },
         [&] {
           return request().kind == session::Request::Kind::kCopy && !request().text.empty();
         }},
        {"also for PyTorch", [&] { stage.ClickText("Copy PyTorch"); },
         [&] { return request().kind == session::Request::Kind::kCopy; }},
        {"a patched spec asks where to", [&] { stage.ClickText("Save patched spec"); },
         [&] { return request().kind == session::Request::Kind::kSaveDialog; }},
    });
  }

  TEST_CASE("a trace's command runs only after consent, by key or mouse") {
    const test::ScratchDir dir;
    std::filesystem::copy_file(Sample("input_decode"), dir / "run.sst");
    Stage stage;
    stage.Open(dir / "run.sst");
    const auto ask = [&] {
      session::Intents intents;
      intents.Add(session::intent::Verify{});
      stage.Ask(std::move(intents));
      stage.Frame(3);
    };
    const auto asks = [&] { return stage.state().overlay == Overlay::kQuestion; };
    const auto runs = [&] { return stage.state().verify.running; };
    Play({
        {"a verification asks first", ask, [&] { return asks() && !runs(); }},
        {"it says what would be done", [] {},
         [&] { return stage.Sees("Run it") && stage.Sees("reads ") && stage.Sees("writes "); }},
        {"a command's key does nothing", [&] { stage.Key('2'); },
         [&] { return asks() && stage.state().view.panel == Panel::kOverview; }},
        {"Enter alone is no", [&] { stage.Key(Key::kEnter); }, [&] { return !asks() && !runs(); }},
        {"it asks again", ask, asks},
        {"Esc is no", [&] { stage.Key(Key::kEscape); }, [&] { return !asks() && !runs(); }},
        {"and again", ask, asks},
        {"Cancel is no", [&] { stage.ClickWholeText("Cancel"); },
         [&] { return !asks() && !runs(); }},
        {"and again", ask, asks},
        {"a click beside it is no",
         [&] {
           stage.Click({20, 700});
         },
         [&] { return !asks() && !runs(); }},
        {"and once more", ask, asks},
        {"Tab goes to the other answer", [&] { stage.Key(Key::kTab); }, asks},
        {"Enter runs it", [&] { stage.Key(Key::kEnter); },
         // Its data is not here: the next question asks where it is.
         [&] {
           return asks() && stage.state().question.kind == session::Question::Kind::kLostData;
         }},
    });
  }

  TEST_CASE("a frame has few primitives at any zoom and any number of stalls") {
    const test::ScratchDir dir;
    test::TraceBuilder trace;
    test::BuildSteps(trace, 3'000);
    trace.Seal(3'001'000'000);
    trace.Write(dir / "run.sst");
    Stage stage;
    stage.Open(dir / "run.sst");
    stage.Show(Panel::kTimeline);
    size_t most_stalls = 0;
    for (int zoom = 0; zoom < 24; ++zoom) {
      CAPTURE(zoom);
      // Four corners make a quad: a rectangle, a line or a letter.
      CHECK(ImGui::GetDrawData()->TotalVtxCount / 4 <= 5'000);
      most_stalls = std::max(most_stalls, stage.snapshot().timeline->stalls.size());
      stage.Key('W');
    }
    CHECK(most_stalls > 200);
  }
}
