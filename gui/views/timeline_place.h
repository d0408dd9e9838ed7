// Where the parts of a timeline lie on the screen. Private to the room.
#ifndef STALLSCOPE_GUI_VIEWS_TIMELINE_PLACE_H_
#define STALLSCOPE_GUI_VIEWS_TIMELINE_PLACE_H_

#include <imgui.h>

#include <algorithm>

#include "gui/viewmodel/timeline.h"

namespace stallscope::views {

struct TimelinePlace {
  const viewmodel::TimelineModel& model;
  ImVec2 from;  // of the lanes, without their names
  ImVec2 to;
  float names = 0;       // left edge of the names
  float ruler = 0;       // top edge of the times
  float line = 0;        // height of a line in pixels
  double first_row = 0;  // line at the top of the lanes

  float X(float column) const { return from.x + column; }
  float XOf(int64_t time_ns) const {
    // Far outside it makes no difference where, but a float must still hold it.
    const double x = viewmodel::XAtTime(model, time_ns);
    return from.x + static_cast<float>(std::clamp(x, -1e4, 1e5));
  }
  float Top(const viewmodel::LaneRow& row) const {
    return from.y + static_cast<float>((row.y - first_row) * line);
  }
  float Bottom(const viewmodel::LaneRow& row) const { return Top(row) + row.height * line - 1; }
};

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_TIMELINE_PLACE_H_
