// Every sample trace is judged as its row in sample_traces/README.md says, and reported in every
// form.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/analyzer/sample_page.h"
#include "tests/support/program.h"

using stallscope::test::ProgramResult;
using stallscope::test::RunStallscope;
using stallscope::test::Sample;
using stallscope::test::SamplePath;
using stallscope::test::SamplesOnPage;
using Json = nlohmann::json;

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

  TEST_CASE("recorded samples have their finding, and their near misses do not") {
    struct Row {
      const char* id;
      const char* sample;
      const char* near_miss;
    };
    for (const Row& row :
         {Row{"bucket-by-length", "findings/bucket-by-length.sst", "findings/slow-op.sst"},
          Row{"persistent-workers", "findings/persistent-workers.sst", "findings/slow-op.sst"},
          Row{"slow-op", "findings/slow-op.sst", "findings/transport.sst"},
          Row{"slow-shard", "findings/slow-shard.sst", "findings/cache-place.sst"},
          Row{"transport", "findings/transport.sst", "findings/slow-op.sst"},
          Row{"what-would-help", "input_buffer.sst", "input_order.sst"}}) {
      CAPTURE(row.id);
      const auto has = [&](const char* sample) {
        const ProgramResult report =
            RunStallscope({"analyze", SamplePath(sample), "--format", "json"});
        REQUIRE(report.exit_code == 0);
        const Json findings = Json::parse(report.out).at("findings");
        return std::any_of(findings.begin(), findings.end(),
                           [&](const Json& finding) { return finding.at("id") == row.id; });
      };
      CHECK(has(row.sample));
      CHECK_FALSE(has(row.near_miss));
    }
  }
}
