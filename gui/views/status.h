// The line along the lower edge: trust, what limits the panels, what is being worked on. The thread
// of the context.
#ifndef STALLSCOPE_GUI_VIEWS_STATUS_H_
#define STALLSCOPE_GUI_VIEWS_STATUS_H_

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

float StatusHeight();
// Also the notices, above it at the right.
void DrawStatus(const viewmodel::Snapshot& snapshot, session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_STATUS_H_
