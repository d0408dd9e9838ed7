#include "gui/views/widgets.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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

Box::Box(const char* id, float width, float height, float top, session::Intents& intents) {
  const Look& look = TheLook();
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float wide = std::floor(std::min(look.Px(width), display.x - look.Px(40)));
  const float y = std::floor(display.y * top);
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(display);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, IM_COL32(0, 0, 0, 100));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("veil", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoMove);
  if (ImGui::IsWindowHovered() && ImGui::IsMouseClicked(0)) {
    intents.Add(session::intent::SetOverlay{session::Overlay::kNone});
  }
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  ImGui::SetNextWindowPos({std::floor((display.x - wide) / 2), y});
  ImGui::SetNextWindowSizeConstraints(
      {wide, 0},
      {wide, std::max(look.Px(80), std::min(look.Px(height), display.y - y - look.Px(20)))});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, look.colors.card);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, look.Px(8));
  ImGui::SetNextWindowFocus();
  open_ = ImGui::Begin(id, nullptr,
                       ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                           ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

Box::~Box() { ImGui::End(); }

float CardHeight(float content_height, bool titled) {
  const ImGuiStyle& style = ImGui::GetStyle();
  const float title = titled ? TheLook().fonts.bold->FontSize + style.ItemSpacing.y : 0;
  return std::ceil(content_height + title + 2 * style.WindowPadding.y + 2);
}

float ShareOfWidth(int count) {
  const float gaps = ImGui::GetStyle().ItemSpacing.x * static_cast<float>(count - 1);
  return std::floor((ImGui::GetContentRegionAvail().x - gaps) / static_cast<float>(count));
}

namespace {

using viewmodel::Hatch;

// Distance of a hatch's lines, in pixels at scale 1.
constexpr float kPitch = 7;
// Beyond this many lines the pitch grows with the area.
constexpr float kMostLines = 160;

struct Area {
  ImVec2 from;
  ImVec2 to;
  float wide() const { return to.x - from.x; }
  float high() const { return to.y - from.y; }
};

// Lines at 45 degrees, cut here: a clip rectangle would split the draw call.
void Diagonals(ImDrawList& list, const Area& area, float pitch, bool rising, ImU32 color) {
  const float thick = std::max(1.0f, TheLook().Px(1));
  const float first = std::ceil((area.from.x - area.high()) / pitch) * pitch;
  for (float x = first; x < area.to.x; x += pitch) {
    // From (x, top) to (x + height, bottom), or mirrored, cut at the left and right.
    const float low = std::max(x, area.from.x);
    const float high = std::min(x + area.high(), area.to.x);
    if (low >= high) continue;
    const float y0 = rising ? area.to.y - (low - x) : area.from.y + (low - x);
    const float y1 = rising ? area.to.y - (high - x) : area.from.y + (high - x);
    list.AddLine({low, y0}, {high, y1}, color, thick);
  }
}

}  // namespace

void PutHatch(ImDrawList& list, ImVec2 from, ImVec2 to, Hatch hatch, ImU32 color,
              float least_pitch) {
  const Area area{from, to};
  if (area.wide() < 1 || area.high() < 1) return;
  const Look& look = TheLook();
  const float pitch =
      std::max({look.Px(kPitch), least_pitch, std::ceil((area.wide() + area.high()) / kMostLines)});
  switch (hatch) {
    case Hatch::kNone:
      break;
    case Hatch::kRising:
      Diagonals(list, area, pitch, true, color);
      break;
    case Hatch::kFalling:
      Diagonals(list, area, pitch, false, color);
      break;
    case Hatch::kCrossed:
      Diagonals(list, area, pitch, true, color);
      Diagonals(list, area, pitch, false, color);
      break;
    case Hatch::kHorizontal:
      for (float y = from.y + look.Px(3); y < to.y; y += look.Px(5)) {
        list.AddLine({from.x, y}, {to.x, y}, color, std::max(1.0f, look.Px(1)));
      }
      break;
    case Hatch::kDots:
      for (float y = from.y + pitch / 2; y < to.y - 1; y += pitch) {
        for (float x = from.x + pitch / 2; x < to.x - 1; x += pitch) {
          const float side = std::max(1.0f, look.Px(1.5f));
          list.AddRectFilled({x, y}, {x + side, y + side}, color);
        }
      }
      break;
  }
}

void PutPaint(ImDrawList& list, ImVec2 from, ImVec2 to, viewmodel::Paint paint, float rounding) {
  const ImU32 color = TheLook().Of(paint);
  list.AddRectFilled(from, to, color, rounding);
  PutHatch(list, from, to, viewmodel::HatchOf(paint), WithAlpha(TextOn(color), 0.28f));
}

void LegendEntry(viewmodel::Paint paint, std::string_view word) {
  const Look& look = TheLook();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float side = std::round(look.Px(12));
  const float top = at.y + std::floor((ImGui::GetFontSize() - side) / 2);
  PutPaint(*ImGui::GetWindowDrawList(), {at.x, top}, {at.x + side, top + side}, paint);
  Put(*ImGui::GetWindowDrawList(), *ImGui::GetFont(), {at.x + side + look.Px(6), at.y},
      look.colors.muted, word);
  ImGui::Dummy({LegendWidth(word), ImGui::GetFontSize()});
}

float LegendWidth(std::string_view word) {
  return std::round(TheLook().Px(18)) + WidthOf(*ImGui::GetFont(), word);
}

void Gauge(double fill, ImU32 color, ImVec2 size, std::string_view text) {
  const Look& look = TheLook();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 to(at.x + size.x, at.y + size.y);
  const float part = static_cast<float>(std::clamp(fill, 0.0, 1.0));
  list.AddRectFilled(at, to, look.colors.grid, look.Px(3));
  if (part > 0) {
    list.AddRectFilled(at, {at.x + std::max(look.Px(2), size.x * part), to.y}, color, look.Px(3));
  }
  if (!text.empty()) {
    PutCut(list, *look.fonts.small,
           {at.x + look.Px(6), at.y + (size.y - look.fonts.small->FontSize) / 2},
           size.x - look.Px(12), look.colors.text, text);
  }
  ImGui::Dummy(size);
}

bool ButtonIf(bool can, const char* label, float width) {
  ImGui::BeginDisabled(!can);
  const bool pressed = ImGui::Button(label, {width, 0});
  ImGui::EndDisabled();
  return pressed;
}

namespace {

// Beside the factor, if there is room.
bool FitsBeside(const report::GainText& gain, float width) {
  const Look& look = TheLook();
  return WidthOf(*look.fonts.title, gain.factor) + look.Px(8) +
             WidthOf(*look.fonts.body, gain.beside) <=
         width;
}

std::string WhyNoGain(const report::GainText& gain) {
  return gain.beside.empty() ? "not priced" : "not priced: " + gain.beside;
}

std::string Disturbed(const report::GainText& gain) { return "disturbed: " + gain.disturbed; }

}  // namespace

void DrawGain(const report::GainText& gain) {
  const Look& look = TheLook();
  if (gain.factor.empty()) return Paragraph(WhyNoGain(gain), look.colors.muted);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImFont& title = *look.fonts.title;
  const ImU32 measured = gain.disturbed.empty() ? look.colors.good : look.colors.warning;
  Put(list, title, at, gain.measured ? measured : look.colors.accent, gain.factor);
  const bool fits = FitsBeside(gain, room);
  if (fits) {
    const float beside = WidthOf(title, gain.factor) + look.Px(8);
    Put(list, *look.fonts.body, {at.x + beside, at.y + title.Ascent - look.fonts.body->Ascent},
        look.colors.muted, gain.beside);
  }
  ImGui::Dummy({room, title.FontSize});
  if (!fits) Paragraph(gain.beside, look.colors.muted);
  if (!gain.disturbed.empty()) Paragraph(Disturbed(gain), look.colors.warning);
  if (!gain.predicted.empty()) Paragraph(gain.predicted, look.colors.muted);
}

float GainHeight(const report::GainText& gain, float width) {
  if (gain.factor.empty()) return ParagraphHeight(WhyNoGain(gain), width);
  const float gap = ImGui::GetStyle().ItemSpacing.y;
  float high = TheLook().fonts.title->FontSize;
  if (!FitsBeside(gain, width)) high += gap + ParagraphHeight(gain.beside, width);
  if (!gain.disturbed.empty()) high += gap + ParagraphHeight(Disturbed(gain), width);
  if (!gain.predicted.empty()) high += gap + ParagraphHeight(gain.predicted, width);
  return high;
}

void DrawAssumed(const std::string& assumed) {
  if (!assumed.empty()) Paragraph(assumed, TheLook().colors.warning);
}

void DrawTrustLine(const viewmodel::TrustLine& trust, float width) {
  const Look& look = TheLook();
  const ImU32 color = trust.complete ? look.colors.good : look.colors.bad;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float high = ImGui::GetFontSize();
  const float mark = std::round(high * 0.9f);
  const ImVec2 middle(at.x + mark / 2, at.y + std::round(high / 2));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  // A check mark and a triangle: distinct without color.
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
