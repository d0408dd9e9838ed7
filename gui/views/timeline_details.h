// What is selected on a timeline, in a line. Private to the room.
#ifndef STALLSCOPE_GUI_VIEWS_TIMELINE_DETAILS_H_
#define STALLSCOPE_GUI_VIEWS_TIMELINE_DETAILS_H_

#include <string>

#include "gui/session/state.h"

namespace stallscope::views {

// "step 12 waited 41.2 ms (41,234,567 ns): decode cpu 80.0 %, read io 20.0 %", or the same of a
// span or of an element that is followed; empty where nothing is selected.
std::string DescribeSelection(const session::State& state);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_TIMELINE_DETAILS_H_
