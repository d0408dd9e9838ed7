#include "analyzer/budget/budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzer/budget/metric.h"
#include "analyzer/spec/fault.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/words/words.h"

namespace stallscope::budget {
namespace {

using report::CheckLevel;
using report::CheckRow;
using report::Outcome;

// --- What a comparison of two runs has, and how one fares against its base ---

std::string PatternOf(const std::string& metric) {
  Metric parsed;
  return ReadMetric(metric, parsed) ? "" : parsed.Pattern();
}

std::optional<compare::Change> OfStage(const compare::Comparison& comparison,
                                       const std::string& stage, bool service) {
  for (const compare::StageChange& change : comparison.stages) {
    if (change.name == stage) return service ? change.service_ms : change.capacity_samples_per_s;
  }
  return std::nullopt;
}

std::optional<compare::Change> ChangeOf(const compare::Comparison& comparison,
                                        const Metric& metric) {
  const std::string pattern = metric.Pattern();
  if (pattern == "throughput.samples_per_s") return comparison.throughput;
  if (pattern == "step_time_ms.mean") return comparison.step_mean_ms;
  if (pattern == "step_time_ms.p50") return comparison.step_p50_ms;
  if (pattern == "step_time_ms.p95") return comparison.step_p95_ms;
  if (pattern == "step_time_ms.p99") return comparison.step_p99_ms;
  if (pattern.starts_with("stages")) {
    return OfStage(comparison, *metric.steps.at(0).row, pattern.ends_with("service_ms.mean"));
  }
  // The breakdown's nanoseconds grow with the window: what is compared is the time a step.
  for (const attribution::Category category : attribution::kReportOrder) {
    if (metric.steps.at(1).key == attribution::WordFor(category)) {
      return comparison.ms_per_step[attribution::At(category)];
    }
  }
  return std::nullopt;
}

bool CanRegress(const std::string& metric) {
  const auto& patterns = ComparedFigures();
  return std::find(patterns.begin(), patterns.end(), PatternOf(metric)) != patterns.end();
}

std::string NearestRegression(const std::string& metric) {
  return Nearest(metric, ComparedFigures());
}

// How much worse new is than base as a fraction of base, whichever way is worse; negative: better.
struct Loss {
  double loss = 0;
  std::optional<double> low;
  std::optional<double> high;
  bool real = false;  // the comparison does not call it inconclusive
};
// Nothing where a side has no such figure. `metric` is one that can regress.
std::optional<Loss> LossOf(const compare::Comparison& comparison, const std::string& metric) {
  Metric parsed;
  if (ReadMetric(metric, parsed)) return std::nullopt;
  const auto change = ChangeOf(comparison, parsed);
  if (!change.has_value()) return std::nullopt;
  const bool more_is_better = metric.ends_with("samples_per_s");
  const double sign = more_is_better ? -1 : 1;
  // From nothing to something: an infinite loss, of unknown certainty.
  if (!change->HasRatio()) {
    return Loss{sign * std::numeric_limits<double>::infinity(), {}, {}, false};
  }
  Loss loss{sign * (change->ratio - 1), {}, {}, false};
  if (!change->bounded) return loss;
  const double low = sign * (change->low - 1);
  const double high = sign * (change->high - 1);
  loss.low = std::min(low, high);
  loss.high = std::max(low, high);
  // Of the throughput the comparison has its own answer, which stands in the same report.
  loss.real = loss.low > 0 && (metric != "throughput.samples_per_s" ||
                               comparison.answer != compare::Answer::kInconclusive);
  return loss;
}

// --- Reading ---

using nlohmann::json;

constexpr const char* kSchema = "stallscope.budget/1";

MaybeFault UnknownKey(const json& object, const JsonPath& path,
                      const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return Fault{path / std::string_view(key), "the key " + Quoted(key) + " is not known",
                 NearestHint(key, known, "the nearest"), true};
  }
  return std::nullopt;
}

Fault WrongType(const JsonPath& path, const json& value, const std::string& wanted) {
  return Fault{path, "must be " + wanted + ", not " + TypeInWords(value), "correct it"};
}

MaybeFault ReadLimit(const json& check, const JsonPath& path, std::string_view key,
                     std::optional<double>& limit) {
  const auto found = check.find(std::string(key));
  if (found == check.end()) return std::nullopt;
  if (!found->is_number()) return WrongType(path / key, *found, "a number");
  limit = found->get<double>();
  return std::nullopt;
}

MaybeFault ReadLimits(const json& check, const JsonPath& path, BudgetCheck& into) {
  if (auto fault = ReadLimit(check, path, "min", into.min)) return fault;
  if (auto fault = ReadLimit(check, path, "max", into.max)) return fault;
  if (auto fault = ReadLimit(check, path, "max_regression", into.max_regression)) return fault;
  if (!into.min && !into.max && !into.max_regression) {
    return Fault{path, "the check of " + Quoted(into.metric) + " has no limit",
                 "give it 'min', 'max' or 'max_regression'"};
  }
  for (const auto& [name, limit] : {std::pair("min", into.min), std::pair("max", into.max)}) {
    if (limit.value_or(0) > 1 && into.metric.ends_with(".fraction")) {
      return Fault{path / name, "a fraction is never above 1", "write 0.1 for 10%"};
    }
  }
  if (into.min && into.max && *into.min > *into.max) {
    return Fault{path / "min", "min is larger than max", "no value satisfies both"};
  }
  if (!into.max_regression.has_value()) return std::nullopt;
  if (*into.max_regression < 0 || *into.max_regression > 1) {
    return Fault{path / "max_regression", "must be between 0 and 1",
                 "it is a fraction: 0.05 is 5%"};
  }
  if (!CanRegress(into.metric)) {
    return Fault{path / "max_regression", "comparisons of two runs have no " + Quoted(into.metric),
                 "the nearest that they have is " + Quoted(NearestRegression(into.metric))};
  }
  return std::nullopt;
}

MaybeFault ReadCheck(const json& check, const JsonPath& path, BudgetCheck& into) {
  if (!check.is_object()) return WrongType(path, check, "an object");
  if (auto fault = UnknownKey(check, path, {"metric", "min", "max", "max_regression", "level"})) {
    return fault;
  }
  const auto metric = check.find("metric");
  if (metric == check.end()) {
    return Fault{path, "the check has no 'metric'", "give it a path into the report"};
  }
  if (!metric->is_string()) return WrongType(path / "metric", *metric, "a string");
  into.metric = metric->get<std::string>();
  Metric parsed;
  if (const auto fault = ReadMetric(into.metric, parsed)) {
    return Fault{path / "metric", fault->what, fault->hint};
  }
  const auto level = check.find("level");
  if (level != check.end()) {
    if (*level != "error" && *level != "warn") {
      return Fault{path / "level", "must be 'error' or 'warn'", "correct it"};
    }
    into.level = *level == "warn" ? CheckLevel::kWarn : CheckLevel::kError;
  }
  return ReadLimits(check, path, into);
}

MaybeFault ReadRoot(const json& root, Budget& budget) {
  const JsonPath path;
  if (!root.is_object()) return WrongType(path, root, "an object");
  if (auto fault = UnknownKey(root, path, {"schema", "checks"})) return fault;
  if (!root.contains("schema") || root["schema"] != kSchema) {
    return Fault{root.contains("schema") ? path / "schema" : path,
                 std::string("the schema is not ") + kSchema,
                 std::string("begin with \"schema\": \"") + kSchema + "\""};
  }
  if (!root.contains("checks")) return Fault{path, "'checks' is missing", "list the checks"};
  const json& checks = root["checks"];
  if (!checks.is_array()) return WrongType(path / "checks", checks, "a list");
  for (size_t i = 0; i < checks.size(); ++i) {
    BudgetCheck check;
    if (auto fault = ReadCheck(checks[i], path / "checks" / i, check)) return fault;
    budget.checks.push_back(std::move(check));
  }
  return std::nullopt;
}

// --- Checking ---

// Six digits that matter, but every digit of a whole number: 12000000001, 0.401123.
std::string Digits(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

std::string LossText(double fraction) {
  return std::isfinite(fraction) ? words::Percent(fraction) : "infinitely";
}

Outcome Worse(Outcome a, Outcome b) {
  if (a == Outcome::kFail || b == Outcome::kFail) return Outcome::kFail;
  return a == Outcome::kPass ? b : a;
}

// Every digit of a limit matters: 12.5%, 5%.
std::string ExactPercent(double fraction) { return Digits(fraction * 100) + "%"; }

// A share has one decimal, as everywhere, unless it then reads as a limit that it is not: 5.04%
// beside 5%.
std::string FigureText(double value, const BudgetCheck& check, bool is_share) {
  if (!is_share) return Digits(value);
  for (const auto& limit : {check.min, check.max}) {
    const bool looks_equal = limit && words::Percent(*limit) == words::Percent(value);
    if (looks_equal && *limit != value) return ExactPercent(value);
  }
  return words::Percent(value);
}

// With `is_share` in percent, for a sentence; otherwise in the budget's own numbers.
std::string LimitPhrase(const BudgetCheck& check, bool is_share) {
  std::string text;
  const auto add = [&](const std::string& limit) { text += (text.empty() ? "" : ", ") + limit; };
  const auto number = [&](double limit) { return is_share ? ExactPercent(limit) : Digits(limit); };
  if (check.min) add("at least " + number(*check.min));
  if (check.max) add("at most " + number(*check.max));
  if (check.max_regression) add("at most " + LossText(*check.max_regression) + " worse than base");
  return text;
}

void CheckBounds(const BudgetCheck& check, const Figure& figure, bool is_share, CheckRow& row) {
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
  const auto text = [&](double value) { return FigureText(value, check, is_share); };
  row.text = check.metric + " is " + text(*figure.value);
  if (figure.low && figure.high) {
    row.text += fmt::format(" ({} to {})", text(*figure.low), text(*figure.high));
  }
  // One or two steps may be anything.
  if (figure.unbounded) {
    row.outcome = Outcome::kInconclusive;
    row.text += ", of too few steps for an interval";
  }
}

// As for `max`, an interval on both sides of the limit decides nothing. One that also holds no loss
// at all is noise, unless the estimate is beyond the limit.
Outcome OutcomeOf(const Loss& loss, double limit) {
  if (!loss.low || !loss.high) {
    return loss.loss > limit ? Outcome::kInconclusive : Outcome::kPass;
  }
  if (*loss.high <= limit) return Outcome::kPass;
  if (loss.loss <= limit && *loss.low <= 0) return Outcome::kPass;
  return *loss.low > limit && loss.real ? Outcome::kFail : Outcome::kInconclusive;
}

void CheckRegression(const BudgetCheck& check, const compare::Comparison& base, CheckRow& row) {
  const std::optional<Loss> loss = LossOf(base, check.metric);
  std::string text = check.metric;
  if (!loss.has_value()) {
    row.outcome = Outcome::kFail;
    text += " is null in the comparison: one side lacks it";
  } else {
    const Outcome outcome = OutcomeOf(*loss, *check.max_regression);
    row.outcome = Worse(row.outcome, outcome);
    text += " is " + LossText(std::fabs(loss->loss)) + (loss->loss < 0 ? " better" : " worse") +
            " than base";
    if (loss->low && loss->high) {
      text += fmt::format(" ({} to {} worse)", words::SignedPercent(*loss->low),
                          words::SignedPercent(*loss->high));
    }
    if (outcome == Outcome::kInconclusive) {
      text += loss->real ? ", and the limit is within that interval" : ", which may be chance";
    }
    if (!check.min && !check.max) {
      row.value = loss->loss;
      row.low = loss->low;
      row.high = loss->high;
    }
  }
  row.text += (row.text.empty() ? "" : "; ") + text;
}

}  // namespace

const std::vector<std::string>& ComparedFigures() {
  static const std::vector<std::string> kPatterns = [] {
    std::vector<std::string> patterns = {"throughput.samples_per_s",
                                         "step_time_ms.mean",
                                         "step_time_ms.p50",
                                         "step_time_ms.p95",
                                         "step_time_ms.p99",
                                         "stages[].service_ms.mean",
                                         "stages[].capacity_samples_per_s"};
    for (const attribution::Category category : attribution::kReportOrder) {
      patterns.push_back("breakdown." + std::string(attribution::WordFor(category)) + ".ns");
    }
    return patterns;
  }();
  return kPatterns;
}

bool Budget::NeedsBase() const {
  return std::any_of(checks.begin(), checks.end(),
                     [](const BudgetCheck& check) { return check.max_regression.has_value(); });
}

Result<Budget> ReadBudget(std::string_view text, const std::string& name) {
  STALLSCOPE_ASSIGN_OR_RETURN(const json root, ParseJson(text, name, "budget"));
  Budget budget;
  if (const auto fault = ReadRoot(root, budget)) return ToError(*fault, name, text);
  return budget;
}

Result<Budget> ReadBudgetFile(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadJsonFile(path, "budget"));
  return ReadBudget(text, path);
}

Result<std::vector<CheckRow>> CheckBudget(const Budget& budget, const report::Report& report,
                                          const compare::Comparison* base) {
  if (base == nullptr && budget.NeedsBase()) {
    return Error{ErrorKind::kUsage, "the budget has a max_regression but there is no base run", "",
                 "pass --base TRACE"};
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
    const bool is_share = metrics[i].IsShare();
    CheckRow row;
    row.metric = check.metric;
    row.limit = LimitPhrase(check, false);
    row.level = check.level;
    if (check.min || check.max) CheckBounds(check, figures[i], is_share, row);
    if (check.max_regression) CheckRegression(check, *base, row);
    row.text += "; must be " + LimitPhrase(check, is_share);
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

}  // namespace stallscope::budget
