// The menus along the upper edge, from the table of commands. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_MENUS_H_
#define STALLSCOPE_GUI_VIEWS_MENUS_H_

#include "gui/viewmodel/snapshot.h"

namespace stallscope::views {

// Inside a window with a menu bar.
void DrawMenus(const viewmodel::Snapshot& snapshot, session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_MENUS_H_
