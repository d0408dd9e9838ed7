// Lanes as textures: one texel per pixel column, so that a lane of a million spans costs one quad.
#pragma once

#include <imgui.h>

#include <vector>

#include "gui/viewmodel/lanes.h"
#include "gui/views/look.h"

namespace stallscope::views {

// Makes the pixels of these rows if anything changed since the last call. `tints` is how much of
// the stall color to mix into each column, 0 to 255: mixing here costs nothing per frame, while
// translucent rectangles are what a software renderer is slowest at.
void FillStrip(const std::vector<viewmodel::LaneRow>& rows, int width, uint64_t drawn, float line,
               const Look& look, Strip& strip, const std::vector<uint8_t>& tints = {});

// Draws row `row` of the rows that filled the strip.
void PutLane(ImDrawList& list, const std::vector<viewmodel::LaneRow>& rows, size_t row,
             const Strip& strip, float line, ImVec2 from, ImVec2 to);

// Where the lower part of a lane begins: waits fill only that.
float LowerPart(float top, float bottom);

}  // namespace stallscope::views
