// A metric: a path to a number in the JSON of a report, "stages[decode].service_ms.p95". Any
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace stallscope::budget {

struct Metric {
  std::string text;
  struct Step {
    std::string key;
    std::optional<std::string> row;  // in brackets
  };
  std::vector<Step> steps;

  std::string Pattern() const;  // "stages[].service_ms.p95"
  bool IsShare() const;         // from 0 to 1, and read as a percentage
};

// What is wrong with a path: its syntax, or the schema has no figure there.
struct MetricFault {
  std::string what;
  std::string hint;
};
std::optional<MetricFault> ReadMetric(std::string_view text, Metric& metric);

struct Figure {
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;
  bool unbounded = false;  // its interval is missing: a run with too few steps
  std::string missing;     // why there is no value
};
// One per metric.
std::vector<Figure> FiguresOf(const report::Report& report, const std::vector<Metric>& metrics);

// The patterns of all figures. They come from a report that has one of everything, so that no list
// can differ from what the JSON writer writes.
const std::vector<std::string>& KnownFigures();

// Patterns for a person, in few lines: "stages[NAME].service_ms.{mean, p50, p95, p99}".
std::vector<std::string> InFewLines(const std::vector<std::string>& patterns);

// The field by which brackets pick a row of the list at `pattern` ("stages"); nothing if there is
// no such list.
std::optional<std::string_view> RowKeyOf(const std::string& pattern);

}  // namespace stallscope::budget
