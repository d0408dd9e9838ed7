#include "gui/views/trust_line.h"

#include <imgui.h>

#include <cmath>
#include <string>
#include <vector>

#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {

void DrawTrustLine(const viewmodel::TrustLine& trust, float width) {
  const Look& look = TheLook();
  const ImU32 color = trust.complete ? look.colors.good : look.colors.bad;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float high = ImGui::GetFontSize();
  const float mark = std::round(high * 0.9f);
  const ImVec2 middle(at.x + mark / 2, at.y + std::round(high / 2));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  // Drawn, and in two shapes: a tick and a triangle are told apart without their colours.
  const float r = mark / 2;
  const float thick = std::max(1.5f, look.Px(2));
  if (trust.complete) {
    list.AddCircleFilled(middle, r, color);
    const ImU32 on = TextOn(color);
    list.AddLine({middle.x - r * 0.45f, middle.y}, {middle.x - r * 0.1f, middle.y + r * 0.38f}, on,
                 thick);
    list.AddLine({middle.x - r * 0.1f, middle.y + r * 0.38f},
                 {middle.x + r * 0.5f, middle.y - r * 0.38f}, on, thick);
  } else {
    list.AddTriangleFilled({middle.x, middle.y - r}, {middle.x + r, middle.y + r * 0.9f},
                           {middle.x - r, middle.y + r * 0.9f}, color);
    const ImU32 on = TextOn(color);
    list.AddRectFilled({middle.x - thick / 2, middle.y - r * 0.35f},
                       {middle.x + thick / 2, middle.y + r * 0.35f}, on);
    list.AddRectFilled({middle.x - thick / 2, middle.y + r * 0.5f},
                       {middle.x + thick / 2, middle.y + r * 0.5f + thick}, on);
  }
  const float gap = mark + look.Px(8);
  const float room = (width > 0 ? width : ImGui::GetContentRegionAvail().x) - gap;
  const std::string shown = Cut(*ImGui::GetFont(), trust.text, room);
  Put(list, *ImGui::GetFont(), {at.x + gap, at.y}, color, shown);
  ImGui::Dummy({gap + WidthOf(*ImGui::GetFont(), shown), high});
  if (ImGui::IsItemHovered()) {
    std::vector<std::string> lines = {trust.text};
    lines.insert(lines.end(), trust.warnings.begin(), trust.warnings.end());
    ShowTooltip(lines);
  }
}

}  // namespace stallscope::views
