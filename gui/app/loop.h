// The program with its window: from the first frame to the last. The main thread.
#ifndef STALLSCOPE_GUI_APP_LOOP_H_
#define STALLSCOPE_GUI_APP_LOOP_H_

#include "analyzer/base/result.h"
#include "gui/app/options.h"

namespace stallscope::app {

// Returns when the window is closed. kRun where none can be opened.
Status RunWindow(const Options& options);

}  // namespace stallscope::app

#endif  // STALLSCOPE_GUI_APP_LOOP_H_
