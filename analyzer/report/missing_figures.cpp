#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/report/json_tree.h"
#include "analyzer/report/layout.h"

namespace stallscope::report {
namespace {

// Null there means that there is no such thing, not that the trace cannot tell.
bool IsFigure(const std::string& path) {
  static const std::set<std::string> kChoices = {
      "run.digest",     "run.spec",      "run.device.kind", "run.device.name",
      "stages[].queue", "verdict.stage", "verdict.cause"};
  return !path.starts_with("findings") && !path.starts_with("budget") &&
         !path.starts_with("comparison") && !path.starts_with("run.spec") &&
         !kChoices.contains(path);
}

// The figures that are null by path, those of rows with the names of the rows.
void Collect(const Json& tree, const std::string& path, const std::string& row,
             std::map<std::string, std::vector<std::string>>& missing) {
  if (tree.is_null()) {
    if (IsFigure(path)) missing[path].push_back(row);
  } else if (tree.is_object()) {
    for (const auto& [key, value] : tree.items()) {
      Collect(value, path.empty() ? key : path + "." + key, row, missing);
    }
  } else if (tree.is_array()) {
    for (const Json& value : tree) {
      const bool named = value.is_object() && value.contains("name") && value["name"].is_string();
      Collect(value, path + "[]", named ? value["name"].get<std::string>() : "", missing);
    }
  }
}

// A limit names a figure by its path, or begins with its last word.
bool Named(const std::vector<std::string>& limits, const std::string& path) {
  const std::string last = path.substr(path.rfind('.') + 1);
  return std::any_of(limits.begin(), limits.end(), [&](const std::string& limit) {
    return limit.find(path) != std::string::npos || limit.starts_with(last + ":");
  });
}

}  // namespace

void NameMissingFigures(Report& report) {
  std::map<std::string, std::vector<std::string>> missing;
  Collect(ReportTree(report), "", "", missing);
  // One line for all of a part of the report that is missing for the same rows.
  std::map<std::pair<std::string, std::string>, std::string> lines;
  for (const auto& [path, rows] : missing) {
    if (Named(report.trust.limits, path)) continue;
    std::string names;
    for (const std::string& row : rows) names += (names.empty() ? "" : ", ") + row;
    std::string& line = lines[{path.substr(0, path.find_first_of(".[")), names}];
    line += (line.empty() ? "" : ", ") + path;
  }
  for (const auto& [part, paths] : lines) {
    const std::string& rows = part.second;
    report.trust.limits.push_back(paths + ": not in this trace" +
                                  (rows.empty() ? "" : " for " + rows));
  }
}

}  // namespace stallscope::report
