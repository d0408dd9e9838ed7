// What cannot be moved goes back to where it was.
#include "collectors/data/set_place.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/base/folders.h"
#include "collectors/data/manifest.h"
#include "collectors/data/set_writer.h"
#include "tests/support/child.h"
#include "tests/support/paths.h"

using stallscope::ReadWholeFile;
using stallscope::WriteFileAtomically;
using stallscope::data::FolderOps;
using stallscope::data::SetPlace;
using stallscope::test::ScratchDir;

namespace fs = std::filesystem;

namespace {

// A file system that cannot exchange folders, and whose renames fail from number `first` (from 0)
// on, `count` of them.
class PoorFileSystem final : public FolderOps {
 public:
  PoorFileSystem(int first, int count, int exchange_error = EINVAL)
      : first_(first), count_(count), exchange_error_(exchange_error) {}
  int Exchange(const char*, const char*) override {
    errno = exchange_error_;
    return -1;
  }
  int Rename(const char* from, const char* to) override {
    const int number = renames_++;
    if (number < first_ || number >= first_ + count_) return FolderOps::Rename(from, to);
    errno = EIO;
    return -1;
  }

 private:
  int first_;
  int count_;
  int exchange_error_;
  int renames_ = 0;
};

constexpr const char* kShard = "data-00000-of-00001.csv";

void WriteSet(const std::string& folder, const std::string& content) {
  REQUIRE(WriteFileAtomically(folder + "/" + kShard, content).ok());
  REQUIRE(
      stallscope::data::WriteManifest(folder, {.files = {{kShard, content.size(), 1, ""}}}).ok());
}

std::string SetIn(const std::string& folder) {
  const auto content = ReadWholeFile(folder + "/" + kShard, 1000);
  return content.ok() && fs::exists(folder + "/manifest.json") ? content.value() : "";
}

stallscope::Status PublishOver(const std::string& folder, FolderOps& ops) {
  fs::remove_all(folder);
  fs::create_directory(folder);
  WriteSet(folder, "old");
  auto place = SetPlace::Open(folder, ops);
  REQUIRE(place.ok());
  WriteSet(place.value().work(), "the new one");
  return place.value().Publish();
}

// A file system that cannot exchange folders; the process is killed before rename number `last`.
class LastRenames final : public FolderOps {
 public:
  LastRenames(int last, int exchange_error) : left_(last), exchange_error_(exchange_error) {}
  int Exchange(const char*, const char*) override {
    errno = exchange_error_;
    return -1;
  }
  int Rename(const char* from, const char* to) override {
    if (left_-- == 0) raise(SIGKILL);
    return FolderOps::Rename(from, to);
  }

 private:
  int left_;
  int exchange_error_;
};

struct Place {
  int exchange_error = EINVAL;
  bool stays = false;  // as the current folder does
};

// False: it came to its end.
bool KilledAfter(int renames, int exchange_error, const std::function<void(FolderOps&)>& work) {
  const auto result = stallscope::test::RunInChild([&] {
    LastRenames ops(renames, exchange_error);
    work(ops);
  });
  CHECK((result.done || result.signal == SIGKILL));
  return !result.done;
}

// An older set in a new folder, and another in its place.
void MakeAndReplace(const std::string& folder, bool stays, FolderOps& ops) {
  fs::remove_all(folder);
  fs::create_directory(folder);
  WriteSet(folder, "old");
  if (stays) fs::current_path(folder);
  auto place = SetPlace::Open(folder, ops);
  REQUIRE(place.ok());
  WriteSet(place.value().work(), "the new one");
  REQUIRE(place.value().Publish().ok());
}

size_t EntriesOf(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) count += entry.exists() ? 1u : 0u;
  return count;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("folders that cannot be exchanged are renamed, and a failure restores the older set") {
    ScratchDir dir;
    PoorFileSystem fine(100, 0);
    CHECK(PublishOver(dir / "set", fine).ok());
    CHECK(SetIn(dir / "set") == "the new one");
    for (const int failing : {0, 1}) {
      PoorFileSystem poor(failing, 1);
      const auto failed = PublishOver(dir / "set", poor);
      REQUIRE_FALSE(failed.ok());
      CHECK(failed.error().where == dir / "set");
      CHECK(SetIn(dir / "set") == "old");
    }
    CHECK(EntriesOf(dir.path()) == 1);
  }

  TEST_CASE(
      "a folder that must stay is filled file by file, and a failure restores the older set") {
    ScratchDir dir;
    PoorFileSystem fine(100, 0, EBUSY);
    CHECK(PublishOver(dir / "set", fine).ok());
    CHECK(SetIn(dir / "set") == "the new one");
    for (const int failing : {0, 1, 2, 3}) {
      PoorFileSystem poor(failing, 1, EBUSY);
      CHECK_FALSE(PublishOver(dir / "set", poor).ok());
      CHECK(SetIn(dir / "set") == "old");
      CHECK(EntriesOf(dir / "set") == 2);
    }
    CHECK(EntriesOf(dir.path()) == 1);
  }

  TEST_CASE("an older set that cannot be brought back is kept, and the error says where") {
    ScratchDir dir;
    PoorFileSystem poor(1, 100);
    const auto failed = PublishOver(dir / "set", poor);
    REQUIRE_FALSE(failed.ok());
    const std::string& hint = failed.error().hint;
    const size_t at = hint.find(dir.path());
    REQUIRE(at != std::string::npos);
    CHECK(SetIn(hint.substr(at)) == "old");
    // The next one does not take it for a left-over.
    PoorFileSystem fine(100, 0);
    CHECK(PublishOver(dir / "set", fine).ok());
    CHECK(SetIn(hint.substr(at)) == "old");
  }

  TEST_CASE("killed after any rename, the older set comes back, or the new one is whole") {
    for (const Place& place : {Place{EINVAL}, Place{EBUSY}, Place{EBUSY, true}}) {
      CAPTURE(place.exchange_error);
      CAPTURE(place.stays);
      ScratchDir dir;
      int kills = 0;
      for (bool done = false; !done; ++kills) {
        CAPTURE(kills);
        REQUIRE(kills < 20);
        done = !KilledAfter(kills, place.exchange_error,
                            [&](FolderOps& ops) { MakeAndReplace(dir / "set", place.stays, ops); });
        // Whoever else works there takes none of it for a left-over.
        CHECK(stallscope::ScratchFolder::MakeIn(dir.path()).ok());
        CHECK(stallscope::ScratchFolder::MakeIn(dir / "set").ok() == fs::exists(dir / "set"));
        CHECK(SetPlace::Open(dir / "set").ok());
        const std::string set = SetIn(dir / "set");
        CHECK((set == "old" || (set == "the new one" && kills > 1)));
        CHECK(EntriesOf(dir / "set") == 2);
        CHECK(EntriesOf(dir.path()) == 1);
      }
      CHECK(SetIn(dir / "set") == "the new one");
      CHECK(kills >= (place.exchange_error == EBUSY ? 4 : 2));
    }
  }

  TEST_CASE("killed while it comes back, the older set comes back all the same") {
    for (const Place& place : {Place{EINVAL}, Place{EBUSY}, Place{EBUSY, true}}) {
      const int renames = place.exchange_error == EBUSY ? 3 : 1;
      for (int again = 0; again < 4; ++again) {
        CAPTURE(place.exchange_error);
        CAPTURE(again);
        ScratchDir dir;
        REQUIRE(KilledAfter(renames, place.exchange_error, [&](FolderOps& ops) {
          MakeAndReplace(dir / "set", place.stays, ops);
        }));
        KilledAfter(again, place.exchange_error,
                    [&](FolderOps& ops) { CHECK(SetPlace::Open(dir / "set", ops).ok()); });
        CHECK(SetPlace::Open(dir / "set").ok());
        CHECK(SetIn(dir / "set") == "old");
        CHECK(EntriesOf(dir.path()) == 1);
      }
    }
  }

  TEST_CASE("someone else's file in a restored folder stays") {
    ScratchDir dir;
    REQUIRE(KilledAfter(3, EBUSY, [&](FolderOps& ops) { MakeAndReplace(dir / "set", true, ops); }));
    REQUIRE(WriteFileAtomically(dir / "set/thesis.txt", "mine").ok());
    const auto refused = SetPlace::Open(dir / "set");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().what.find("thesis.txt") != std::string::npos);
    CHECK(SetIn(dir / "set") == "old");
    CHECK(fs::exists(dir / "set/thesis.txt"));
  }

  TEST_CASE("only names that the generator gives are a set's") {
    using stallscope::data::IsFileOfSet;
    for (const char* name : {"data-00000-of-00004.tfrecord", "data-99999-of-99999.h5",
                             "class_0003/img_00000017.jpg", "class_12345/img_100000000.jpg"}) {
      CHECK(IsFileOfSet(name));
    }
    for (const char* name :
         {"", "/", "thesis.txt", "data-0-of-1.csv", "data-00000-of-00004.txt",
          "../data-00000-of-00004.csv", "class_0003/../img_00000017.jpg", "class_0003",
          "/class_0003/img_00000017.jpg", "class_0003/img_00000017.jpg/x", "class_03/img_1.jpg"}) {
      CAPTURE(name);
      CHECK_FALSE(IsFileOfSet(name));
    }
  }
}
