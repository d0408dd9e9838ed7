#include "gui/views/text.h"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/views/look.h"

namespace stallscope::views {
namespace {

constexpr std::string_view kEllipsis = "\xE2\x80\xA6";
constexpr size_t kLongestLine = 4'000;  // in bytes
constexpr size_t kLongestParagraph = 6'000;
constexpr size_t kLongestTipLine = 1'500;
constexpr size_t kMostTipLines = 30;
// A cut name needs this many letters, or two thirds of them, to mean anything.
constexpr size_t kTellingLetters = 8;
// A tooltip's width, in pixels at scale 1.
constexpr float kTipWidth = 520;

ImVec2 Whole(ImVec2 at) { return {std::floor(at.x), std::floor(at.y)}; }

const char* End(std::string_view text) { return text.data() + text.size(); }

}  // namespace

std::string Beginning(std::string_view text, size_t most_bytes) {
  if (text.size() <= most_bytes) return std::string(text);
  size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + std::string(kEllipsis);
}

float WidthOf(const ImFont& font, std::string_view text) {
  return font
      .CalcTextSizeA(font.FontSize, std::numeric_limits<float>::max(), 0, text.data(), End(text))
      .x;
}

std::string Cut(const ImFont& font, std::string_view text, float width) {
  // Anything longer is wider than any window and need not be measured.
  const bool whole = text.size() <= kLongestLine;
  if (!whole) text = text.substr(0, kLongestLine);
  if (whole && WidthOf(font, text) <= width) return std::string(text);
  const float room = width - WidthOf(font, kEllipsis);
  if (room <= 0) return "";
  const char* end = nullptr;
  font.CalcTextSizeA(font.FontSize, room, 0, text.data(), End(text), &end);
  // Measuring stops between UTF-8 characters, but possibly after a space.
  while (end > text.data() && end[-1] == ' ') --end;
  if (end == text.data()) return "";
  return std::string(text.data(), end) + std::string(kEllipsis);
}

std::string CutName(const ImFont& font, std::string_view name, float width) {
  if (name.size() > kLongestLine || WidthOf(font, name) <= width) return Cut(font, name, width);
  const float room = width - WidthOf(font, kEllipsis);
  // The end gets a little more: numbers and values are there.
  const char* front = nullptr;
  font.CalcTextSizeA(font.FontSize, std::max(room * 0.45f, 0.0f), 0, name.data(), End(name),
                     &front);
  const float left = room - WidthOf(font, {name.data(), front});
  const char* back = End(name);
  while (back > front) {
    const char* next = back - 1;
    while (next > front && (static_cast<unsigned char>(*next) & 0xC0) == 0x80) --next;
    if (WidthOf(font, {next, End(name)}) > left) break;
    back = next;
  }
  const auto kept = static_cast<size_t>(front - name.data() + (End(name) - back));
  if (room <= 0 || kept < 2) return Cut(font, name, width);
  return std::string(name.data(), front) + std::string(kEllipsis) + std::string(back, End(name));
}

std::string Fitting(const ImFont& font, std::string_view text, std::string_view brief,
                    float width) {
  if (width <= 0) return "";
  if (WidthOf(font, text) <= width) return std::string(text);
  if (!brief.empty()) return WidthOf(font, brief) <= width ? std::string(brief) : "";
  std::string cut = Cut(font, text, width);
  const size_t kept = cut.empty() ? 0 : cut.size() - kEllipsis.size();
  return kept >= kTellingLetters || kept * 3 >= text.size() * 2 ? cut : "";
}

std::string InLines(const ImFont& font, std::string_view text, float width) {
  const float space = WidthOf(font, " ");
  std::string lines;
  float used = 0;
  bool filled = false;  // the line has a word, not only spaces
  size_t from = 0;
  while (from < text.size()) {
    const size_t end = std::min(text.find_first_of(" \n", from), text.size());
    const std::string_view word = text.substr(from, end - from);
    const float wide = WidthOf(font, word);
    if (filled && used + wide > width && lines.back() == ' ') {
      lines.back() = '\n';
      used = 0;
    }
    lines += word;
    used += wide;
    filled = filled || !word.empty();
    if (end < text.size()) {
      const bool ends = text[end] == '\n';
      lines += text[end];
      used = ends ? 0 : used + space;
      filled = filled && !ends;
    }
    from = end + 1;
  }
  return lines;
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

void PutCentered(ImDrawList& list, const ImFont& font, ImVec2 middle_top, float width, ImU32 color,
                 std::string_view text) {
  const std::string shown = CutName(font, text, width);
  Put(list, font, {middle_top.x - WidthOf(font, shown) / 2, middle_top.y}, color, shown);
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
  Wrapped(text);
  ImGui::PopTextWrapPos();
}

void Wrapped(std::string_view text) {
  const float until = ImGui::GetCurrentWindowRead()->DC.TextWrapPos;
  const float width = ImGui::CalcWrapWidthForPos(ImGui::GetCursorScreenPos(), until);
  const std::string shown = InLines(*ImGui::GetFont(), Beginning(text, kLongestParagraph), width);
  ImGui::TextUnformatted(shown.data(), End(shown));
}

float ParagraphHeight(std::string_view text, float width) {
  const std::string shown = InLines(*ImGui::GetFont(), Beginning(text, kLongestParagraph), width);
  return ImGui::CalcTextSize(shown.data(), End(shown), false, width).y;
}

void Heading(std::string_view text) {
  const InFont bold(TheLook().fonts.bold);
  Line(text);
}

bool Hovers(ImVec2 from, ImVec2 to) {
  return ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(from, to);
}

void Tip(std::string_view text) {
  if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  ShowTooltip({std::string(text)});
}

void ShowTooltip(const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  const Look& look = TheLook();
  ImGui::BeginTooltip();
  // Never wider than the window.
  ImGui::PushTextWrapPos(std::min(look.Px(kTipWidth), ImGui::GetIO().DisplaySize.x * 0.9f));
  for (size_t i = 0; i < std::min(lines.size(), kMostTipLines); ++i) {
    const InColor in_color(i == 0 ? look.colors.text : look.colors.muted);
    Wrapped(Beginning(lines[i], kLongestTipLine));
  }
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

}  // namespace stallscope::views
