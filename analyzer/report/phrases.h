// Sentences and figures that several writers share. Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_PHRASES_H_
#define STALLSCOPE_ANALYZER_REPORT_PHRASES_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/report/report.h"

namespace stallscope::report {

// "1.5 of 4", "1.5" where its capacity is not known; a dash where neither is.
std::string QueuePhrase(const std::optional<QueueRow>& queue);

// "200 steps in 12.000 s, 2 before them left out as warm-up"
std::string WindowPhrase(const Report& report);
// "NVIDIA A100 (emulated)"
std::string DevicePhrase(const Report& report);
// "computed 0.3 GFLOP a step: 12 GFLOP/s, 15 GFLOP/s while a device computes"; empty where it is
// not known.
std::string ArithmeticPhrase(const Report& report);
// "1.80x (1.60 to 1.90), measured 1.76x", or why there is none; empty where nothing is known.
std::string GainPhrase(const findings::Recommendation& recommendation);
// "costs 12.0 MiB", "frees 3.0 MiB"; empty where it is not known or nothing.
std::string MemoryPhrase(const findings::Recommendation& recommendation);
// "in decode, 41.2 % of step time"
std::string PlacePhrase(const FindingRow& finding);
// "set decode.parallelism to 4"; a change a line.
std::vector<std::string> PatchLines(const Patch& patch);
// Framework and code, those that are not empty.
std::vector<std::pair<std::string_view, std::string_view>> CodeOf(
    const findings::Recommendation& recommendation);
// "12.9 % more (+11.0 to +14.9 %)"; the interval where it has one.
std::string ChangePhrase(const compare::Change& change);

// Checks that failed, by level, and those that told nothing.
struct BudgetCounts {
  size_t errors = 0;
  size_t warnings = 0;
  size_t inconclusive = 0;  // of level error
};
BudgetCounts CountChecks(const std::vector<CheckRow>& checks);
// "budget: 5 of 6 checks held, 1 failed"
std::string BudgetPhrase(const std::vector<CheckRow>& checks);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_PHRASES_H_
