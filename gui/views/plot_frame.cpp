#include "gui/views/plot_frame.h"

#include <algorithm>
#include <cmath>

#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {

bool PlotArea::Hovered() const {
  return ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(from, to);
}

ImVec2 PlotArea::Pointer() const {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  return {(mouse.x - from.x) / std::max(1.0f, to.x - from.x),
          (to.y - mouse.y) / std::max(1.0f, to.y - from.y)};
}

PlotArea DrawAxes(const char* id, ImVec2 size, const std::vector<std::string>& x_ticks,
                  const std::vector<std::string>& y_ticks, const std::string& x_name,
                  const std::string& y_name) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  float left = 0;
  for (const std::string& tick : y_ticks) left = std::max(left, WidthOf(small, tick));
  left += look.Px(8);
  const float above = y_name.empty() ? small.FontSize / 2 : small.FontSize + look.Px(6);
  const float below = (x_ticks.empty() ? 0 : small.FontSize + look.Px(5)) +
                      (x_name.empty() ? 0 : small.FontSize + look.Px(2)) + look.Px(3);
  PlotArea area;
  area.from = {std::round(at.x + left), std::round(at.y + above)};
  area.to = {std::round(std::max(area.from.x + 1, at.x + size.x - look.Px(10))),
             std::round(std::max(area.from.y + 1, at.y + size.y - below))};
  list.AddRectFilled(area.from, area.to, look.colors.lane);
  for (size_t i = 0; i < y_ticks.size(); ++i) {
    const float part =
        y_ticks.size() < 2 ? 0 : static_cast<float>(i) / static_cast<float>(y_ticks.size() - 1);
    const float y = std::round(area.At(0, part).y);
    list.AddLine({area.from.x, y}, {area.to.x, y}, look.colors.grid);
    PutRight(list, small, {area.from.x - look.Px(5), y - small.FontSize / 2}, look.colors.muted,
             y_ticks[i]);
  }
  float free_from = at.x;
  for (size_t i = 0; i < x_ticks.size(); ++i) {
    const float part =
        x_ticks.size() < 2 ? 0.5f : static_cast<float>(i) / static_cast<float>(x_ticks.size() - 1);
    const float x = std::round(area.At(part, 0).x);
    const float wide = WidthOf(small, x_ticks[i]);
    // In the middle below its place, but within the picture.
    const float begin = std::clamp(x - wide / 2, at.x, std::max(at.x, at.x + size.x - wide));
    if (begin < free_from) continue;
    list.AddLine({x, area.to.y}, {x, area.to.y + look.Px(4)}, look.colors.faint);
    Put(list, small, {begin, area.to.y + look.Px(5)}, look.colors.muted, x_ticks[i]);
    free_from = begin + wide + look.Px(8);
  }
  list.AddLine({area.from.x, area.to.y}, area.to, look.colors.faint);
  const float room = area.to.x - area.from.x;
  PutCut(list, small, {at.x, at.y}, size.x, look.colors.muted, y_name);
  const std::string below_name = Cut(small, x_name, room);
  Put(list, small,
      {area.from.x + (room - WidthOf(small, below_name)) / 2,
       at.y + size.y - small.FontSize - look.Px(1)},
      look.colors.muted, below_name);
  ImGui::InvisibleButton(id, {std::max(1.0f, size.x), std::max(1.0f, size.y)});
  return area;
}

}  // namespace stallscope::views
