// Lanes as pixels: a column of the picture is a texel, so that a lane of a million spans costs one
// quad. Private to the room.
#ifndef STALLSCOPE_GUI_VIEWS_LANE_STRIP_H_
#define STALLSCOPE_GUI_VIEWS_LANE_STRIP_H_

#include <imgui.h>

#include <vector>

#include "gui/viewmodel/lanes.h"
#include "gui/views/look.h"

namespace stallscope::views {

// Makes the pixels of these rows, where anything is another than last time. `tints` says how much
// of a stall's colour lies over each column, 0 to 255: mixed here it costs nothing when a frame is
// drawn, while a rectangle that shines through is what a renderer in software takes longest for.
void FillStrip(const std::vector<viewmodel::LaneRow>& rows, int width, uint64_t drawn, float line,
               const Look& look, Strip& strip, const std::vector<uint8_t>& tints = {});

// Draws row `row` of those that the strip was filled with.
void PutLane(ImDrawList& list, const std::vector<viewmodel::LaneRow>& rows, size_t row,
             const Strip& strip, float line, ImVec2 from, ImVec2 to);

// Where the lower part of a lane begins, which is all that a wait fills.
float LowerPart(float top, float bottom);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_LANE_STRIP_H_
