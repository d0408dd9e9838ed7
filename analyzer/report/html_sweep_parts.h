// The pictures of a sweep, as inline SVG. Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_HTML_SWEEP_PARTS_H_
#define STALLSCOPE_ANALYZER_REPORT_HTML_SWEEP_PARTS_H_

#include <string>

#include "analyzer/report/sweep_table.h"

namespace stallscope::report::html {

// Each two axes of the grid: a cell has the fastest row with those two values, whatever the others
// are. One axis gives one line of cells. Empty without a grid.
std::string HeatMaps(const SweepTable& table);
// Every row that has both figures, and the front. Empty where no two rows do.
std::string ParetoPicture(const SweepTable& table);
// Empty where no row has both.
std::string PredictedAgainstMeasured(const SweepTable& table);

}  // namespace stallscope::report::html

#endif  // STALLSCOPE_ANALYZER_REPORT_HTML_SWEEP_PARTS_H_
