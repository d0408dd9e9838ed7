// A budget: what a run must hold, checked against its report (schema stallscope.budget/1).
//
//   { "schema": "stallscope.budget/1", "checks": [
//     {"metric": "breakdown.input_stall.fraction", "max": 0.05, "level": "error"},
//     {"metric": "throughput.samples_per_s", "max_regression": 0.05, "level": "error"},
//     {"metric": "stages[decode].utilization", "min": 0.5, "max": 0.9, "level": "warn"} ] }
//
// A metric is a path into the report's JSON. Brackets pick a row by its name; a device or a finding
// by its id, a copy by its direction, blame by its stage or by "stage (cause)". Every error of a
// budget is ErrorKind::kUsage and says where. Any thread.
#ifndef STALLSCOPE_ANALYZER_REPORT_BUDGET_H_
#define STALLSCOPE_ANALYZER_REPORT_BUDGET_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/report/report.h"

namespace stallscope::report {

struct BudgetCheck {
  std::string metric;
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> max_regression;  // a fraction of base's value
  CheckLevel level = CheckLevel::kError;
};

struct Budget {
  std::vector<BudgetCheck> checks;
  bool NeedsBase() const;
};

// `name` is what errors call the text: the file's name. A metric that no report has is an error
// that names the nearest.
Result<Budget> ReadBudget(std::string_view text, const std::string& name);
// A file that cannot be opened or read is ErrorKind::kInput.
Result<Budget> ReadBudgetFile(const std::string& path);

// One row a check. `min` and `max` fail where the metric's whole interval lies beyond the limit,
// and are inconclusive where it straddles it. `max_regression` fails where the loss is larger than
// the limit and the interval of the change holds no 1; one that is larger and not certain is
// inconclusive. A figure that the run does not have fails. `base` compares base with this run; an
// error where it is needed and null.
Result<std::vector<CheckRow>> CheckBudget(const Budget& budget, const Report& report,
                                          const compare::Comparison* base = nullptr);

// What all checks of level error say together: a failed one counts more than an inconclusive one.
enum class Gate { kHeld, kFailed, kInconclusive };
Gate GateOf(const std::vector<CheckRow>& checks);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_BUDGET_H_
