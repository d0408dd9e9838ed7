// The whole window: menus, the list of panels, the panel, the status line and the overlays. Only on
// the context's thread.
#pragma once

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// Between ImGui::NewFrame and ImGui::Render; fills the display. Also runs the commands whose keys
// are pressed.
void DrawWindow(const viewmodel::Snapshot& snapshot, session::Intents& intents);

// One panel for a file, under a line that names its run. Ignores all input.
void DrawPicture(const viewmodel::Snapshot& snapshot, session::Intents& intents);

}  // namespace stallscope::views
