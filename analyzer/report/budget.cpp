#include "analyzer/report/budget.h"

#include <algorithm>
#include <cmath>

#include "analyzer/report/metric.h"
#include "analyzer/report/regression.h"
#include "analyzer/spec/fault.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/nearest.h"

namespace stallscope::report {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "stallscope.budget/1";

MaybeFault UnknownKey(const json& object, const JsonPath& path,
                      const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    return Fault{path / std::string_view(key), "the key " + Quoted(key) + " is not known",
                 "the nearest is " + Quoted(Nearest(key, known)), true};
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
  if (into.min && into.max && *into.min > *into.max) {
    return Fault{path / "min", "min is larger than max", "no figure can be both"};
  }
  if (!into.max_regression.has_value()) return std::nullopt;
  if (*into.max_regression < 0 || *into.max_regression > 1) {
    return Fault{path / "max_regression", "must lie between 0 and 1",
                 "it is a fraction: 0.05 is 5%"};
  }
  if (!CanRegress(into.metric)) {
    return Fault{path / "max_regression", "a comparison of two runs has no " + Quoted(into.metric),
                 "the nearest that it has is " + Quoted(NearestRegression(into.metric))};
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
  if (!metric->is_string()) return WrongType(path / "metric", *metric, "a text");
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
  if (!root.contains("checks")) return Fault{path, "there are no 'checks'", "list them"};
  const json& checks = root["checks"];
  if (!checks.is_array()) return WrongType(path / "checks", checks, "a list");
  for (size_t i = 0; i < checks.size(); ++i) {
    BudgetCheck check;
    if (auto fault = ReadCheck(checks[i], path / "checks" / i, check)) return fault;
    budget.checks.push_back(std::move(check));
  }
  return std::nullopt;
}

}  // namespace

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

}  // namespace stallscope::report
