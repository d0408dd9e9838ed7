// The pictures of a sweep's table. Private to the room; any thread.
#ifndef STALLSCOPE_GUI_VIEWMODEL_SWEEP_PLOTS_H_
#define STALLSCOPE_GUI_VIEWMODEL_SWEEP_PLOTS_H_

#include <optional>
#include <vector>

#include "analyzer/report/sweep_table.h"
#include "gui/viewmodel/sweep.h"

namespace stallscope::viewmodel {

// Of the first two knobs; nothing with fewer.
std::optional<SweepHeat> HeatOf(const report::SweepTable& table);
// For each knob the best rate at each of its values, predicted and measured.
std::vector<Plot> LinesOf(const report::SweepTable& table);
// Nothing where no row has memory and rate.
std::optional<Plot> ParetoOf(const report::SweepTable& table);
// Nothing where no row has both figures.
std::optional<Plot> AccuracyOf(const report::SweepTable& table);

}  // namespace stallscope::viewmodel

#endif  // STALLSCOPE_GUI_VIEWMODEL_SWEEP_PLOTS_H_
