// Times below a picture. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_TIME_AXIS_H_
#define STALLSCOPE_GUI_VIEWS_TIME_AXIS_H_

#include <imgui.h>

#include "gui/session/state.h"

namespace stallscope::views {

// From `from` to x = `right`: round times since the run's start, as many as fit.
void PutTimeAxis(ImDrawList& list, ImVec2 from, float right, const session::Range& range,
                 const session::State& state);
float TimeAxisHeight();

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_TIME_AXIS_H_
