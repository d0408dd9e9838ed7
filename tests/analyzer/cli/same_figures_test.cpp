// The six forms of a report, and `info`, say the same of every run: verdict, breakdown, findings
// and their order, gains, units and figures. same_figures.py reads each with a parser that is not
// ours.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"

using namespace stallscope;
using test::RunProgram;
using test::ScratchDir;

namespace {

// The traces right in a folder.
std::vector<std::string> TracesIn(const std::string& folder) {
  std::vector<std::string> traces;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (entry.is_regular_file() && !name.ends_with(".md")) traces.push_back(entry.path());
  }
  std::sort(traces.begin(), traces.end());
  return traces;
}

void CheckSame(const std::string& trace, const std::vector<std::string>& options) {
  std::vector<std::string> command{"python3",
                                   test::SourceDir() + "/tests/analyzer/cli/same_figures.py",
                                   test::BuildDir() + "/bin/stallscope", trace};
  command.insert(command.end(), options.begin(), options.end());
  const auto done = RunProgram(command);
  CHECK_MESSAGE(done.exit_code == 0, done.out << done.err);
}

bool HavePython() { return RunProgram({"python3", "--version"}).exit_code == 0; }

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("all six forms and info agree over every sample") {
    if (!HavePython()) return test::Skip("python3 is not installed");
    const auto traces = TracesIn(test::SourceDir() + "/sample_traces");
    CHECK(traces.size() >= 19);
    for (const std::string& trace : traces) CheckSame(trace, {});
  }

  TEST_CASE("a figure that contradicts another is noticed, in whichever form") {
    if (!HavePython()) return test::Skip("python3 is not installed");
    ScratchDir dir;
    const std::string trace = test::SourceDir() + "/sample_traces/input_decode.sst";
    const std::string real = test::BuildDir() + "/bin/stallscope";
    for (const char* edit :
         {"r.txt s/74.2%/75.2%/", "r.txt s/ 1. high: [a-z]*/ 1. high: other/",
          "r.md s/74.2%/75.2%/", "r.html s/stall\\ 74.2%/stall\\ 75.2%/", "r.html s/71.7%/72.7%/",
          "r.json s/0.7415/0.7515/", "r.xml s/631/632/", "r.sarif s/input-bound/compute-bound/",
          "r.sarif s/\"error\"/\"note\"/"}) {
      CAPTURE(edit);
      const std::string file = std::string(edit).substr(0, std::string(edit).find(' '));
      const std::string how = std::string(edit).substr(file.size() + 1);
      const std::string script = "#!/bin/bash\n" + real +
                                 " \"$@\" || exit\nfor word; do if [[ $word == */" + file +
                                 " ]]; then sed -i '" + how + "' \"$word\"; fi; done\n";
      REQUIRE(WriteFileAtomically(dir / "liar", script).ok());
      std::filesystem::permissions(dir / "liar", std::filesystem::perms::owner_all);
      const auto done =
          RunProgram({"python3", test::SourceDir() + "/tests/analyzer/cli/same_figures.py",
                      dir / "liar", trace, "--no-price"});
      CHECK(done.exit_code == 1);
      CHECK_FALSE(done.out.empty());
    }
  }

  TEST_CASE("all six forms agree with a budget and a base") {
    if (!HavePython()) return test::Skip("python3 is not installed");
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "b.json", R"({"schema": "stallscope.budget/1", "checks": [
      {"metric": "breakdown.input_stall.fraction", "max": 0.05},
      {"metric": "throughput.samples_per_s", "max_regression": 0.05}]})")
                .ok());
    const std::string samples = test::SourceDir() + "/sample_traces/";
    CheckSame(samples + "input_decode.sst",
              {"--budget", dir / "b.json", "--base", samples + "compute.sst"});
  }

  TEST_CASE("all six forms and info agree over the corpus") {
    const auto corpus = test::CorpusDir();
    if (!corpus) return test::Skip("STALLSCOPE_CORPUS is not set");
    if (!HavePython()) return test::Skip("python3 is not installed");
    for (const char* kind : {"chrome", "kineto", "nsys", "tf_trace", "xplane"}) {
      const std::string folder = *corpus + "/" + kind;
      if (!std::filesystem::is_directory(folder)) continue;
      for (const std::string& trace : TracesIn(folder)) CheckSame(trace, {"--no-price"});
    }
  }
}
