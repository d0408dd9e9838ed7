#include "gui/views/breakdown_bar.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/views/fill.h"
#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using viewmodel::BreakdownPart;

float BarHeight() { return std::round(TheLook().Px(40)); }

std::string WordsOf(const BreakdownPart& part) { return part.name + "  " + part.text; }

void DrawPart(ImDrawList& list, ImVec2 from, ImVec2 to, const BreakdownPart& part) {
  const Look& look = TheLook();
  PutPaint(list, from, to, part.paint);
  const float room = to.x - from.x - look.Px(16);
  const ImU32 color = TextOn(look.Of(part.paint));
  const float left = from.x + look.Px(8);
  const float middle = (from.y + to.y) / 2;
  // On a hatch letters need a ground of their own.
  const auto put = [&](const ImFont& font, float top, std::string_view text) {
    const float wide = WidthOf(font, text);
    list.AddRectFilled({left - look.Px(3), top}, {left + wide + look.Px(3), top + font.FontSize},
                       look.Of(part.paint));
    Put(list, font, {left, top}, color, text);
  };
  const ImFont& bold = *look.fonts.bold;
  if (WidthOf(bold, WordsOf(part)) <= room) {
    put(bold, middle - bold.FontSize / 2, WordsOf(part));
  } else if (WidthOf(bold, part.text) <= room) {
    put(bold, middle - bold.FontSize / 2, part.text);
  }
}

// Where each entry of the legend begins, and the height of all.
float LayOutLegend(const std::vector<BreakdownPart>& parts, float width,
                   std::vector<ImVec2>* places) {
  const Look& look = TheLook();
  const float gap = look.Px(20);
  const float line = ImGui::GetTextLineHeight() + look.Px(4);
  ImVec2 at(0, 0);
  for (const BreakdownPart& part : parts) {
    const float wide = LegendWidth(WordsOf(part));
    if (at.x > 0 && at.x + wide > width) at = {0, at.y + line};
    if (places != nullptr) places->push_back(at);
    at.x += wide + gap;
  }
  return at.y + ImGui::GetTextLineHeight();
}

}  // namespace

void DrawBreakdown(const std::vector<BreakdownPart>& parts) {
  const Look& look = TheLook();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float width = std::floor(ImGui::GetContentRegionAvail().x);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float bottom = at.y + BarHeight();
  list.AddRectFilled(at, {at.x + width, bottom}, look.colors.grid);
  for (const BreakdownPart& part : parts) {
    // Edges in whole pixels: neighbours touch.
    const float x0 = at.x + std::round(static_cast<float>(part.begin) * width);
    const float x1 = at.x + std::round(static_cast<float>(part.end) * width);
    if (x1 <= x0) continue;
    DrawPart(list, {x0, at.y}, {x1, bottom}, part);
    if (x0 > at.x) list.AddRectFilled({x0, at.y}, {x0 + 1, bottom}, look.colors.card);
    if (ImGui::IsMouseHoveringRect({x0, at.y}, {x1, bottom}) && ImGui::IsWindowHovered()) {
      ShowTooltip({WordsOf(part), part.tooltip});
    }
  }
  ImGui::Dummy({width, BarHeight()});
  std::vector<ImVec2> places;
  const float legend_height = LayOutLegend(parts, width, &places);
  const ImVec2 legend = ImGui::GetCursorScreenPos();
  for (size_t i = 0; i < parts.size(); ++i) {
    ImGui::SetCursorScreenPos({legend.x + places[i].x, legend.y + places[i].y});
    LegendEntry(parts[i].paint, WordsOf(parts[i]));
    Tip(parts[i].tooltip);
  }
  ImGui::SetCursorScreenPos(legend);
  ImGui::Dummy({width, legend_height});
}

float BreakdownHeight(const std::vector<BreakdownPart>& parts, float width) {
  return BarHeight() + ImGui::GetStyle().ItemSpacing.y + LayOutLegend(parts, width, nullptr);
}

}  // namespace stallscope::views
