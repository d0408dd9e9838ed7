#include "gui/views/plot_view.h"

#include <algorithm>
#include <cmath>

#include "gui/views/look.h"
#include "gui/views/plot_frame.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using viewmodel::Plot;
using viewmodel::PlotLine;
using viewmodel::PlotPoint;

void DrawDashed(ImDrawList& list, ImVec2 from, ImVec2 to, ImU32 color, float thick) {
  const Look& look = TheLook();
  const float dx = to.x - from.x;
  const float dy = to.y - from.y;
  const float length = std::sqrt(dx * dx + dy * dy);
  const float dash = look.Px(6);
  for (float at = 0; at < length; at += 2 * dash) {
    const float a = at / length;
    const float b = std::min(1.0f, (at + dash) / length);
    list.AddLine({from.x + dx * a, from.y + dy * a}, {from.x + dx * b, from.y + dy * b}, color,
                 thick);
  }
}

void DrawBars(ImDrawList& list, const PlotArea& area, const PlotPoint& point, ImU32 color) {
  const float thick = std::max(1.0f, TheLook().Px(1.5f));
  const float cap = TheLook().Px(3);
  if (point.high > point.low) {
    const ImVec2 low = area.At(point.x, point.low);
    const ImVec2 high = area.At(point.x, point.high);
    list.AddLine(low, high, color, thick);
    for (const ImVec2& end : {low, high}) {
      list.AddLine({end.x - cap, end.y}, {end.x + cap, end.y}, color, thick);
    }
  }
  if (point.x_high > point.x_low) {
    const ImVec2 low = area.At(point.x_low, point.y);
    const ImVec2 high = area.At(point.x_high, point.y);
    list.AddLine(low, high, color, thick);
    for (const ImVec2& end : {low, high}) {
      list.AddLine({end.x, end.y - cap}, {end.x, end.y + cap}, color, thick);
    }
  }
}

void DrawPoint(ImDrawList& list, const PlotArea& area, const PlotPoint& point, bool filled,
               ImU32 color) {
  const Look& look = TheLook();
  const ImVec2 at = area.At(point.x, point.y);
  DrawBars(list, area, point, color);
  const float r = look.Px(4);
  if (filled) {
    list.AddCircleFilled(at, r, color, 16);
  } else {
    list.AddCircleFilled(at, r, look.colors.lane, 16);
    list.AddCircle(at, r, color, 16, std::max(1.0f, look.Px(1.5f)));
  }
  if (point.best) list.AddCircle(at, look.Px(8), look.colors.good, 20, look.Px(2));
  if (point.base) {
    const float side = look.Px(7);
    list.AddRect({at.x - side, at.y - side}, {at.x + side, at.y + side}, look.colors.muted, 0, 0,
                 std::max(1.0f, look.Px(1.5f)));
  }
  const bool near = ImGui::IsWindowHovered() &&
                    ImGui::IsMouseHoveringRect({at.x - look.Px(8), at.y - look.Px(8)},
                                               {at.x + look.Px(8), at.y + look.Px(8)});
  if (near) ShowTooltip({point.tooltip});
}

}  // namespace

void DrawPlot(const char* id, const Plot& plot, ImVec2 size, bool diagonal) {
  const Look& look = TheLook();
  const PlotArea area = DrawAxes(id, size, plot.x_ticks, plot.y_ticks, plot.x_name, plot.y_name);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float thick = std::max(1.5f, look.Px(2));
  if (diagonal) {
    DrawDashed(list, area.At(0, 0), area.At(1, 1), look.colors.faint, std::max(1.0f, look.Px(1)));
  }
  for (const PlotLine& line : plot.lines) {
    const ImU32 color = line.measured ? look.colors.good : look.colors.accent;
    for (size_t i = 1; i < line.points.size(); ++i) {
      const ImVec2 from = area.At(line.points[i - 1].x, line.points[i - 1].y);
      const ImVec2 to = area.At(line.points[i].x, line.points[i].y);
      if (line.measured) {
        list.AddLine(from, to, color, thick);
      } else {
        DrawDashed(list, from, to, color, thick);
      }
    }
    for (const PlotPoint& point : line.points) DrawPoint(list, area, point, line.measured, color);
  }
  for (const PlotPoint& point : plot.dots) {
    DrawPoint(list, area, point, true, look.colors.accent);
  }
}

}  // namespace stallscope::views
