// What two windows keep, and what a window never writes over.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "analyzer/base/file.h"
#include "gui/session/side_file.h"
#include "tests/gui/session/scene.h"

using namespace stallscope;
using namespace stallscope::session;
using test::ActiveRun;
using test::Do;
using test::KeepingOptions;
using test::OpenAndSettle;
using test::QuietOptions;
using test::SampleTrace;

namespace {

std::vector<std::string> NamesIn(const std::vector<Bookmark>& bookmarks) {
  std::vector<std::string> names;
  for (const Bookmark& one : bookmarks) names.push_back(one.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> KeptNames(const std::string& trace) {
  return NamesIn(ReadSideNotes(trace).value().bookmarks);
}

using Names = std::vector<std::string>;

bool SaysError(const Session& session, const std::string& what) {
  const auto& notices = session.state()->notices;
  return std::any_of(notices.begin(), notices.end(), [&](const Notice& notice) {
    return notice.level == NoticeLevel::kError && notice.text.find(what) != std::string::npos;
  });
}

struct Copied {
  test::ScratchDir dir;
  std::string path = dir / "run.sst";
  Copied() { std::filesystem::copy_file(SampleTrace("balanced"), path); }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a bookmark is saved at once, not only when the window closes") {
    const Copied run;
    Session session(KeepingOptions());
    OpenAndSettle(session, run.path);
    Do(session, intent::AddBookmark{"early"});
    session.Settle();
    CHECK(KeptNames(run.path) == Names{"early"});
    // Where one looks is kept at the end.
    const auto before = ReadWholeFile(SidePath(run.path), 1 << 20).value();
    Do(session, intent::Zoom{4, {}});
    session.Settle();
    CHECK(ReadWholeFile(SidePath(run.path), 1 << 20).value() == before);
  }

  TEST_CASE("two windows keep each other's bookmarks, with a notice") {
    const Copied run;
    Session first(KeepingOptions());
    Session second(KeepingOptions());
    OpenAndSettle(first, run.path);
    OpenAndSettle(second, run.path);
    Do(first, intent::AddBookmark{"one"}, intent::AddBookmark{"two"});
    first.Settle();
    CHECK(first.state()->notices.empty());
    Do(second, intent::AddBookmark{"three"});
    second.Settle();
    CHECK(KeptNames(run.path) == Names{"one", "three", "two"});
    CHECK(NamesIn(second.state()->bookmarks) == Names{"one", "three", "two"});
    REQUIRE(second.state()->notices.size() == 1);
    CHECK(second.state()->notices[0].text.find("merged") != std::string::npos);
    // What one removes does not come back from the other.
    Do(first, intent::RemoveBookmark{0});
    first.Settle();
    CHECK(KeptNames(run.path) == Names{"three", "two"});
    Do(second, intent::AddBookmark{"four"});
    second.Settle();
    CHECK(KeptNames(run.path) == Names{"four", "three", "two"});
  }

  TEST_CASE("a run that was never looked at keeps its bookmarks") {
    const Copied run;
    SideNotes notes;
    notes.bookmarks = {{"mine", {2'000'000, 3'000'000}}};
    REQUIRE(WriteSideNotes(notes, run.path).ok());
    {
      Session session(KeepingOptions());
      OpenAndSettle(session, SampleTrace("input_decode"));
      Do(session, intent::OpenFile{run.path, /*as_base=*/true});
      session.Settle();
    }
    CHECK(KeptNames(run.path) == Names{"mine"});
    {
      // Left before it was read, and come back to.
      Session session(KeepingOptions());
      Do(session, intent::OpenFile{run.path, false},
         intent::OpenFile{SampleTrace("input_decode"), false});
      session.Settle();
      Do(session, intent::OpenFile{run.path, false});
      CHECK(NamesIn(session.state()->bookmarks) == Names{"mine"});
    }
    CHECK(KeptNames(run.path) == Names{"mine"});
  }

  TEST_CASE("two windows share the list of recent files") {
    const Copied run;
    SessionOptions options = QuietOptions();
    options.settings_path = run.dir / "settings.json";
    {
      Session first(options);
      Session second(options);
      OpenAndSettle(first, run.path);
      OpenAndSettle(second, SampleTrace("balanced"));
      Do(first, intent::SetTheme{Theme::kLight});
      first.Settle();
    }
    const Settings kept = ReadSettings(options.settings_path);
    CHECK(kept.recent == Names{SampleTrace("balanced"), run.path});
    CHECK(kept.theme == Theme::kLight);
  }

  TEST_CASE("an open trace is never overwritten, under any name") {
    const Copied run;
    const std::string bytes = ReadWholeFile(run.path, 1 << 20).value();
    std::filesystem::create_symlink(run.path, run.dir / "soft");
    std::filesystem::create_hard_link(run.path, run.dir / "hard");
    for (const std::string& to : {run.path, run.dir / "soft", run.dir / "hard"}) {
      CAPTURE(to);
      Session session(KeepingOptions());
      OpenAndSettle(session, run.path);
      Do(session, intent::ShowPanel{Panel::kSpans});
      session.Settle();
      Do(session, intent::ExportHtml{to}, intent::ExportSpans{to}, intent::SaveSpec{to},
         intent::ExportPicture{Panel::kOverview, to});
      session.Settle();
      CHECK(SaysError(session, "open"));
      CHECK(session.state()->request.kind != Request::Kind::kExportPicture);
      for (const Notice& notice : session.state()->notices) {
        CHECK(notice.level == NoticeLevel::kError);
      }
    }
    CHECK(ReadWholeFile(run.path, 1 << 20).value() == bytes);
    CHECK(std::filesystem::is_symlink(run.dir / "soft"));
  }

  TEST_CASE("a closed trace may be overwritten, unless it is open under another name") {
    const Copied run;
    std::filesystem::create_hard_link(run.path, run.dir / "hard.sst");
    Session session(QuietOptions());
    OpenAndSettle(session, run.path);
    OpenAndSettle(session, run.dir / "hard.sst");
    const RunNumber hard = session.state()->active;
    OpenAndSettle(session, SampleTrace("input_decode"));
    Do(session, intent::CloseRun{hard});
    session.Settle();
    Do(session, intent::ExportHtml{run.path});
    session.Settle();
    CHECK(SaysError(session, "open"));
    const RunNumber first = session.state()->runs.front()->number;
    Do(session, intent::CloseRun{first});
    session.Settle();
    Do(session, intent::ExportHtml{run.path});
    session.Settle();
    CHECK(ReadWholeFile(run.path, 1 << 24).value().find("<html") != std::string::npos);
  }

  TEST_CASE("a spec may replace its own file, and no other open file") {
    const Copied run;
    const std::string spec = run.dir / "spec.json";
    Session session(QuietOptions());
    OpenAndSettle(session, run.path);
    const std::string text = session.state()->record.spec_text;
    REQUIRE(WriteFileAtomically(spec, text).ok());
    std::filesystem::create_symlink(spec, run.dir / "link.json");
    Do(session, intent::OpenSpec{spec}, intent::SaveSpec{spec},
       intent::SaveSpec{run.dir / "link.json"});
    CHECK_FALSE(SaysError(session, ""));
    Do(session, intent::ExportHtml{spec});
    session.Settle();
    CHECK(SaysError(session, "open"));
    CHECK(ReadWholeFile(spec, 1 << 20).value() == text);
  }
}
