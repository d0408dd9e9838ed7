// Which metrics of a report a comparison of two runs has, and how one fares against its base.
// Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_REGRESSION_H_
#define STALLSCOPE_ANALYZER_REPORT_REGRESSION_H_

#include <optional>
#include <string>

#include "analyzer/compare/compare.h"

namespace stallscope::report {

bool CanRegress(const std::string& metric);
std::string NearestRegression(const std::string& metric);

// How much worse new is than base as a fraction of base, whichever way is worse; negative: better.
struct Loss {
  double loss = 0;
  std::optional<double> low;
  std::optional<double> high;
  bool real = false;  // the interval of the change holds no 1
};
// Nothing where a side has no such figure. `metric` is one that can regress.
std::optional<Loss> LossOf(const compare::Comparison& comparison, const std::string& metric);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_REGRESSION_H_
