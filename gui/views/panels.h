// The panels: each draws a snapshot and adds what its user asks for as intents. Each fills the
// space left in the current Dear ImGui window. Only on the context's thread.
#pragma once

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

// The panel that the state shows; where it has nothing to show yet, what is being done about it.
// Reports the panel's size to the session.
void DrawPanel(const Snapshot& snapshot, Intents& intents);

// What a panel shows when it is empty: a heading and what to do, centered.
void DrawNothing(std::string_view heading, std::string_view what_to_do);

}  // namespace stallscope::views
