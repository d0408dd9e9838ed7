// The panels: each is a function of what there is to see and adds what its user asks for. Each
// fills the room that is left in the current Dear ImGui window. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_PANELS_H_
#define STALLSCOPE_GUI_VIEWS_PANELS_H_

#include <string_view>

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

using session::Intents;
using viewmodel::Snapshot;

void DrawOverview(const Snapshot& snapshot, Intents& intents);
void DrawTimeline(const Snapshot& snapshot, Intents& intents);
void DrawPipeline(const Snapshot& snapshot, Intents& intents);
void DrawStalls(const Snapshot& snapshot, Intents& intents);
void DrawSteps(const Snapshot& snapshot, Intents& intents);
void DrawFindings(const Snapshot& snapshot, Intents& intents);
void DrawSweep(const Snapshot& snapshot, Intents& intents);
void DrawCompare(const Snapshot& snapshot, Intents& intents);
void DrawRecord(const Snapshot& snapshot, Intents& intents);
void DrawSpans(const Snapshot& snapshot, Intents& intents);
void DrawRun(const Snapshot& snapshot, Intents& intents);

// The one that the state shows; where it has nothing to show yet, what is being done about it.
// Tells the session how large the panel is.
void DrawPanel(const Snapshot& snapshot, Intents& intents);

// What stands where there is nothing to show: in the middle of the room that is left, a heading and
// what to do.
void DrawNothing(std::string_view heading, std::string_view what_to_do);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_PANELS_H_
