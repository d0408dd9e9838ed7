// What is drawn over the panels: command palette, help, search, path box, tour, question. Only on
// the context's thread.
#pragma once

#include <string>

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// The overlay that the state shows, if any.
void DrawOverlay(const viewmodel::Snapshot& snapshot, session::Intents& intents);

// Hands the chosen path to whatever the state asked to open, or to save: both the path box and the
// desktop's dialog end here.
void AnswerOpen(const session::State& state, const std::string& path, session::Intents& intents);
void AnswerSave(const session::State& state, const std::string& path, session::Intents& intents);

}  // namespace stallscope::views
