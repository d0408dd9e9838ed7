// A budget: limits that a run must keep, checked against its report (schema stallscope.budget/1).
//
//   { "schema": "stallscope.budget/1", "checks": [
//     {"metric": "breakdown.input_stall.fraction", "max": 0.05, "level": "error"},
//     {"metric": "throughput.samples_per_s", "max_regression": 0.05, "level": "error"},
//     {"metric": "stages[decode].utilization", "min": 0.5, "max": 0.9, "level": "warn"} ] }
//
// A metric is a path into the report's JSON. Brackets pick a row by its name; a device or a finding
// by its id, a copy by its direction, blame by its stage or by "stage (cause)". Every error of a
// budget is ErrorKind::kUsage and names its place. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/report/report.h"

namespace stallscope::budget {

struct BudgetCheck {
  std::string metric;
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> max_regression;  // a fraction of base's value
  report::CheckLevel level = report::CheckLevel::kError;
};

struct Budget {
  std::vector<BudgetCheck> checks;
  bool NeedsBase() const;
};

// The patterns of the metrics that a max_regression can have.
const std::vector<std::string>& ComparedFigures();

// Errors call the text `name`, the name of its file. A metric that no report has is an error that
// names the nearest one.
Result<Budget> ReadBudget(std::string_view text, const std::string& name);
// A file that cannot be opened or read is ErrorKind::kInput.
Result<Budget> ReadBudgetFile(const std::string& path);

// One row per check. `min` and `max` fail where the metric's whole interval lies beyond the limit,
// and are inconclusive where it straddles it. So is `max_regression`, of the interval of the loss,
// with two differences: of the throughput nothing fails that the comparison calls inconclusive, and
// an interval that holds no loss passes where the estimate does, as noise. A figure that the run
// lacks fails. `base` compares the base with this run; null
// where it is needed is an error.
Result<std::vector<report::CheckRow>> CheckBudget(const Budget& budget,
                                                  const report::Report& report,
                                                  const compare::Comparison* base = nullptr);

// The outcome of all checks of level error: a failed one outweighs an inconclusive one.
enum class Gate { kHeld, kFailed, kInconclusive };
Gate GateOf(const std::vector<report::CheckRow>& checks);

}  // namespace stallscope::budget
