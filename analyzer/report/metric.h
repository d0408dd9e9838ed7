// A metric: a path into a report, "stages[decode].service_ms.p95". Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_METRIC_H_
#define STALLSCOPE_ANALYZER_REPORT_METRIC_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace stallscope::report {

struct Metric {
  std::string text;
  struct Step {
    std::string key;
    std::optional<std::string> row;  // in brackets
  };
  std::vector<Step> steps;

  std::string Pattern() const;  // "stages[].service_ms.p95"
};

// What is wrong with a path: it is none, or the schema has no figure there.
struct MetricFault {
  std::string what;
  std::string hint;
};
std::optional<MetricFault> ReadMetric(std::string_view text, Metric& metric);

struct Figure {
  std::optional<double> value;
  std::optional<double> low;
  std::optional<double> high;
  std::string missing;  // why there is no value
};
// One a metric.
std::vector<Figure> FiguresOf(const Report& report, const std::vector<Metric>& metrics);

// The patterns of all figures. They are those of a report that has one of everything, so that no
// list of them can differ from what the JSON writer writes.
const std::vector<std::string>& KnownFigures();

// By which field brackets pick from the list at the pattern ("stages"); nothing where there is no
// such list.
std::optional<std::string_view> RowKeyOf(const std::string& pattern);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_METRIC_H_
