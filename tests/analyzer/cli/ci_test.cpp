// What a build server runs: the commands exactly as on the CI page, and the GitHub action.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using namespace stallscope;
using test::Has;
using test::ProgramResult;
using test::RunProgram;
using test::ScratchDir;

namespace {

std::string ActionFile(const std::string& name) {
  return test::SourceDir() + "/.github/actions/stallscope/" + name;
}

void CopySample(const std::string& name, const std::string& to) {
  std::filesystem::copy_file(test::SourceDir() + "/sample_traces/" + name, to,
                             std::filesystem::copy_options::overwrite_existing);
}

std::string FileText(const std::string& path) {
  const auto read = ReadWholeFile(path, 1 << 24);
  return read.ok() ? read.value() : "";
}

// With the built program on the PATH, in a folder of its own.
ProgramResult RunIn(const std::string& folder, const std::string& script,
                    std::vector<std::string> environment = {}) {
  environment.push_back("PATH=" + test::BuildDir() + "/bin:/usr/bin:/bin");
  return RunProgram({"bash", "-c", "cd '" + folder + "' && " + script}, environment);
}

// The text from a heading of the page to the next.
std::string PageSection(const std::string& heading) {
  const std::string page = FileText(test::SourceDir() + "/analyzer/budget/CI.md");
  const size_t begin = page.find("\n" + heading + "\n");
  REQUIRE(begin != std::string::npos);
  return page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

struct ActionRun {
  ProgramResult result;
  std::string outputs;
  std::string summary;
};

ActionRun RunAction(const ScratchDir& dir, std::vector<std::string> inputs) {
  for (const char* name : {"outputs", "summary"}) std::filesystem::remove(dir / name);
  inputs.push_back("GITHUB_OUTPUT=" + (dir / "outputs"));
  inputs.push_back("GITHUB_STEP_SUMMARY=" + (dir / "summary"));
  ActionRun run;
  run.result = RunIn(dir.path(), "'" + ActionFile("analyze.sh") + "'", std::move(inputs));
  run.outputs = FileText(dir / "outputs");
  run.summary = FileText(dir / "summary");
  return run;
}

constexpr const char* kStallBudget = R"({"schema": "stallscope.budget/1", "checks": [
  {"metric": "breakdown.input_stall.fraction", "max": 0.05},
  {"metric": "trust.spans", "max": 1, "level": "warn"}]})";

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the commands of the page on CI check its budget and write their JUnit file") {
    const std::string section = PageSection("## The budget");
    std::smatch budget;
    REQUIRE(std::regex_search(section, budget, std::regex("```json\n([^`]*)```")));
    static const std::regex kCommand("stallscope analyze [^`'\n]*");
    size_t commands = 0;
    for (std::sregex_iterator found(section.begin(), section.end(), kCommand), end; found != end;
         ++found) {
      const std::string command = found->str();
      CAPTURE(command);
      ++commands;
      ScratchDir dir;
      REQUIRE(WriteFileAtomically(dir / "budget.json", budget[1].str()).ok());
      CopySample("compute.sst", dir / "run.sst");
      CopySample("compute.sst", dir / "main.sst");
      const ProgramResult held = RunIn(dir.path(), command);
      CHECK_MESSAGE(held.exit_code == 0, held.err);
      if (Has(command, "stallscope.xml")) {
        CHECK(Has(FileText(dir / "stallscope.xml"), "tests=\"3\" failures=\"0\" errors=\"0\""));
      }
      // One that waits for its input does not pass.
      CopySample("input_decode.sst", dir / "run.sst");
      const ProgramResult failed = RunIn(dir.path(), command);
      CHECK(failed.exit_code == 1);
      if (!Has(command, "stallscope.xml")) continue;
      CHECK(Has(FileText(dir / "stallscope.xml"), "<failure"));
      // A log without the report says what failed.
      CHECK(Has(failed.err, "stallscope: budget: breakdown.input_stall.fraction is "));
    }
    CHECK(commands >= 3);
    // The action's inputs in its example are inputs of the action.
    const std::string action = FileText(ActionFile("action.yml"));
    std::smatch with;
    REQUIRE(std::regex_search(section, with, std::regex("with: \\{([^}]*)\\}")));
    const std::string inputs = with[1];
    static const std::regex kInput("([a-z-]+):");
    for (std::sregex_iterator found(inputs.begin(), inputs.end(), kInput), end; found != end;
         ++found) {
      CHECK_MESSAGE(Has(action, "\n  " + (*found)[1].str() + ":\n"), (*found)[1].str());
    }
  }

  TEST_CASE("the action: every input and output that it names is there") {
    const std::string action = FileText(ActionFile("action.yml"));
    const std::string script = FileText(ActionFile("analyze.sh"));
    static const std::regex kName(R"((inputs|steps\.analyze\.outputs)\.([a-z-]+))");
    for (std::sregex_iterator found(action.begin(), action.end(), kName), end; found != end;
         ++found) {
      const std::string name = (*found)[2];
      CAPTURE(name);
      if ((*found)[1] == "inputs") {
        CHECK(Has(action, "\n  " + name + ":\n    description:"));
      } else {
        CHECK(Has(script, "echo \"" + name + "=$"));
      }
    }
    static const std::regex kVariable(R"(\n        ([A-Z]+): \$)");
    for (std::sregex_iterator found(action.begin(), action.end(), kVariable), end; found != end;
         ++found) {
      const std::string name = (*found)[1];
      CHECK_MESSAGE((Has(script, "$" + name) || Has(script, "${" + name) || name == "STATUS"),
                    name);
    }
    for (const char* part :
         {"actions/upload-artifact@", "codeql-action/upload-sarif@", "exit \"$STATUS\""}) {
      CHECK(Has(action, part));
    }
  }

  TEST_CASE("the action writes every report, its outputs and annotations, blanks in paths or not") {
    ScratchDir dir;
    CopySample("input_decode.sst", dir / "my run.sst");
    REQUIRE(WriteFileAtomically(dir / "my budget.json", kStallBudget).ok());
    const ActionRun run =
        RunAction(dir, {"TRACE=my run.sst\n", "BUDGET=my budget.json", "REPORTS=all reports"});
    CHECK_MESSAGE(run.result.exit_code == 0, run.result.err);
    for (const char* file :
         {"report.md", "report.html", "report.json", "junit.xml", "stallscope.sarif"}) {
      CHECK_MESSAGE(std::filesystem::exists(dir / ("all reports/" + std::string(file))), file);
    }
    CHECK(run.outputs ==
          "exit-code=1\noutcome=fail\nverdict=input-bound: decode (cpu)\nreports=all reports\n"
          "sarif=all reports/stallscope.sarif\n");
    CHECK(run.summary.starts_with("## input-bound"));
    CHECK(Has(run.result.out, "::error title=stallscope::breakdown.input_stall.fraction is "));
    // As a workflow command writes a percent sign.
    CHECK(Has(run.result.out, "must be at most 5%25\n"));
    CHECK(Has(run.result.out, "::warning title=stallscope::trust.spans is "));
    CHECK(Has(run.result.out, "::notice title=stallscope::input-bound: decode (cpu)\n"));
  }

  TEST_CASE("the action takes one path per line, of the traces and of the base") {
    ScratchDir dir;
    for (const char* name : {"a run.sst", "base 1.sst", "base 2.sst"}) {
      CopySample("compute.sst", dir / name);
    }
    REQUIRE(WriteFileAtomically(dir / "b.json", R"({"schema": "stallscope.budget/1", "checks": [
      {"metric": "throughput.samples_per_s", "max_regression": 0.05}]})")
                .ok());
    const ActionRun run =
        RunAction(dir, {"TRACE=a run.sst", "BASE=  base 1.sst\n  base 2.sst\n", "BUDGET=b.json"});
    CHECK_MESSAGE(Has(run.outputs, "outcome=pass\n"), run.result.err);
    const auto report = nlohmann::json::parse(FileText(dir / "stallscope-reports/report.json"));
    CHECK(report["comparison"]["base_runs"] == 2);
  }

  TEST_CASE("the action never shows an earlier report for a trace that cannot be read") {
    ScratchDir dir;
    CopySample("compute.sst", dir / "run.sst");
    CHECK(Has(RunAction(dir, {"TRACE=run.sst"}).outputs, "outcome=pass\n"));
    CHECK(std::filesystem::exists(dir / "stallscope-reports/report.md"));
    const ActionRun run = RunAction(dir, {"TRACE=none.sst"});
    CHECK(run.result.exit_code == 0);
    CHECK(Has(run.outputs, "exit-code=3\noutcome=error\nverdict=\n"));
    CHECK(Has(run.outputs, "\nsarif=\n"));
    CHECK(Has(run.summary, "## No analysis\n"));
    CHECK(Has(run.summary, "none.sst"));
    CHECK_FALSE(Has(run.summary, "compute"));
    CHECK(Has(run.result.out, "::error title=stallscope::stallscope: none.sst"));
    CHECK(std::filesystem::is_empty(dir / "stallscope-reports"));
  }
}
