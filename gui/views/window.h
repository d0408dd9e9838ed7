// The whole window: menus, the list of panels, the panel, the status, and what lies over them. The
// thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_WINDOW_H_
#define STALLSCOPE_GUI_VIEWS_WINDOW_H_

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// Between ImGui::NewFrame and ImGui::Render; fills the display. Also runs the commands whose keys
// are pressed.
void DrawWindow(const viewmodel::Snapshot& snapshot, session::Intents& intents);

// One panel for a file: a line that says which run it is of, and the panel. Nothing reacts.
void DrawPicture(const viewmodel::Snapshot& snapshot, session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_WINDOW_H_
