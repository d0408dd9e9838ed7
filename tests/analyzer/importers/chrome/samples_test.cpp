// The samples that PyTorch's profiler recorded read as sample_traces/README.md says.
#include <doctest/doctest.h>

#include <string>

#include "tests/analyzer/importers/chrome/trace_text.h"
#include "tests/analyzer/importers/judged.h"
#include "tests/analyzer/sample_page.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::Judge;
using test::Judged;
using test::ReadTraceFile;
using test::SamplePath;

TEST_SUITE("fast") {
  TEST_CASE("the PyTorch samples have the documented verdicts") {
    const auto samples =
        test::SamplesOnPage(R"(\| `([^`]+\.json\.gz)` \| kineto \|.*\| ([^|]+) \|)");
    for (const test::Sample& sample : samples) {
      CAPTURE(sample.path);
      const Judged judged = Judge(ReadTraceFile(sample.path));
      CHECK(judged.verdict.text == sample.verdict);
      CHECK(judged.run.rows.steps.size() == 24);
      CHECK(judged.run.quality.warnings.empty());
    }
    CHECK(samples.size() == 2);
  }

  TEST_CASE("a loader without workers gets the advice to have some, one with two does not") {
    const Judged slow = Judge(ReadTraceFile(SamplePath("pytorch_workers_0.json.gz")));
    const findings::Finding* const workers = slow.FindingOf("loader-workers");
    REQUIRE(workers != nullptr);
    REQUIRE(workers->recommendation.has_value());
    CHECK(workers->recommendation->code.pytorch.find("num_workers") != std::string::npos);
    // Neither the cores nor the loader's CPU time are in the trace: the twin with two workers took
    // 0.476 of the time, and on one core it might have taken as long.
    CHECK_FALSE(workers->recommendation->gain.has_value());
    CHECK(workers->recommendation->unpriced.find("how many cores") != std::string::npos);
    const Judged two = Judge(ReadTraceFile(SamplePath("pytorch_workers_2.json.gz")));
    CHECK(two.FindingOf("loader-workers") == nullptr);
  }
}
