// Zooming, panning and selecting with the mouse. The keys are in the table of commands
// (viewmodel/commands), and what zooming does to a view in gui/session/navigation.
#pragma once

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

// A drag on the lanes pans, a drag with Shift or on the ruler measures a range; the wheel zooms at
// the pointer, with Shift it pans; a click selects. Over the names the wheel scrolls, and a click
// folds a group.
void HandleTimelineMouse(const TimelinePlace& place, const session::State& state,
                         session::Intents& intents);

// The same for the plain lanes of the previous item, which show `visible` from x = `left`: the
// wheel zooms at the pointer, a drag pans.
void HandleLanesMouse(const session::Range& visible, float left, float width,
                      session::Intents& intents);

}  // namespace stallscope::views
