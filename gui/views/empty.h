// What stands where there is nothing to show. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_EMPTY_H_
#define STALLSCOPE_GUI_VIEWS_EMPTY_H_

#include <string_view>

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// In the middle of the room that is left: a heading, and what to do.
void DrawNothing(std::string_view heading, std::string_view what_to_do);

// No run is open: recent traces, samples, the way to open one.
void DrawWelcome(const viewmodel::Snapshot& snapshot, session::Intents& intents);

// The run is being read, or could not be.
void DrawOpening(const session::State& state, const session::OpenRun& run,
                 session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_EMPTY_H_
