#include "gui/session/settings.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/base/file.h"
#include "gui/session/side_file.h"
#include "tests/support/paths.h"

using namespace stallscope;
using namespace stallscope::session;

TEST_SUITE("fast") {
  TEST_CASE("settings follow the XDG rules") {
    const auto with = [](const char* config, const char* home) {
      return SettingsPath(
          [=](const char* name) { return std::string(name) == "XDG_CONFIG_HOME" ? config : home; });
    };
    CHECK(with("/etc/me", "/home/me") == "/etc/me/stallscope/settings.json");
    CHECK(with(nullptr, "/home/me") == "/home/me/.config/stallscope/settings.json");
    CHECK(with("", "/home/me") == "/home/me/.config/stallscope/settings.json");
    CHECK(with("relative", "/home/me") == "/home/me/.config/stallscope/settings.json");
    CHECK(with(nullptr, nullptr).empty());
  }

  TEST_CASE("settings round-trip, into a new folder") {
    const test::ScratchDir dir;
    Settings settings;
    settings.theme = Theme::kLight;
    settings.scale = 1.5;
    settings.tour_done = true;
    settings.recent = {"/a b.sst", "/\xff.sst"};
    settings.window_width = 800;
    REQUIRE(WriteSettings(settings, dir / "deep/er/settings.json").ok());
    Settings expected = settings;
    expected.recent[1] = "/\xef\xbf\xbd.sst";  // no JSON text holds such a byte
    CHECK(ReadSettings(dir / "deep/er/settings.json") == expected);
  }

  TEST_CASE("broken settings fall back to the defaults, value by value") {
    const test::ScratchDir dir;
    CHECK(ReadSettings(dir / "none.json") == Settings{});
    const auto read = [&](const std::string& text) {
      REQUIRE(WriteFileAtomically(dir / "s.json", text).ok());
      return ReadSettings(dir / "s.json");
    };
    CHECK(read("") == Settings{});
    CHECK(read("[1,2]") == Settings{});
    CHECK(read(R"({"scale": 1e300, "theme": 7, "window_width": -4, "recent": [1, "x"]})").recent ==
          std::vector<std::string>{"x"});
    CHECK(read(R"({"scale": 1e300, "theme": "light"})").theme == Theme::kLight);
    CHECK(read(R"({"scale": 1e300})").scale == 0);
  }

  TEST_CASE("the last file opened comes first, and only once") {
    Settings settings;
    for (int i = 0; i < 20; ++i) Remember(settings, std::to_string(i));
    Remember(settings, "15");
    CHECK(settings.recent.size() == kMostRecent);
    CHECK(settings.recent.front() == "15");
    CHECK(settings.recent[1] == "19");
  }

  TEST_CASE("notes beside a trace round-trip, and the trace does not change") {
    const test::ScratchDir dir;
    SideNotes notes;
    notes.panel = Panel::kStalls;
    notes.visible = {100, 900};
    notes.layout.collapsed = {"stage:1"};
    notes.bookmarks = {{"odd \"one\"", {5, 7}}};
    REQUIRE(WriteSideNotes(notes, dir / "run.sst").ok());
    const auto read = ReadSideNotes(dir / "run.sst");
    REQUIRE(read.ok());
    CHECK(read.value() == notes);
    CHECK(ReadSideNotes(dir / "other.sst").value() == SideNotes{});
  }

  TEST_CASE("a foreign file beside the trace is an error, broken values are not") {
    const test::ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "a.sst.view", "my notes").ok());
    REQUIRE_FALSE(ReadSideNotes(dir / "a.sst").ok());
    CHECK(ReadSideNotes(dir / "a.sst").error().Line().find("a.sst.view") != std::string::npos);
    REQUIRE(WriteFileAtomically(dir / "b.sst.view",
                                R"({"schema": "stallscope.view/1", "visible": [9, 2],
                                    "bookmarks": [{"name": "x", "visible": [1]}, 4]})")
                .ok());
    CHECK(ReadSideNotes(dir / "b.sst").value() == SideNotes{});
  }
}
