#include "analyzer/base/folders.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/paths.h"

using stallscope::ScratchFolder;
using stallscope::StateFolder;
using stallscope::test::ScratchDir;

namespace fs = std::filesystem;

namespace {

// For the time of a case; other cases run in processes of their own.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a scratch folder is private and goes with its object") {
    const ScratchDir dir;
    const Variable temporary("TMPDIR", dir.path());
    std::string path;
    {
      auto made = ScratchFolder::Make();
      REQUIRE(made.ok());
      const ScratchFolder folder = std::move(made).value();
      path = folder.path();
      struct stat about {};
      REQUIRE(stat(path.c_str(), &about) == 0);
      CHECK((about.st_mode & 07777) == 0700);
      std::ofstream(path + "/file") << "content";
    }
    CHECK_FALSE(fs::exists(path));
  }

  TEST_CASE("the next process removes what a killed one left, and nothing else") {
    const ScratchDir dir;
    const Variable temporary("TMPDIR", dir.path());
    const pid_t child = fork();
    if (child == 0) {
      const auto folder = ScratchFolder::Make();
      _exit(folder.ok() ? 0 : 1);  // no destructor
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    fs::create_directory(dir / "stallscope-notes");
    std::ofstream(dir / "stallscope-notes/.scratch") << "my own";
    fs::create_directory(dir / "stallscope-empty");
    auto living = ScratchFolder::Make();
    REQUIRE(living.ok());
    auto other = ScratchFolder::Make();
    REQUIRE(other.ok());
    CHECK(fs::exists(living.value().path()));
    CHECK(fs::exists(dir / "stallscope-notes/.scratch"));
    CHECK(fs::exists(dir / "stallscope-empty"));
    size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(dir.path()))
      entries += entry.exists() ? 1u : 0u;
    CHECK(entries == 4);
  }

  TEST_CASE("a scratch folder within another one is hidden, and may be kept") {
    const ScratchDir dir;
    fs::create_directory(dir / ".stallscope-mine");
    std::string kept;
    {
      auto made = ScratchFolder::MakeIn(dir.path());
      REQUIRE(made.ok());
      CHECK(made.value().path().starts_with(dir / ".stallscope-"));
      struct stat about {};
      REQUIRE(stat(made.value().path().c_str(), &about) == 0);
      CHECK((about.st_mode & 07777) == 0700);
      auto second = ScratchFolder::MakeIn(dir.path());
      REQUIRE(second.ok());
      CHECK(fs::exists(made.value().path()));
      kept = second.value().path();
      std::ofstream(kept + "/file") << "content";
      second.value().Keep();
    }
    ScratchFolder::RemoveLeftOversIn(dir.path());
    size_t entries = 0;
    for (const auto& entry : fs::directory_iterator(dir.path()))
      entries += entry.exists() ? 1u : 0u;
    CHECK(entries == 2);
    CHECK(fs::exists(kept + "/file"));
    const auto nowhere = ScratchFolder::MakeIn("/nowhere/at/all");
    REQUIRE_FALSE(nowhere.ok());
    CHECK(nowhere.error().where.starts_with("/nowhere/at/all/.stallscope-"));
  }

  TEST_CASE("a folder that cannot be written is an error that names it") {
    const Variable temporary("TMPDIR", "/nowhere/at/all");
    const auto folder = ScratchFolder::Make();
    REQUIRE_FALSE(folder.ok());
    CHECK(folder.error().where.starts_with("/nowhere/at/all"));
  }

  TEST_CASE("the state folder follows XDG_STATE_HOME and is private") {
    const ScratchDir dir;
    const Variable state("XDG_STATE_HOME", dir / "state");
    const auto folder = StateFolder();
    REQUIRE(folder.ok());
    CHECK(folder.value() == dir / "state/stallscope");
    struct stat about {};
    REQUIRE(stat(folder.value().c_str(), &about) == 0);
    CHECK((about.st_mode & 07777) == 0700);
    CHECK(StateFolder().value() == folder.value());
  }
}
