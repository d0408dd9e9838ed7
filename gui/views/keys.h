// The keyboard, mapped by the table of commands. Only on the context's thread.
#pragma once

#include <imgui.h>

#include "gui/viewmodel/commands.h"
#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// Maps Dear ImGui's own keys to indices of ImGuiIO::KeysDown. The indices are GLFW's key codes,
// even without GLFW.
void MapKeys(ImGuiIO& io);

// The index of a key in ImGuiIO::KeysDown; -1 if it has none.
int PlaceOf(viewmodel::Key key);

// Runs the commands whose keys are pressed, unless a text field takes them.
void HandleKeys(const viewmodel::Snapshot& snapshot, session::Intents& intents);

}  // namespace stallscope::views
