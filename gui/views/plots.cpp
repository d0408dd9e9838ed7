#include "gui/views/plots.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/words/words.h"
#include "gui/viewmodel/axis.h"
#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
bool PlotArea::Hovered() const { return Hovers(from, to); }

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
  const float left = WidestOf(small, y_ticks) + look.Px(8);
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
    // Centered below its position, but inside the plot.
    const float begin = std::clamp(x - wide / 2, at.x, std::max(at.x, at.x + size.x - wide));
    if (begin < free_from) continue;
    list.AddLine({x, area.to.y}, {x, area.to.y + look.Px(4)}, look.colors.faint);
    Put(list, small, {begin, area.to.y + look.Px(5)}, look.colors.muted, x_ticks[i]);
    free_from = begin + wide + look.Px(8);
  }
  list.AddLine({area.from.x, area.to.y}, area.to, look.colors.faint);
  const float room = area.to.x - area.from.x;
  PutCut(list, small, {at.x, at.y}, size.x, look.colors.muted, y_name);
  PutCentered(list, small, {area.from.x + room / 2, at.y + size.y - small.FontSize - look.Px(1)},
              room, look.colors.muted, x_name);
  ImGui::InvisibleButton(id, {std::max(1.0f, size.x), std::max(1.0f, size.y)});
  return area;
}

void DrawHistogram(const char* id, const viewmodel::Histogram& histogram, ImVec2 size,
                   const std::string& x_name, const std::string& y_name) {
  const Look& look = TheLook();
  const PlotArea area =
      DrawAxes(id, size, histogram.tick_texts,
               {"0", words::Grouped(std::max<uint64_t>(1, histogram.most))}, x_name, y_name);
  if (histogram.bins.empty() || histogram.most == 0) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const auto bins = static_cast<float>(histogram.bins.size());
  const float top = 0.96f;
  for (size_t i = 0; i < histogram.bins.size(); ++i) {
    if (histogram.bins[i] == 0) continue;
    const float high =
        top * static_cast<float>(histogram.bins[i]) / static_cast<float>(histogram.most);
    const ImVec2 low = area.At(static_cast<float>(i) / bins, 0);
    const ImVec2 up = area.At(static_cast<float>(i + 1) / bins, high);
    const float left = std::round(low.x);
    const float right = std::max(left + 1, std::round(up.x) - 1);
    // A bin with one value must stay visible beside one with a million.
    list.AddRectFilled({left, std::min(up.y, low.y - look.Px(2))}, {right, low.y},
                       look.colors.accent);
  }
  if (!histogram.beyond.empty()) {
    PutRight(list, *look.fonts.small, {area.to.x - look.Px(6), area.from.y + look.Px(4)},
             look.colors.muted, histogram.beyond);
  }
  if (!area.Hovered()) return;
  const auto bin = static_cast<size_t>(std::clamp(area.Pointer().x * bins, 0.0f, bins - 1));
  ShowTooltip({words::Grouped(histogram.bins[bin]) + " in this bar"});
}

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
  const float near = look.Px(8);
  if (Hovers({at.x - near, at.y - near}, {at.x + near, at.y + near})) ShowTooltip({point.tooltip});
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

void PutTimeAxis(ImDrawList& list, ImVec2 from, float right, const session::Range& range,
                 const session::State& state) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  const float width = right - from.x;
  const session::OpenRun* run = state.Active();
  if (width < look.Px(40) || range.ns() <= 0 || run == nullptr || run->index == nullptr) return;
  const int64_t origin = run->index->window.start_ns;
  for (const viewmodel::Tick& tick : viewmodel::TimeTicks(range, origin, width, look.Px(110))) {
    const float x = std::floor(from.x + tick.x);
    list.AddLine({x, from.y}, {x, from.y + look.Px(4)}, look.colors.faint);
    if (x + WidthOf(small, tick.text) > right) break;
    Put(list, small, {x, from.y + look.Px(5)}, look.colors.muted, tick.text);
  }
}

float TimeAxisHeight() { return TheLook().fonts.small->FontSize + TheLook().Px(8); }

}  // namespace stallscope::views
