// The axes of a picture of numbers. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_PLOT_FRAME_H_
#define STALLSCOPE_GUI_VIEWS_PLOT_FRAME_H_

#include <imgui.h>

#include <string>
#include <vector>

namespace stallscope::views {

// What lies inside the axes, on the screen.
struct PlotArea {
  ImVec2 from;
  ImVec2 to;
  // Of 0 to 1, from the left and from the bottom.
  ImVec2 At(float x, float y) const {
    return {from.x + x * (to.x - from.x), to.y - y * (to.y - from.y)};
  }
  bool Hovered() const;
  // Where the pointer is, likewise; may lie outside.
  ImVec2 Pointer() const;
};

// Ticks stand at equal distances over the whole axis, the first and the last at its ends. The
// y axis' name stands above it. Takes the room `size` as an item.
PlotArea DrawAxes(const char* id, ImVec2 size, const std::vector<std::string>& x_ticks,
                  const std::vector<std::string>& y_ticks, const std::string& x_name,
                  const std::string& y_name);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_PLOT_FRAME_H_
