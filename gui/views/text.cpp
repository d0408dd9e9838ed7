#include "gui/views/text.h"

#include <cmath>
#include <limits>

#include "gui/views/look.h"

namespace stallscope::views {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
// A tooltip's width, in pixels at scale 1.
constexpr float kTipWidth = 520;

ImVec2 Whole(ImVec2 at) { return {std::floor(at.x), std::floor(at.y)}; }

const char* End(std::string_view text) { return text.data() + text.size(); }

}  // namespace

float WidthOf(const ImFont& font, std::string_view text) {
  return font
      .CalcTextSizeA(font.FontSize, std::numeric_limits<float>::max(), 0, text.data(), End(text))
      .x;
}

std::string Cut(const ImFont& font, std::string_view text, float width) {
  if (WidthOf(font, text) <= width) return std::string(text);
  const float room = width - WidthOf(font, kEllipsis);
  if (room <= 0) return "";
  const char* end = nullptr;
  font.CalcTextSizeA(font.FontSize, room, 0, text.data(), End(text), &end);
  // What measures ends between two characters of UTF-8, but also behind a space.
  while (end > text.data() && end[-1] == ' ') --end;
  if (end == text.data()) return "";
  return std::string(text.data(), end) + std::string(kEllipsis);
}

void Put(ImDrawList& list, const ImFont& font, ImVec2 at, ImU32 color, std::string_view text) {
  if (text.empty()) return;
  list.AddText(&font, font.FontSize, Whole(at), color, text.data(), End(text));
}

void PutRight(ImDrawList& list, const ImFont& font, ImVec2 right_top, ImU32 color,
              std::string_view text) {
  Put(list, font, {right_top.x - WidthOf(font, text), right_top.y}, color, text);
}

void PutCut(ImDrawList& list, const ImFont& font, ImVec2 at, float width, ImU32 color,
            std::string_view text) {
  Put(list, font, at, color, Cut(font, text, width));
}

void Line(std::string_view text, ImU32 color, float width) {
  if (width <= 0) width = ImGui::GetContentRegionAvail().x;
  const std::string shown = Cut(*ImGui::GetFont(), text, width);
  const InColor in_color(color);
  ImGui::TextUnformatted(shown.data(), End(shown));
  if (shown.size() != text.size()) Tip(text);
}

void Line(std::string_view text) { Line(text, TheLook().colors.text); }

void Paragraph(std::string_view text, ImU32 color) {
  const InColor in_color(color);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(text.data(), End(text));
  ImGui::PopTextWrapPos();
}

float ParagraphHeight(std::string_view text, float width) {
  return ImGui::CalcTextSize(text.data(), End(text), false, width).y;
}

void Heading(std::string_view text) {
  const InFont bold(TheLook().fonts.bold);
  Line(text);
}

void Tip(std::string_view text) {
  if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  ShowTooltip({std::string(text)});
}

void ShowTooltip(const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  const Look& look = TheLook();
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(look.Px(kTipWidth));
  for (size_t i = 0; i < lines.size(); ++i) {
    const InColor in_color(i == 0 ? look.colors.text : look.colors.muted);
    ImGui::TextUnformatted(lines[i].data(), End(lines[i]));
  }
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

}  // namespace stallscope::views
