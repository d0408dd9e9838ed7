// Where a step's time goes, as one bar. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_BREAKDOWN_BAR_H_
#define STALLSCOPE_GUI_VIEWS_BREAKDOWN_BAR_H_

#include <vector>

#include "gui/viewmodel/overview.h"

namespace stallscope::views {

// The bar over the whole width, and its legend below: every part has its word and its figure, also
// those that are too narrow for them in the bar.
void DrawBreakdown(const std::vector<viewmodel::BreakdownPart>& parts);
float BreakdownHeight(const std::vector<viewmodel::BreakdownPart>& parts, float width);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_BREAKDOWN_BAR_H_
