// A plot of points, lines and error bars. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_PLOT_VIEW_H_
#define STALLSCOPE_GUI_VIEWS_PLOT_VIEW_H_

#include <imgui.h>

#include "gui/viewmodel/sweep.h"

namespace stallscope::views {

// Measured is solid and filled, predicted dashed and hollow. With `diagonal` the line on which both
// axes are the same is drawn.
void DrawPlot(const char* id, const viewmodel::Plot& plot, ImVec2 size, bool diagonal = false);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_PLOT_VIEW_H_
