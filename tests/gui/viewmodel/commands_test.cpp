#include "gui/viewmodel/commands.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/gui/session/scene.h"

using namespace stallscope;
using namespace stallscope::viewmodel;
using session::Panel;
using session::Session;
using session::State;

namespace {

const Command* FindCommand(std::string_view id) {
  for (const Command& command : AllCommands()) {
    if (command.id == id) return &command;
  }
  return nullptr;
}

// The enabled one.
const Command* CommandFor(const Chord& chord, const State& state) {
  for (const Command& command : AllCommands()) {
    const bool its = command.chord == chord || command.other_chord == chord;
    if (its && command.enabled(state)) return &command;
  }
  return nullptr;
}

void Press(Session& session, const Chord& chord) {
  const Command* const command = CommandFor(chord, *session.state());
  REQUIRE(command != nullptr);
  session::Intents intents;
  command->run(*session.state(), intents);
  session.Apply(intents);
  session.Settle();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every command has an id, a name and an action, and keys are unique") {
    std::set<std::string_view> ids;
    std::set<std::string> keys;
    for (const Command& command : AllCommands()) {
      CAPTURE(command.id);
      CHECK(ids.insert(command.id).second);
      CHECK_FALSE(command.name.empty());
      CHECK((command.enabled != nullptr));
      CHECK((command.run != nullptr));
      for (const Chord& chord : {command.chord, command.other_chord}) {
        if (chord.key != Key::kNone) CHECK(keys.insert(NameOf(chord)).second);
      }
    }
  }

  TEST_CASE("common shortcuts work") {
    const auto key_of = [](std::string_view id) {
      const Command* const command = FindCommand(id);
      REQUIRE(command != nullptr);
      return NameOf(command->chord);
    };
    CHECK(key_of("view.zoom-in") == "W");
    CHECK(key_of("view.zoom-out") == "S");
    CHECK(key_of("view.pan-left") == "A");
    CHECK(key_of("view.pan-right") == "D");
    CHECK(key_of("view.fit") == "F");
    CHECK(key_of("go.bookmark") == "M");
    CHECK(key_of("select.next") == ".");
    CHECK(key_of("select.previous") == ",");
    CHECK(key_of("go.find") == "Ctrl+F");
    CHECK(key_of("go.back") == "Alt+Left");
    CHECK(key_of("select.none") == "Esc");
    CHECK(key_of("file.open") == "Ctrl+O");
    CHECK(key_of("file.quit") == "Ctrl+Q");
    CHECK(key_of("help.palette") == "Ctrl+Shift+P");
    CHECK(key_of("help.keys") == "?");
  }

  TEST_CASE("commands send their intents, and disabled ones ignore their keys") {
    Session session(test::QuietOptions());
    CHECK(CommandFor({KeyOf('W'), false, false, false}, *session.state()) == nullptr);
    test::OpenAndSettle(session, test::SampleTrace("input_decode"));
    const session::Range whole = session.state()->view.visible;
    Press(session, {KeyOf('2'), false, false, false});
    CHECK(session.state()->view.panel == Panel::kTimeline);
    Press(session, {KeyOf('W'), false, false, false});
    CHECK(session.state()->view.visible.ns() < whole.ns());
    Press(session, {KeyOf('M'), false, false, false});
    CHECK(session.state()->bookmarks.size() == 1);
    Press(session, {KeyOf('F'), false, false, false});
    CHECK(session.state()->view.visible == whole);
    Press(session, {Key::kLeft, false, false, true});
    CHECK(session.state()->view.visible.ns() < whole.ns());
    Press(session, {KeyOf('/'), false, false, false});
    CHECK(session.state()->overlay == session::Overlay::kFind);
    Press(session, {Key::kEscape, false, false, false});
    CHECK(session.state()->overlay == session::Overlay::kNone);
    Press(session, {KeyOf('Q'), true, false, false});
    CHECK(session.state()->request.kind == session::Request::Kind::kQuit);
  }

  TEST_CASE("every enabled command runs in every state") {
    for (const bool open : {false, true}) {
      Session session(test::QuietOptions());
      if (open) test::OpenAndSettle(session, test::SampleTrace("input_serial"));
      for (const Command& command : AllCommands()) {
        // Those that would run a pipeline, or write files, are tested by themselves.
        if (command.id == "tools.record" || command.id == "tools.verify") continue;
        CAPTURE(command.id);
        if (!command.enabled(*session.state())) continue;
        session::Intents intents;
        command.run(*session.state(), intents);
        CHECK_FALSE(intents.empty());
        if (command.id != "file.close") session.Apply(intents);
      }
    }
  }

  TEST_CASE("the palette matches letters in order, word starts first") {
    Session session(test::QuietOptions());
    test::OpenAndSettle(session, test::SampleTrace("balanced"));
    const State& state = *session.state();
    const auto first = [&](std::string_view text) {
      const auto found = SearchCommands(text, state);
      return found.empty() ? std::string_view() : found.front()->id;
    };
    CHECK(first("zoom in") == "view.zoom-in");
    CHECK(first("quit") == "file.quit");
    CHECK(first("TIMEL") == "panel.timeline");
    CHECK(first("fwr") == "view.fit");
    CHECK(first("zzzz").empty());
    CHECK(SearchCommands("", state).size() > 30);
  }
}
