#include "replay/sweep/leases.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "tests/support/paths.h"

using namespace stallscope;
using replay::LeaseOwner;
using replay::Leases;
using replay::ThisProcess;

namespace {

void WriteLease(const std::string& path, const LeaseOwner& owner) {
  std::ofstream(path) << owner.host << " " << owner.process << " " << owner.started << "\n";
}

void Age(const std::string& path, int64_t seconds) {
  struct timespec times[2];
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a lease belongs to one process until it is dropped") {
    test::ScratchDir dir;
    Leases mine(dir.path(), ThisProcess());
    CHECK(mine.Take("point-1").value());
    CHECK(mine.Take("point-1").value());
    CHECK(mine.IsMine("point-1"));
    CHECK_FALSE(mine.IsTaken("point-1").value());
    // A living process of this host: the one that started this test.
    LeaseOwner other = ThisProcess();
    other.process = 1;
    Leases theirs(dir.path(), other);
    CHECK_FALSE(theirs.Take("point-1").value());
    CHECK(theirs.IsTaken("point-1").value());
    mine.Drop("point-1");
    CHECK(theirs.Take("point-1").value());
  }

  TEST_CASE("a lease is free once its process is gone, even if the pid is reused") {
    test::ScratchDir dir;
    const pid_t gone = fork();
    if (gone == 0) _exit(0);
    REQUIRE(waitpid(gone, nullptr, 0) == gone);
    LeaseOwner dead = ThisProcess();
    dead.process = gone;
    dead.started = 12345;
    WriteLease(dir / "a.lease", dead);
    LeaseOwner reused = ThisProcess();
    reused.started += 1;
    WriteLease(dir / "b.lease", reused);
    std::ofstream(dir / "c.lease").close();
    Leases mine(dir.path(), ThisProcess());
    CHECK(mine.Take("a").value());
    CHECK(mine.Take("b").value());
    CHECK(mine.Take("c").value());
  }

  TEST_CASE("anything but our own lease is an error, and is left in place") {
    test::ScratchDir dir;
    std::ofstream(dir / "text.lease") << "nonsense";
    std::ofstream(dir / "victim") << "mine";
    std::filesystem::create_symlink(dir / "victim", dir / "link.lease");
    REQUIRE(mkfifo((dir / "pipe.lease").c_str(), 0600) == 0);
    WriteLease(dir / "far.lease", LeaseOwner{"another-host", 4, 5});
    std::filesystem::create_symlink(dir / "victim", dir / "now");
    Leases mine(dir.path(), ThisProcess());
    for (const char* const name : {"text", "link", "pipe", "far"}) {
      CAPTURE(std::string(name));
      const auto taken = mine.Take(name);
      REQUIRE_FALSE(taken.ok());
      CHECK(taken.error().kind == ErrorKind::kRun);
    }
    std::string text;
    std::ifstream(dir / "victim") >> text;
    CHECK(text == "mine");
    CHECK(std::filesystem::is_symlink(dir / "link.lease"));
  }

  TEST_CASE("another host's lease lives as long as it is touched") {
    test::ScratchDir dir;
    LeaseOwner far{"another-host", 4, 5};
    WriteLease(dir / "point.lease", far);
    Leases mine(dir.path(), ThisProcess());
    CHECK(mine.IsTaken("point").value());
    Age(dir / "point.lease", replay::kLeaseSeconds - 20);
    CHECK(mine.IsTaken("point").value());
    Age(dir / "point.lease", replay::kLeaseSeconds + 20);
    CHECK_FALSE(mine.IsTaken("point").value());
    CHECK(mine.Take("point").value());
    Age(dir / "point.lease", 1000);
    mine.Refresh();
    Leases theirs(dir.path(), far);
    CHECK_FALSE(theirs.Take("point").value());
  }

  TEST_CASE("an unusable lease is an error that names the file") {
    test::ScratchDir dir;
    std::filesystem::create_directory(dir / "point.lease");
    Leases mine(dir.path(), ThisProcess());
    const auto taken = mine.Take("point");
    REQUIRE_FALSE(taken.ok());
    CHECK(taken.error().kind == ErrorKind::kRun);
    CHECK(taken.error().where == dir / "point.lease");
    CHECK(mine.Take("other").value());
    // Whether another host's lease is old is asked of the file system's clock.
    WriteLease(dir / "far.lease", {"another-host", 4, 5});
    CHECK_FALSE(mine.Take("far").value());
    std::filesystem::remove(dir / "now");
    std::filesystem::create_directory(dir / "now");
    const auto timed = mine.Take("far");
    REQUIRE_FALSE(timed.ok());
    CHECK(timed.error().kind == ErrorKind::kRun);
    CHECK(timed.error().where == dir / "now");
  }

  TEST_CASE("the lease folder is removed unless it contains anything else") {
    test::ScratchDir dir;
    const auto made = [&](const std::string& folder) {
      std::filesystem::create_directory(folder);
      LeaseOwner dead = ThisProcess();
      dead.started += 1;
      WriteLease(folder + "/point-1.lease", dead);
      std::ofstream(folder + "/now").flush();
      std::ofstream(folder + "/lock").flush();
      return Leases(folder, ThisProcess());
    };
    made(dir / "ours").RemoveFolder();
    CHECK_FALSE(std::filesystem::exists(dir / "ours"));
    const Leases beside = made(dir / "mixed");
    for (const char* name : {"/notes.txt", "/notes.lease", "/sub/file"}) {
      std::filesystem::create_directory(dir / "mixed/sub");
      std::ofstream(dir / ("mixed" + std::string(name))) << "mine";
    }
    beside.RemoveFolder();
    CHECK(std::filesystem::exists(dir / "mixed/notes.txt"));
    CHECK(std::filesystem::exists(dir / "mixed/notes.lease"));
    CHECK(std::filesystem::exists(dir / "mixed/sub/file"));
    CHECK_FALSE(std::filesystem::exists(dir / "mixed/point-1.lease"));
    CHECK_FALSE(std::filesystem::exists(dir / "mixed/now"));
    // Somebody else is still at work.
    const Leases shared = made(dir / "shared");
    WriteLease(dir / "shared/point-2.lease", {"another-host", 4, 5});
    shared.RemoveFolder();
    CHECK(std::filesystem::exists(dir / "shared/point-2.lease"));
    CHECK(std::filesystem::exists(dir / "shared/lock"));
  }
}
