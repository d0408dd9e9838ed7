// Areas in a paint: its colour, its hatch, its swatch in a legend. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_FILL_H_
#define STALLSCOPE_GUI_VIEWS_FILL_H_

#include <imgui.h>

#include <string_view>

#include "gui/viewmodel/paint.h"

namespace stallscope::views {

// The paint's hatch in `color`, cut to the rectangle; its lines no closer than `least_pitch`.
void PutHatch(ImDrawList& list, ImVec2 from, ImVec2 to, viewmodel::Hatch hatch, ImU32 color,
              float least_pitch = 0);
// Its colour and its hatch.
void PutPaint(ImDrawList& list, ImVec2 from, ImVec2 to, viewmodel::Paint paint, float rounding = 0);

// A swatch and its word, as an item.
void LegendEntry(viewmodel::Paint paint, std::string_view word);
float LegendWidth(std::string_view word);

// A bar of this fill in a frame, as an item.
void Gauge(double fill, ImU32 color, ImVec2 size, std::string_view text = {});

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_FILL_H_
