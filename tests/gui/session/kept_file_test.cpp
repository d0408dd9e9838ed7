#include "gui/session/kept_file.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>

#include "gui/session/settings.h"
#include "gui/session/side_file.h"
#include "tests/support/paths.h"

using namespace stallscope;
using namespace stallscope::session;

namespace {

// A disk that is full until it is not.
class FullDisk : public FileOps {
 public:
  bool full = true;
  ssize_t Pwrite(int fd, const void* data, size_t size, off_t offset) override {
    if (!full) return FileOps::Pwrite(fd, data, size, offset);
    errno = ENOSPC;
    return -1;
  }
};

SideNotes WithBookmarks(std::vector<Bookmark> bookmarks) {
  SideNotes notes;
  notes.bookmarks = std::move(bookmarks);
  return notes;
}

const Bookmark kA{"a", {1, 2}};
const Bookmark kB{"b", {3, 4}};
const Bookmark kC{"c", {5, 6}};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("merged notes have both sides' additions, and nothing that either removed") {
    const SideNotes before = WithBookmarks({kA, kB});
    const auto merged =
        SideNotesForm::Merge(before, WithBookmarks({kA}), WithBookmarks({kB, kC})).bookmarks;
    CHECK(merged == std::vector<Bookmark>{kC});
    CHECK(SideNotesForm::Merge({}, WithBookmarks({kA}), WithBookmarks({kB})).bookmarks ==
          std::vector<Bookmark>{kA, kB});
    // The same one, made in both, is one.
    CHECK(SideNotesForm::Merge({}, WithBookmarks({kA}), WithBookmarks({kA})).bookmarks ==
          std::vector<Bookmark>{kA});
    // Nothing changed elsewhere: what is here stays, in its order and with its doubles.
    CHECK(SideNotesForm::Merge(before, WithBookmarks({kB, kC, kC, kA}), before).bookmarks ==
          std::vector<Bookmark>{kB, kC, kC, kA});
  }

  TEST_CASE("merged settings have what either side opened or changed") {
    Settings before;
    before.recent = {"1", "2", "3"};
    Settings mine = before;
    Remember(mine, "3");
    Remember(mine, "4");
    Settings theirs = before;
    Remember(theirs, "5");
    theirs.theme = Theme::kLight;
    const Settings merged = SettingsForm::Merge(before, mine, theirs);
    CHECK(merged.recent == std::vector<std::string>{"4", "3", "5", "1", "2"});
    CHECK(merged.theme == Theme::kLight);
    mine.recent = before.recent;
    CHECK(SettingsForm::Merge(before, mine, theirs).recent == theirs.recent);
  }

  TEST_CASE("a full disk keeps the old file, complains once, and is retried at the end") {
    const test::ScratchDir dir;
    const std::string trace = dir / "run.sst";
    REQUIRE(WriteSideNotes(WithBookmarks({kA}), trace).ok());
    FullDisk disk;
    SideFile file(trace, WithBookmarks({kA}), disk);
    REQUIRE(file.Offer(WithBookmarks({kA, kB}), /*at_once=*/false));
    CHECK_FALSE(file.Offer(WithBookmarks({kA, kB}), false));  // that is under way
    const auto failed = file.Keep();
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().Line().find("space") != std::string::npos);
    CHECK(file.MustComplain());
    CHECK(ReadSideNotes(trace).value().bookmarks == std::vector<Bookmark>{kA});
    CHECK_FALSE(file.Offer(WithBookmarks({kA, kB}), false));  // not at once again
    REQUIRE(file.Offer(WithBookmarks({kA, kB}), true));
    CHECK_FALSE(file.Keep().ok());
    CHECK_FALSE(file.MustComplain());
    disk.full = false;
    REQUIRE(file.Offer(WithBookmarks({kA, kB}), true));
    REQUIRE(file.Keep().ok());
    CHECK(ReadSideNotes(trace).value().bookmarks == std::vector<Bookmark>{kA, kB});
    CHECK_FALSE(file.Offer(WithBookmarks({kA, kB}), true));  // nothing is left to keep
    CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
  }

  TEST_CASE("removed notes are written again, foreign files are left alone") {
    const test::ScratchDir dir;
    const std::string trace = dir / "run.sst";
    SideFile file(trace, WithBookmarks({kA}));
    REQUIRE(file.Offer(WithBookmarks({kA, kB}), true));
    const auto kept = file.Keep();
    REQUIRE(kept.ok());
    CHECK_FALSE(kept.value().merged);
    CHECK(ReadSideNotes(trace).value().bookmarks == std::vector<Bookmark>{kA, kB});
    REQUIRE(WriteFileAtomically(SidePath(trace), "my notes").ok());
    REQUIRE(file.Offer(WithBookmarks({}), true));
    CHECK_FALSE(file.Keep().ok());
    CHECK(ReadWholeFile(SidePath(trace), 100).value() == "my notes");
  }
}
