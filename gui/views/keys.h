// The keyboard, by the table of commands. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_KEYS_H_
#define STALLSCOPE_GUI_VIEWS_KEYS_H_

#include <imgui.h>

#include "gui/viewmodel/commands.h"
#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// Tells Dear ImGui which places in ImGuiIO::KeysDown its own keys have. The places are GLFW's key
// codes, also where there is no GLFW.
void MapKeys(ImGuiIO& io);

// The place of a key in ImGuiIO::KeysDown; -1 where it has none.
int PlaceOf(viewmodel::Key key);

// Runs the commands whose keys are pressed, unless a text field wants them.
void HandleKeys(const viewmodel::Snapshot& snapshot, session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_KEYS_H_
