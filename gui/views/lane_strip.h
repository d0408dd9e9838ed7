// Lanes as pixels: a column of the picture is a texel, so that a lane of a million spans costs one
// quad. Private to the room.
#ifndef STALLSCOPE_GUI_VIEWS_LANE_STRIP_H_
#define STALLSCOPE_GUI_VIEWS_LANE_STRIP_H_

#include <imgui.h>

#include <vector>

#include "gui/viewmodel/timeline.h"
#include "gui/views/look.h"

namespace stallscope::views {

// Makes the pixels of these rows, where `drawn` or the theme is another than last time.
void FillStrip(const std::vector<viewmodel::LaneRow>& rows, int width, uint64_t drawn, float line,
               const Look& look, Strip& strip);

// Draws row `row` of those that the strip was filled with.
void PutLane(ImDrawList& list, const std::vector<viewmodel::LaneRow>& rows, size_t row,
             const Strip& strip, float line, ImVec2 from, ImVec2 to);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_LANE_STRIP_H_
