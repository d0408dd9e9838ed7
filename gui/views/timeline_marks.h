// What lies over the lanes of a timeline. Private to the room.
#ifndef STALLSCOPE_GUI_VIEWS_TIMELINE_MARKS_H_
#define STALLSCOPE_GUI_VIEWS_TIMELINE_MARKS_H_

#include "gui/views/timeline_place.h"

namespace stallscope::views {

// Times along the upper edge, a line down from each.
void DrawRuler(ImDrawList& list, const TimelinePlace& place);
// How much of a stall's colour lies over each column of the lanes: FillStrip mixes it in.
std::vector<uint8_t> TintsOf(const viewmodel::TimelineModel& model);
// Stalls: hatched over all lanes.
void DrawStallBands(ImDrawList& list, const TimelinePlace& place);
// The blame chain and the path of an element: framed pieces on their lanes, joined in order.
void DrawChains(ImDrawList& list, const TimelinePlace& place);
// The selection, the range that limits the panels, the one that is measured, bookmarks.
void DrawSelections(ImDrawList& list, const TimelinePlace& place);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_TIMELINE_MARKS_H_
