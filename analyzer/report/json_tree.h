// The report as a tree of JSON values: what the writer prints and what a budget's paths lead into.
// Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_JSON_TREE_H_
#define STALLSCOPE_ANALYZER_REPORT_JSON_TREE_H_

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "analyzer/report/report.h"

namespace stallscope::report {

using Json = nlohmann::ordered_json;

Json ReportTree(const Report& report);
Json ComparisonTree(const compare::Comparison& comparison);
Json PatchTree(const Patch& patch);

// JSON has no infinities.
inline Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

template <class T>
Json OrNull(const std::optional<T>& value) {
  if (!value.has_value()) return nullptr;
  if constexpr (std::is_floating_point_v<T>) {
    return Number(*value);
  } else {
    return *value;
  }
}
inline Json TextOrNull(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_JSON_TREE_H_
