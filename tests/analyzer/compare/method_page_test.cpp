// The worked example of METHOD.md, recomputed.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "analyzer/base/file.h"
#include "analyzer/compare/mann_whitney.h"
#include "analyzer/compare/rates.h"
#include "analyzer/compare/run_interval.h"
#include "tests/analyzer/compare/runs.h"
#include "tests/support/paths.h"

using namespace stallscope;

TEST_SUITE("fast") {
  TEST_CASE("METHOD.md's example comes out as the page says") {
    const auto page = ReadWholeFile(test::SourceDir() + "/analyzer/compare/METHOD.md", 1 << 20);
    REQUIRE(page.ok());
    const auto base = test::RunsOf("a", {1000, 1012, 991, 1005, 1008});
    const auto now = test::RunsOf("b", {1052, 1061, 1049, 1070, 1043});
    const auto sides = compare::RateSides(base, now);
    const auto base_logs = compare::LogRates(sides.base);
    const auto now_logs = compare::LogRates(sides.now);
    const auto change = compare::CompareRuns(base_logs, now_logs);
    const auto rank = compare::MannWhitney(base_logs, now_logs);
    char line[400];
    std::snprintf(line, sizeof line,
                  "    b = %.5f   n = %.5f   d = %.5f\n"
                  "    e = %.5f   t = 2.306   interval %.5f to %.5f: ratio %.4f, %.4f to %.4f\n"
                  "    U = %.0f     p = %.4f\n",
                  compare::Mean(base_logs), compare::Mean(now_logs), change.at,
                  (change.high - change.at) / 2.306, change.low, change.high, std::exp(change.at),
                  std::exp(change.low), std::exp(change.high), rank.u, rank.p);
    const std::string answer = "    " + compare::Compare(base, now).text + "\n";
    for (const std::string& part : {std::string(line), answer}) {
      CHECK_MESSAGE(page.value().find(part) != std::string::npos,
                    "put this into analyzer/compare/METHOD.md:\n"
                        << part);
    }
  }
}
