#include "analyzer/base/file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/support/faults.h"
#include "tests/support/paths.h"

using stallscope::ErrorKind;
using stallscope::HasWriter;
using stallscope::InputFile;
using stallscope::OutputFile;
using stallscope::Over;
using stallscope::ReadWholeFile;
using stallscope::Result;
using stallscope::WriteFileAtomically;
using stallscope::test::FaultyDisk;
using stallscope::test::ScratchDir;

namespace {

Result<OutputFile> Published(const std::string& path,
                             stallscope::FileOps& ops = stallscope::FileOps::Kernel()) {
  auto file = OutputFile::Create(path, Over::kNoInput, ops);
  if (file.ok()) CHECK(file.value().Publish().ok());
  return file;
}

size_t EntriesIn(const std::string& folder) {
  size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++entries;
  }
  return entries;
}

// As a user's own program leaves it: this process has not written it.
void MakeForeign(const std::string& path, const std::string& content, mode_t mode = 0644) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  REQUIRE(fchmod(fd, mode) == 0);
  close(fd);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a file that is being written is locked and keeps its content") {
    ScratchDir dir;
    {
      auto first = Published(dir / "f");
      REQUIRE(first.ok());
      REQUIRE(first.value().Append("first").ok());
      CHECK(HasWriter(dir / "f"));
      const auto second = OutputFile::Create(dir / "f");
      REQUIRE_FALSE(second.ok());
      CHECK(second.error().Line() ==
            (dir / "f") +
                ": another run is writing this file; wait for it to end, or name another "
                "file");
      CHECK(ReadWholeFile(dir / "f", 100).value() == "first");
    }
    CHECK_FALSE(HasWriter(dir / "f"));
    CHECK_FALSE(HasWriter(dir / "none"));
    CHECK(Published(dir / "f").ok());
    CHECK(ReadWholeFile(dir / "f", 100).value().empty());
  }

  TEST_CASE("an unpublished file leaves nothing and replaces nothing") {
    ScratchDir dir;
    MakeForeign(dir / "old", "old");
    {
      auto fresh = OutputFile::Create(dir / "fresh");
      auto over = OutputFile::Create(dir / "old");
      REQUIRE(fresh.ok());
      REQUIRE(over.ok());
      CHECK(over.value().Append("new").ok());
      CHECK(EntriesIn(dir.path()) == 1);
    }
    CHECK(EntriesIn(dir.path()) == 1);
    CHECK(ReadWholeFile(dir / "old", 100).value() == "old");
  }

  TEST_CASE("an input is never replaced, whatever its name") {
    ScratchDir dir;
    MakeForeign(dir / "in", "mine");
    MakeForeign(dir / "other", "not read");
    std::filesystem::create_symlink(dir / "in", dir / "link");
    std::filesystem::create_hard_link(dir / "in", dir / "hard");
    REQUIRE(ReadWholeFile(dir / "in", 100).ok());
    for (const char* const name : {"in", "link", "hard", "./in"}) {
      CAPTURE(name);
      const auto refused = WriteFileAtomically(dir / name, "theirs");
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().kind == ErrorKind::kUsage);
      CHECK(refused.error().what == "the output is also an input of this command");
    }
    CHECK(ReadWholeFile(dir / "in", 100).value() == "mine");
    CHECK(WriteFileAtomically(dir / "other", "fine").ok());
    // Read, changed, written.
    CHECK(WriteFileAtomically(dir / "in", "changed", Over::kOwnInput).ok());
    // What this process wrote may be written again.
    REQUIRE(ReadWholeFile(dir / "in", 100).value() == "changed");
    CHECK(WriteFileAtomically(dir / "in", "again").ok());
  }

  TEST_CASE("an input read after the output was begun is not replaced either") {
    ScratchDir dir;
    MakeForeign(dir / "f", "mine");
    auto file = OutputFile::Create(dir / "f");
    REQUIRE(file.ok());
    stallscope::NoteInput(dir / "f");
    CHECK_FALSE(file.value().Publish().ok());
    stallscope::ForgetInput(dir / "f");
    CHECK(file.value().Publish().ok());
  }

  TEST_CASE("only regular files are replaced") {
    ScratchDir dir;
    REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
    std::filesystem::create_symlink(dir / "nowhere", dir / "dangling");
    std::filesystem::create_directory(dir / "folder");
    for (const std::string& path :
         {dir / "pipe", dir / "dangling", std::string("/dev/null"), dir / "folder"}) {
      CAPTURE(path);
      CHECK_FALSE(WriteFileAtomically(path, "text").ok());
    }
    struct stat about {};
    REQUIRE(stat("/dev/null", &about) == 0);
    CHECK(S_ISCHR(about.st_mode));
    CHECK(EntriesIn(dir.path()) == 3);
  }

  TEST_CASE("a replaced file keeps its mode, and its owner where this user may give it away") {
    ScratchDir dir;
    MakeForeign(dir / "f", "secret", 0600);
    const bool root = geteuid() == 0;
    if (root) REQUIRE(chown((dir / "f").c_str(), 65534, 65534) == 0);
    REQUIRE(WriteFileAtomically(dir / "f", "new").ok());
    struct stat about {};
    REQUIRE(stat((dir / "f").c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0600);
    if (root) CHECK(about.st_uid == 65534);
  }

  TEST_CASE("short and interrupted writes are finished") {
    for (auto fault : {FaultyDisk::Fault::kShort, FaultyDisk::Fault::kInterrupted}) {
      ScratchDir dir;
      FaultyDisk disk(fault, 0, 3);
      auto file = Published(dir / "f", disk);
      REQUIRE(file.ok());
      CHECK(file.value().Append("hello world").ok());
      CHECK(disk.writes() > 1);
      CHECK(ReadWholeFile(dir / "f", 100).value() == "hello world");
    }
  }

  TEST_CASE("a failed append is reported, and the next one takes its place") {
    ScratchDir dir;
    FaultyDisk disk(FaultyDisk::Fault::kError, 1, 1, ENOSPC);
    auto file = Published(dir / "f", disk);
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

  TEST_CASE("the remains of a failed append are cut off at once") {
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
    auto file = Published(dir / "f", disk);
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
    CHECK_FALSE(OutputFile::Create(dir / "no/such/folder").ok());
  }

  TEST_CASE("a file over the limit is refused") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "f", std::string(1000, 'x')).ok());
    CHECK(ReadWholeFile(dir / "f", 1000).ok());
    CHECK_FALSE(ReadWholeFile(dir / "f", 999).ok());
  }

  TEST_CASE("a failed atomic write leaves the old content and nothing else") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "f", "old").ok());
    FaultyDisk disk(FaultyDisk::Fault::kError, 0, 100, EIO);
    CHECK_FALSE(WriteFileAtomically(dir / "f", "new", Over::kNoInput, disk).ok());
    CHECK(ReadWholeFile(dir / "f", 100).value() == "old");
    CHECK(EntriesIn(dir.path()) == 1);
  }

  TEST_CASE("links are followed") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "f", "old").ok());
    std::filesystem::create_symlink(dir / "f", dir / "link");
    REQUIRE(WriteFileAtomically(dir / "link", "new").ok());
    CHECK(std::filesystem::is_symlink(dir / "link"));
    CHECK(ReadWholeFile(dir / "f", 100).value() == "new");
  }

  TEST_CASE("a pipe is read to its end, a device not at all") {
    ScratchDir dir;
    REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
    const std::string content(200'000, 'x');
    std::thread writer([&] {
      const int fd = open((dir / "pipe").c_str(), O_WRONLY);
      for (size_t done = 0; fd >= 0 && done < content.size();) {
        const ssize_t put = write(fd, content.data() + done, content.size() - done);
        if (put > 0) done += static_cast<size_t>(put);
      }
      close(fd);
    });
    const auto read = ReadWholeFile(dir / "pipe", 1'000'000);
    writer.join();
    REQUIRE(read.ok());
    CHECK(read.value() == content);
    const auto device = InputFile::Open("/dev/zero");
    REQUIRE_FALSE(device.ok());
    CHECK(device.error().Line() ==
          "/dev/zero: cannot read a device; name a regular file or a pipe");
  }
}
