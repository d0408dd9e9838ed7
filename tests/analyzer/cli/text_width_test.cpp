// What is printed for people fits 80 columns; only what is there to be copied is longer.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "analyzer/base/lines.h"
#include "analyzer/words/words.h"
#include "tests/support/job_trace.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::SplitLines;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;
using Json = nlohmann::json;

namespace {

// The lines of the advice in code.
std::vector<std::string> CodeIn(const std::string& trace) {
  std::vector<std::string> code;
  const Json report = Json::parse(RunStallscope({"analyze", trace, "--format", "json"}).out);
  for (const Json& finding : report.at("findings")) {
    if (finding.at("recommendation").is_null()) continue;
    for (const auto& [framework, text] : finding["recommendation"].at("code").items()) {
      if (!text.is_string()) continue;
      for (const auto line : SplitLines(text.get_ref<const std::string&>())) {
        code.emplace_back(line);
      }
    }
  }
  return code;
}

// A command, a patch, a path, or the settings of a row.
bool IsCopied(const std::string& line) {
  return line.find("stallscope ") != std::string::npos || line.find(R"({"op":)") != line.npos ||
         line.find(" /") != line.npos || line.starts_with("#") || line.starts_with("export ");
}

void CheckWidth(const std::vector<std::string>& arguments,
                const std::vector<std::string>& code = {}) {
  const auto done = RunStallscope(arguments);
  CAPTURE(arguments.front());
  bool in_diff = false;
  for (const auto part : SplitLines(done.out)) {
    const std::string line(part);
    in_diff = line.starts_with("@@") || (in_diff && line.find_first_of(" +-") == 0);
    if (in_diff) continue;
    if (stallscope::words::TextWidth(line) <= stallscope::words::kTextWidth) continue;
    const bool is_code = std::any_of(code.begin(), code.end(), [&](const std::string& of) {
      return !of.empty() && line.ends_with(of);
    });
    CAPTURE(line);
    CHECK((is_code || IsCopied(line)));
  }
}

void CheckTune(const std::string& trace) {
  CAPTURE(trace);
  const ScratchDir dir;
  CheckWidth({"tune", trace, "--mode", "simulate", "-o", dir / "best.json"});
}

void CheckCommands(const std::string& trace) {
  CAPTURE(trace);
  const ScratchDir dir;
  CheckWidth({"analyze", trace}, CodeIn(trace));
  CheckWidth({"info", trace});
  CheckWidth({"compare", "--base", trace, "--new", trace});
  CheckWidth({"replay", trace, "--verify", "--mode", "simulate", "-o", dir / "sweep.json"});
  for (const char* const values : {"loader.num_workers=0,1,2", "decode.parallelism=1,2"}) {
    CheckWidth({"replay", trace, "--vary", values, "--vary", "job.threads=1,2", "--mode",
                "simulate", "-o", dir / "grid.json"});
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the text about the sample traces fits 80 columns") {
    size_t traces = 0;
    for (const char* const folder : {"/sample_traces", "/sample_traces/findings"}) {
      for (const auto& entry :
           std::filesystem::directory_iterator(stallscope::test::SourceDir() + folder)) {
        const std::string extension = entry.path().extension();
        if (extension != ".sst" && extension != ".gz") continue;
        CheckCommands(entry.path());
        ++traces;
      }
    }
    CHECK(traces > 20);
  }

  // One trace of each way that a search ends: it takes seconds, and many times that with
  // sanitizers.
  TEST_CASE("what a search prints fits 80 columns, whether it finds, does not, or cannot search") {
    for (const char* const name :
         {"input_blocked.sst", "compute.sst", "pytorch_workers_2.json.gz"}) {
      CheckTune(stallscope::test::SourceDir() + "/sample_traces/" + name);
    }
  }

  TEST_CASE("the text about a recorded job fits 80 columns") {
    const ScratchDir dir;
    for (const uint32_t workers : {0U, 2U}) {
      stallscope::test::TraceBuilder trace;
      stallscope::test::BuildJob(trace, {.workers = workers, .steps = 60});
      trace.Write(dir / "run.sst");
      CheckCommands(dir / "run.sst");
      CheckTune(dir / "run.sst");
    }
  }

  TEST_CASE("help fits 80 columns") {
    for (const char* const command :
         {"analyze", "apply", "compare", "completion", "convert", "doctor", "export", "generate",
          "import", "info", "man", "patch", "record", "replay", "run", "tune", "view"}) {
      CheckWidth({command, "--help"});
    }
    CheckWidth({"--help"});
    CheckWidth({"doctor"});
  }
}
