#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analyzer/report/budget.h"
#include "analyzer/report/metric.h"
#include "analyzer/report/regression.h"

namespace stallscope::report {
namespace {

// Six digits that matter, but every digit of a whole number: 12000000001, 0.401123.
std::string Digits(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

std::string Percent(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.1f}%", fraction * 100) : "infinitely";
}

Outcome Worse(Outcome a, Outcome b) {
  if (a == Outcome::kFail || b == Outcome::kFail) return Outcome::kFail;
  return a == Outcome::kPass ? b : a;
}

std::string LimitPhrase(const BudgetCheck& check) {
  std::string text;
  const auto add = [&](const std::string& limit) { text += (text.empty() ? "" : ", ") + limit; };
  if (check.min) add("at least " + Digits(*check.min));
  if (check.max) add("at most " + Digits(*check.max));
  if (check.max_regression) add("at most " + Percent(*check.max_regression) + " worse than base");
  return text;
}

void CheckBounds(const BudgetCheck& check, const Figure& figure, CheckRow& row) {
  if (!figure.value.has_value()) {
    row.outcome = Outcome::kFail;
    row.text = check.metric + " is null: " + figure.missing;
    return;
  }
  row.value = figure.value;
  row.low = figure.low;
  row.high = figure.high;
  const double low = figure.low.value_or(*figure.value);
  const double high = figure.high.value_or(*figure.value);
  if (check.max) {
    if (high > *check.max) row.outcome = Outcome::kInconclusive;
    if (low > *check.max) row.outcome = Outcome::kFail;
  }
  if (check.min) {
    const Outcome above = low >= *check.min   ? Outcome::kPass
                          : high < *check.min ? Outcome::kFail
                                              : Outcome::kInconclusive;
    row.outcome = Worse(row.outcome, above);
  }
  row.text = check.metric + " is " + Digits(*figure.value);
  if (figure.low && figure.high) {
    row.text += fmt::format(" ({} to {})", Digits(*figure.low), Digits(*figure.high));
  }
}

void CheckRegression(const BudgetCheck& check, const compare::Comparison& base, CheckRow& row) {
  const std::optional<Loss> loss = LossOf(base, check.metric);
  std::string text = check.metric;
  if (!loss.has_value()) {
    row.outcome = Outcome::kFail;
    text += " is null in the comparison: a side does not have it";
  } else {
    if (loss->loss > *check.max_regression) {
      row.outcome = Worse(row.outcome, loss->real ? Outcome::kFail : Outcome::kInconclusive);
    }
    text += " is " + Percent(std::fabs(loss->loss)) + (loss->loss < 0 ? " better" : " worse") +
            " than base";
    if (loss->low && loss->high) {
      text += fmt::format(" ({:+.1f} to {:+.1f}% worse)", *loss->low * 100, *loss->high * 100);
    }
    if (loss->loss > *check.max_regression && !loss->real) text += ", which may be chance";
    if (!check.min && !check.max) {
      row.value = loss->loss;
      row.low = loss->low;
      row.high = loss->high;
    }
  }
  row.text += (row.text.empty() ? "" : "; ") + text;
}

}  // namespace

Result<std::vector<CheckRow>> CheckBudget(const Budget& budget, const Report& report,
                                          const compare::Comparison* base) {
  if (base == nullptr && budget.NeedsBase()) {
    return Error{ErrorKind::kUsage, "the budget has a max_regression and there is no base", "",
                 "give --base TRACE"};
  }
  std::vector<Metric> metrics(budget.checks.size());
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (const auto fault = ReadMetric(budget.checks[i].metric, metrics[i])) {
      return Error{ErrorKind::kUsage, fault->what, "", fault->hint};
    }
  }
  const std::vector<Figure> figures = FiguresOf(report, metrics);
  std::vector<CheckRow> rows;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const BudgetCheck& check = budget.checks[i];
    CheckRow row;
    row.metric = check.metric;
    row.limit = LimitPhrase(check);
    row.level = check.level;
    if (check.min || check.max) CheckBounds(check, figures[i], row);
    if (check.max_regression) CheckRegression(check, *base, row);
    row.text += "; must be " + row.limit;
    rows.push_back(std::move(row));
  }
  return rows;
}

Gate GateOf(const std::vector<CheckRow>& checks) {
  Gate gate = Gate::kHeld;
  for (const CheckRow& check : checks) {
    if (check.level != CheckLevel::kError) continue;
    if (check.outcome == Outcome::kFail) return Gate::kFailed;
    if (check.outcome == Outcome::kInconclusive) gate = Gate::kInconclusive;
  }
  return gate;
}

}  // namespace stallscope::report
