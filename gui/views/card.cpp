#include "gui/views/card.h"

#include <cmath>

#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {

Card::Card(const char* id, ImVec2 size, std::string_view title, bool scrolls) {
  const Look& look = TheLook();
  ImGui::PushStyleColor(ImGuiCol_ChildBg, look.colors.card);
  const ImGuiWindowFlags flags =
      scrolls ? 0 : ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::BeginChild(id, size, true, flags);
  ImGui::PopStyleColor();
  if (!title.empty()) Heading(title);
}

Card::~Card() { ImGui::EndChild(); }

float CardHeight(float content_height, bool titled) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float title = titled ? TheLook().fonts.bold->FontSize + style.ItemSpacing.y : 0;
  return std::ceil(content_height + title + 2 * style.WindowPadding.y + 2);
}

float ShareOfWidth(int count) {
  const float gaps = ImGui::GetStyle().ItemSpacing.x * static_cast<float>(count - 1);
  return std::floor((ImGui::GetContentRegionAvail().x - gaps) / static_cast<float>(count));
}

}  // namespace stallscope::views
