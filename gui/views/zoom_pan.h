// Zooming and panning with the mouse, and what else it does on lanes. The keys' part is in the
// table of commands, and what comes of it in the session's navigation.
#ifndef STALLSCOPE_GUI_VIEWS_ZOOM_PAN_H_
#define STALLSCOPE_GUI_VIEWS_ZOOM_PAN_H_

#include <imgui.h>

#include "gui/session/intents.h"
#include "gui/viewmodel/timeline.h"

namespace stallscope::views {

// Where the parts of a timeline are on the screen.
struct TimelinePlace {
  const viewmodel::TimelineModel& model;
  ImVec2 from;  // of the lanes, without their names
  ImVec2 to;
  float names = 0;       // left edge of the names
  float ruler = 0;       // top edge of the times
  float line = 0;        // height of a line in pixels
  double first_row = 0;  // line at the top of the lanes

  float X(float column) const { return from.x + column; }
  float Top(const viewmodel::LaneRow& row) const {
    return from.y + static_cast<float>((row.y - first_row) * line);
  }
  float Bottom(const viewmodel::LaneRow& row) const { return Top(row) + row.height * line - 1; }
};

// On the lanes a drag moves them, and one with Shift held, or along the times, marks a range; the
// wheel zooms at the pointer, with Shift it moves along; a click selects. Over the names the wheel
// scrolls and a click folds a group.
void HandleTimelineMouse(const TimelinePlace& place, const session::State& state,
                         session::Intents& intents);

// Of lanes without marks, for the item before: the wheel zooms at the pointer, a drag moves them.
// They show `visible` from x = `left` on.
void HandleLanesMouse(const session::Range& visible, float left, float width,
                      session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_ZOOM_PAN_H_
