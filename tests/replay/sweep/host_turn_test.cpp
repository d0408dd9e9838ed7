// Whose turn it is to measure on this host.
#include "replay/sweep/host_turn.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "replay/sweep/bench.h"
#include "tests/replay/sweep/sweeps.h"
#include "tests/support/paths.h"

using namespace stallscope;
using replay::HostTurn;

namespace {

// For the time of a case.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, before_.c_str(), 1);
    }
  }

 private:
  const char* name_;
  std::string before_;
};

std::string OnlyFileIn(const std::string& folder) {
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CHECK(path.empty());
    path = entry.path().string();
  }
  return path;
}

struct stat About(const std::string& path) {
  struct stat about {};
  REQUIRE(lstat(path.c_str(), &about) == 0);
  return about;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("one at a time, and a waiter is told once") {
    const test::ScratchDir dir;
    const Variable runtime("XDG_RUNTIME_DIR", dir.path());
    REQUIRE(chmod(dir.path().c_str(), 0700) == 0);
    int waits = 0;
    const auto count = [&] { ++waits; };
    {
      const auto first = HostTurn::Await({}, count);
      REQUIRE(first.ok());
      CHECK(first.value().has_value());
      CHECK(waits == 0);
      int looks = 0;
      const auto second = HostTurn::Await([&] { return ++looks == 3; }, count);
      REQUIRE(second.ok());
      CHECK_FALSE(second.value().has_value());
      CHECK(waits == 1);
      CHECK((About(OnlyFileIn(dir.path())).st_mode & 07777) == 0600);
    }
    CHECK(HostTurn::Await({}, count).value().has_value());
    CHECK(waits == 1);
  }

  TEST_CASE("a bench reports only a real wait") {
    const test::ScratchDir dir;
    const Variable runtime("XDG_RUNTIME_DIR", dir.path());
    replay::RerunOptions options;
    options.scratch = dir.path();
    replay::LiveBench bench(options);
    std::vector<bool> told;
    replay::RunWish wish;
    wish.tell = [&](bool waiting) { told.push_back(waiting); };
    {
      const auto turn = HostTurn::Await({});
      REQUIRE(turn.ok());
      wish.stop_requested = [&] { return !told.empty(); };
      CHECK(bench.Measure(test::SweepSpec(), wish).value().stopped);
      CHECK(told == std::vector<bool>{true});
    }
    told.clear();
    CHECK_FALSE(bench.Measure(test::SweepSpec(), wish).value().stopped);
    CHECK(told.empty());
  }

  TEST_CASE("a runtime folder open to others is passed over for the state folder") {
    const test::ScratchDir dir;
    for (const char* name : {"open", "state"}) std::filesystem::create_directory(dir / name);
    const Variable state("XDG_STATE_HOME", dir / "state");
    REQUIRE(chmod((dir / "open").c_str(), 0777) == 0);
    for (const std::string& folder : {dir / "open", dir / "none", std::string("relative")}) {
      const Variable runtime("XDG_RUNTIME_DIR", folder);
      CHECK(HostTurn::Await({}).ok());
    }
    CHECK(OnlyFileIn(dir / "open").empty());
    CHECK_FALSE(OnlyFileIn(dir / "state/stallscope").empty());
    REQUIRE(chmod((dir / "open").c_str(), 0755) == 0);
    const Variable runtime("XDG_RUNTIME_DIR", dir / "open");
    CHECK(HostTurn::Await({}).ok());
    CHECK_FALSE(OnlyFileIn(dir / "open").empty());
  }

  TEST_CASE("a planted link is not followed, nor another user's file used") {
    const test::ScratchDir dir;
    const Variable runtime("XDG_RUNTIME_DIR", dir.path());
    REQUIRE(HostTurn::Await({}).ok());
    const std::string lock = OnlyFileIn(dir.path());
    std::filesystem::remove(lock);
    std::filesystem::create_symlink(dir / "victim", lock);
    const auto planted = HostTurn::Await({});
    REQUIRE_FALSE(planted.ok());
    CHECK(planted.error().kind == ErrorKind::kRun);
    CHECK(planted.error().what.starts_with("cannot acquire the measurement lock"));
    CHECK_FALSE(std::filesystem::exists(dir / "victim"));
    std::filesystem::remove(lock);
    std::ofstream(lock).flush();
    if (geteuid() != 0) return;  // nobody else can give a file away
    REQUIRE(chown(lock.c_str(), 65534, 65534) == 0);
    CHECK_FALSE(HostTurn::Await({}).ok());
    REQUIRE(chown(lock.c_str(), 0, 0) == 0);
    CHECK(HostTurn::Await({}).ok());
  }
}
