// Every sample trace is judged as its row in sample_traces/README.md says, and reported in every
// form.
#include <doctest/doctest.h>

#include "tests/analyzer/sample_page.h"
#include "tests/support/program.h"

using stallscope::test::ProgramResult;
using stallscope::test::RunStallscope;
using stallscope::test::Sample;
using stallscope::test::SamplesOnPage;

TEST_SUITE("fast") {
  TEST_CASE("the sample traces have the verdicts that their page lists") {
    const auto samples = SamplesOnPage(R"(\| `([^`]+\.sst)` \|.* dropped \| (.+) \|)");
    for (const Sample& sample : samples) {
      CAPTURE(sample.path);
      for (const char* const form : {"text", "json", "markdown", "html", "junit", "sarif"}) {
        CAPTURE(form);
        const ProgramResult report =
            RunStallscope({"analyze", sample.path, "--no-price", "--format", form});
        CHECK(report.exit_code == 0);
        CHECK(report.err.empty());
        CHECK(report.out.find(sample.verdict) != std::string::npos);
      }
    }
    CHECK(samples.size() >= 14);
  }
}
