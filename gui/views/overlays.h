// What is drawn over the panels: command palette, help, search, path box, tour, question. Only on
// the context's thread.
#pragma once

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// The overlay that the state shows, if any.
void DrawOverlay(const viewmodel::Snapshot& snapshot, session::Intents& intents);

}  // namespace stallscope::views
