// A histogram as bars. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_HISTOGRAM_VIEW_H_
#define STALLSCOPE_GUI_VIEWS_HISTOGRAM_VIEW_H_

#include <imgui.h>

#include <string>

#include "gui/viewmodel/steps.h"

namespace stallscope::views {

void DrawHistogram(const char* id, const viewmodel::Histogram& histogram, ImVec2 size,
                   const std::string& x_name, const std::string& y_name);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_HISTOGRAM_VIEW_H_
