// What a user does to a timeline with the mouse. Private to the room.
//
// On the lanes a drag moves them, and one with Shift held, or along the times, marks a range; the
// wheel zooms at the pointer, with Shift it moves along; a click selects. Over the names the wheel
// scrolls and a click folds a group.
#ifndef STALLSCOPE_GUI_VIEWS_TIMELINE_INPUT_H_
#define STALLSCOPE_GUI_VIEWS_TIMELINE_INPUT_H_

#include "gui/session/intents.h"
#include "gui/views/timeline_place.h"

namespace stallscope::views {

void HandleTimelineMouse(const TimelinePlace& place, const session::State& state,
                         session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_TIMELINE_INPUT_H_
