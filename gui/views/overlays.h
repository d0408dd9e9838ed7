// What lies over the panels: the palette of commands, help, finding, paths, the tour, what must
// be agreed to. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_OVERLAYS_H_
#define STALLSCOPE_GUI_VIEWS_OVERLAYS_H_

#include <string>

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// The one that the state shows, if any.
void DrawOverlay(const viewmodel::Snapshot& snapshot, session::Intents& intents);

// Answers what the state asks a file to open for, and
void AnswerOpen(const session::State& state, const std::string& path, session::Intents& intents);
// what it asks a path to save under for, whoever asked: this box or a dialog of the
// desktop.
void AnswerSave(const session::State& state, const std::string& path, session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_OVERLAYS_H_
