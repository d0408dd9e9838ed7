// The list of panels along the left edge. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_RAIL_H_
#define STALLSCOPE_GUI_VIEWS_RAIL_H_

#include <imgui.h>

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

float RailWidth();
void DrawRail(const viewmodel::Snapshot& snapshot, ImVec2 size, session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_RAIL_H_
