// Reports for programs: schema stallscope.report/1. Equal reports give equal bytes. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analyzer/report/report.h"

namespace stallscope::report {

using Json = nlohmann::ordered_json;

// The tree that the writer prints and that a budget's metrics are paths into.
Json ReportTree(const Report& report);
Json ComparisonTree(const compare::Comparison& comparison);
Json PatchTree(const Patch& patch);

std::string WriteJson(const Report& report);
// Schema stallscope.comparison/1.
std::string WriteJson(const compare::Comparison& comparison);

}  // namespace stallscope::report
