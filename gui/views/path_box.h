// Where a file is opened from or saved to. Only on the context's thread.
#pragma once

#include <string>

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// Asks for a path where the desktop has no file dialog.
void DrawPathBox(const viewmodel::Snapshot& snapshot, session::Intents& intents);

// Hands the chosen path to whatever the state asked to open, or to save: both the path box and the
// desktop's dialog end here.
void AnswerOpen(const session::State& state, const std::string& path, session::Intents& intents);
void AnswerSave(const session::State& state, const std::string& path, session::Intents& intents);

}  // namespace stallscope::views
