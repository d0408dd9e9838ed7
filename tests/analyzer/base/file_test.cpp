#include "analyzer/base/file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tests/support/faults.h"
#include "tests/support/paths.h"

using stallscope::AppendFile;
using stallscope::ErrorKind;
using stallscope::InputFile;
using stallscope::ReadWholeFile;
using stallscope::WriteFileAtomically;
using stallscope::test::FaultyDisk;
using stallscope::test::ScratchDir;

TEST_SUITE("fast") {
  TEST_CASE("a file that is being written is nobody else's, and keeps what it has") {
    ScratchDir dir;
    {
      auto first = AppendFile::Create(dir / "f");
      REQUIRE(first.ok());
      REQUIRE(first.value().Append("first").ok());
      const auto second = AppendFile::Create(dir / "f");
      REQUIRE_FALSE(second.ok());
      CHECK(second.error().Line() ==
            (dir / "f") +
                ": another run is writing this file; wait for it to end, or name another "
                "file");
      CHECK(ReadWholeFile(dir / "f", 100).value() == "first");
    }
    CHECK(AppendFile::Create(dir / "f").ok());
    CHECK(ReadWholeFile(dir / "f", 100).value().empty());
    CHECK(AppendFile::Create("/dev/null").ok());
  }

  TEST_CASE("short and interrupted writes are finished") {
    for (auto fault : {FaultyDisk::Fault::kShort, FaultyDisk::Fault::kInterrupted}) {
      ScratchDir dir;
      FaultyDisk disk(fault, 0, 3);
      auto file = AppendFile::Create(dir / "f", disk);
      REQUIRE(file.ok());
      CHECK(file.value().Append("hello world").ok());
      CHECK(disk.writes() > 1);
      CHECK(ReadWholeFile(dir / "f", 100).value() == "hello world");
    }
  }

  TEST_CASE("a failed append is reported, and the next one takes its place") {
    ScratchDir dir;
    FaultyDisk disk(FaultyDisk::Fault::kError, 1, 1, ENOSPC);
    auto file = AppendFile::Create(dir / "f", disk);
    REQUIRE(file.ok());
    CHECK(file.value().Append("one ").ok());
    const auto failed = file.value().Append("two ");
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().kind == ErrorKind::kRun);
    CHECK(failed.error().what == "cannot write: No space left on device");
    CHECK(failed.error().where == dir / "f");
    CHECK(file.value().Append("three").ok());
    CHECK(ReadWholeFile(dir / "f", 100).value() == "one three");
  }

  TEST_CASE("what a failed append left behind is cut off at once") {
    class HalfThenFull : public stallscope::FileOps {
     public:
      ssize_t Pwrite(int fd, const void* data, size_t size, off_t offset) override {
        if (calls++ == 1) return FileOps::Pwrite(fd, data, size / 2, offset);
        if (calls == 3) {
          errno = ENOSPC;
          return -1;
        }
        return FileOps::Pwrite(fd, data, size, offset);
      }
      int calls = 0;
    } disk;
    ScratchDir dir;
    auto file = AppendFile::Create(dir / "f", disk);
    REQUIRE(file.ok());
    CHECK(file.value().Append("whole").ok());
    CHECK_FALSE(file.value().Append("halved").ok());
    CHECK(ReadWholeFile(dir / "f", 100).value() == "whole");
    // A shorter one in its place leaves nothing of it behind either.
    CHECK(file.value().Append("!").ok());
    CHECK(ReadWholeFile(dir / "f", 100).value() == "whole!");
  }

  TEST_CASE("a read past the end is short, not an error") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "f", "12345").ok());
    auto file = InputFile::Open(dir / "f");
    REQUIRE(file.ok());
    char buffer[16];
    CHECK(file.value().ReadAt(3, buffer, sizeof buffer).value() == 2);
    CHECK(file.value().ReadAt(9, buffer, sizeof buffer).value() == 0);
    CHECK(file.value().Size().value() == 5);
  }

  TEST_CASE("missing files and folders are errors that name the path") {
    ScratchDir dir;
    const auto missing = InputFile::Open(dir / "none");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().kind == ErrorKind::kInput);
    CHECK(missing.error().where == dir / "none");
    CHECK_FALSE(InputFile::Open(dir.path()).ok());
    CHECK_FALSE(AppendFile::Create(dir / "no/such/folder").ok());
  }

  TEST_CASE("a file over the limit is refused") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "f", std::string(1000, 'x')).ok());
    CHECK(ReadWholeFile(dir / "f", 1000).ok());
    CHECK_FALSE(ReadWholeFile(dir / "f", 999).ok());
  }

  TEST_CASE("an atomic write that fails leaves the old content and no litter") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "f", "old").ok());
    FaultyDisk disk(FaultyDisk::Fault::kError, 0, 100, EIO);
    CHECK_FALSE(WriteFileAtomically(dir / "f", "new", disk).ok());
    CHECK(ReadWholeFile(dir / "f", 100).value() == "old");
    int entries = 0;
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      (void)entry;
      ++entries;
    }
    CHECK(entries == 1);
  }

  TEST_CASE("an atomic file that is not committed never was, and links are followed") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "f", "old").ok());
    {
      auto file = stallscope::AtomicFile::Create(dir / "f");
      REQUIRE(file.ok());
      CHECK(file.value().Append("half").ok());
    }
    CHECK(ReadWholeFile(dir / "f", 100).value() == "old");
    std::filesystem::create_symlink(dir / "f", dir / "link");
    REQUIRE(WriteFileAtomically(dir / "link", "new").ok());
    CHECK(std::filesystem::is_symlink(dir / "link"));
    CHECK(ReadWholeFile(dir / "f", 100).value() == "new");
  }
}
