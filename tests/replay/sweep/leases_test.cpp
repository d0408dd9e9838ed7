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
  TEST_CASE("a lease is one process's until it drops it") {
    test::ScratchDir dir;
    Leases mine(dir.path(), ThisProcess());
    CHECK(mine.Take("point-1").value());
    CHECK(mine.Take("point-1").value());
    CHECK(mine.IsMine("point-1"));
    CHECK_FALSE(mine.IsTaken("point-1"));
    // A living process of this host: the one that started this test.
    LeaseOwner other = ThisProcess();
    other.process = 1;
    Leases theirs(dir.path(), other);
    CHECK_FALSE(theirs.Take("point-1").value());
    CHECK(theirs.IsTaken("point-1"));
    CHECK(theirs.AnyTaken());
    mine.Drop("point-1");
    CHECK(theirs.Take("point-1").value());
    CHECK_FALSE(theirs.AnyTaken());
  }

  TEST_CASE("a lease whose process is gone, or is another one by now, is free") {
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
    std::ofstream(dir / "c.lease") << "nonsense";
    Leases mine(dir.path(), ThisProcess());
    CHECK_FALSE(mine.AnyTaken());
    CHECK(mine.Take("a").value());
    CHECK(mine.Take("b").value());
    CHECK(mine.Take("c").value());
  }

  TEST_CASE("a lease of another host lives as long as it is touched") {
    test::ScratchDir dir;
    LeaseOwner far{"another-host", 4, 5};
    WriteLease(dir / "point.lease", far);
    Leases mine(dir.path(), ThisProcess());
    CHECK(mine.IsTaken("point"));
    Age(dir / "point.lease", replay::kLeaseSeconds - 20);
    CHECK(mine.IsTaken("point"));
    Age(dir / "point.lease", replay::kLeaseSeconds + 20);
    CHECK_FALSE(mine.IsTaken("point"));
    CHECK(mine.Take("point").value());
    Age(dir / "point.lease", 1000);
    mine.Refresh();
    Leases theirs(dir.path(), far);
    CHECK_FALSE(theirs.Take("point").value());
  }
}
