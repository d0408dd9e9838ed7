// What cannot be moved goes back to where it was.
#include "collectors/data/set_place.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "analyzer/base/file.h"
#include "collectors/data/manifest.h"
#include "collectors/data/set_writer.h"
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
