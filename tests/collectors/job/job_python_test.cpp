#include "collectors/job/job_python.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "analyzer/base/program.h"
#include "analyzer/base/units.h"
#include "tests/support/paths.h"

using namespace stallscope;
using job::CheckPython;
using system::Check;
using system::CheckState;

namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A program of this name that does what a shell script says, alone on the path.
class FakePython {
 public:
  explicit FakePython(const std::string& script, const std::string& name = "python") {
    std::ofstream(dir_ / name) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(dir_ / name, std::filesystem::perms::owner_all);
  }
  Check Checked(const std::string& active = "", int time_limit_ms = 10'000) const {
    return CheckPython({dir_.path(), active, time_limit_ms});
  }
  std::string folder() const { return dir_.path(); }

 private:
  test::ScratchDir dir_;
};

Check CheckOf(const std::string& versions) {
  return FakePython("printf '" + versions + "'").Checked();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("python: tested versions are ok, with their names") {
    const FakePython python("printf 'Python 3.11.2\\ntorch 2.6.0+cu124\\nJAX 0.12.1\\n'");
    const Check check = python.Checked();
    CHECK(check.name == "python");
    CHECK(check.state == CheckState::kOk);
    CHECK(check.detail ==
          python.folder() + "/python: Python 3.11.2, torch 2.6.0+cu124, JAX 0.12.1");
    CHECK(check.advice.empty());
    CHECK(FakePython("echo Python 3.13.0; echo torch 2.15.1", "python3").Checked().state ==
          CheckState::kOk);
    CHECK(CheckOf("Python 3.8.0\\ntorch 1.13.0\\n").state == CheckState::kOk);
  }

  TEST_CASE("python: an untested version is named, with the nearest tested one") {
    const Check old = CheckOf("Python 3.11.2\\ntorch 1.9.1\\n");
    CHECK(old.state == CheckState::kLimited);
    CHECK(Has(old.advice, "torch before 1.13 is untested: "));
    const Check newer = CheckOf("Python 3.14.0\\ntorch 2.16.0\\n");
    CHECK(Has(newer.advice, "Python after 3.13 is untested; torch after 2.15 is untested: "));
    // Only processes and threads: the shim does not run there.
    const Check oldest = CheckOf("Python 3.7.17\\ntorch 1.9.1\\n");
    CHECK(oldest.state == CheckState::kLimited);
    CHECK(Has(oldest.advice, "use Python 3.8 or later"));
    CHECK(Has(CheckOf("Python 3.11.2\\ntorch unknown\\n").advice, "no version that can be read"));
  }

  TEST_CASE("python: without a framework it is ok, and another Python may have one") {
    const Check check = CheckOf("Python 3.11.2\\n");
    CHECK(check.state == CheckState::kOk);
    CHECK(Has(check.detail, "Python 3.11.2, without torch, TensorFlow and JAX"));
    CHECK(Has(check.advice, "stallscope run -- FOLDER/bin/python train.py"));
  }

  TEST_CASE("python: none, one that fails, one that is none and one that hangs") {
    const test::ScratchDir empty;
    CHECK(CheckPython({empty.path(), ""}).state == CheckState::kMissing);
    CHECK(Has(FakePython("exit 1").Checked().detail, " does not print its version as Python does"));
    CHECK(Has(FakePython("echo hello world").Checked().detail,
              " does not print its version as Python does"));
    const int64_t begin_ns = MonotonicNs();
    const Check hangs = FakePython("echo Python 3.11.2; sleep 100").Checked("", 200);
    CHECK(hangs.state == CheckState::kLimited);
    CHECK(Has(hangs.detail, " does not print its version as Python does"));
    CHECK(MonotonicNs() - begin_ns < 50 * kNsPerSecond);
  }

  TEST_CASE("python: an active environment that PATH does not find is named") {
    const FakePython python("echo Python 3.11.2; echo torch 2.6.0; echo \"prefix ${0%/*}\"");
    const Check other = python.Checked("/home/u/venv");
    CHECK(other.state == CheckState::kLimited);
    CHECK(Has(other.advice, "VIRTUAL_ENV=/home/u/venv"));
    CHECK(python.Checked(python.folder()).state == CheckState::kOk);
    CHECK(python.Checked(python.folder() + "/").state == CheckState::kOk);
    CHECK(python.Checked(python.folder().substr(0, python.folder().size() - 1)).state ==
          CheckState::kLimited);
  }

  TEST_CASE("python: this machine's own answers") {
    if (FindProgram("python3", SearchPath()).empty()) return;
    const Check check = CheckPython({SearchPath(), "", 30'000});
    CHECK(Has(check.detail, ": Python 3."));
  }

  TEST_CASE("python: the shim's page has the tested versions") {
    const auto page =
        ReadWholeFile(test::SourceDir() + "/collectors/job/python/README.md", 1 << 20);
    REQUIRE(page.ok());
    std::string text = page.value();
    for (char& c : text) c = c == '\n' ? ' ' : c;
    for (const job::TestedVersions& tested : job::kTestedVersions) {
      std::string part = std::string(tested.name) + " " + std::string(tested.oldest);
      if (tested.newest != tested.oldest) part += " to " + std::string(tested.newest);
      CHECK_MESSAGE(Has(text, part), part);
    }
  }
}
