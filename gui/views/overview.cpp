// The first panel: what is wrong, what it costs, what to change, in this order.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/words/words.h"
#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::Intents;
using viewmodel::Advice;
using viewmodel::BreakdownPart;
using viewmodel::OverviewModel;

float BarHeight() { return std::round(TheLook().Px(40)); }

std::string WordsOf(const BreakdownPart& part) { return part.name + "  " + part.text; }

void DrawPart(ImDrawList& list, ImVec2 from, ImVec2 to, const BreakdownPart& part) {
  const Look& look = TheLook();
  PutPaint(list, from, to, part.paint);
  const float room = to.x - from.x - look.Px(16);
  const ImU32 color = TextOn(look.Of(part.paint));
  const float left = from.x + look.Px(8);
  const float middle = (from.y + to.y) / 2;
  // Letters on a hatch need a solid background.
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

void DrawBreakdown(const std::vector<BreakdownPart>& parts) {
  const Look& look = TheLook();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float width = std::floor(ImGui::GetContentRegionAvail().x);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float bottom = at.y + BarHeight();
  list.AddRectFilled(at, {at.x + width, bottom}, look.colors.grid);
  for (const BreakdownPart& part : parts) {
    // Edges on whole pixels: neighbors touch.
    const float x0 = at.x + std::round(static_cast<float>(part.begin) * width);
    const float x1 = at.x + std::round(static_cast<float>(part.end) * width);
    if (x1 <= x0) continue;
    DrawPart(list, {x0, at.y}, {x1, bottom}, part);
    if (x0 > at.x) list.AddRectFilled({x0, at.y}, {x0 + 1, bottom}, look.colors.card);
    if (Hovers({x0, at.y}, {x1, bottom})) ShowTooltip({WordsOf(part), part.tooltip});
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

std::string ConfidenceOf(const OverviewModel& model) {
  return "confidence " + words::Percent(model.confidence);
}

float VerdictHeight(const OverviewModel& model, float width) {
  const Look& look = TheLook();
  const ImGuiStyle& style = ImGui::GetStyle();
  float high =
      look.fonts.title->FontSize + style.ItemSpacing.y + ParagraphHeight(model.sentence, width);
  for (const std::string& doubt : model.doubts) {
    high += style.ItemSpacing.y + ParagraphHeight(doubt, width);
  }
  return high;
}

void DrawVerdict(const OverviewModel& model) {
  const Look& look = TheLook();
  const float edge = look.Px(6);
  const float inner = ImGui::GetContentRegionAvail().x - 2 * ImGui::GetStyle().WindowPadding.x;
  const float height = CardHeight(VerdictHeight(model, inner), false);
  const Card card("verdict", {0, height});
  // A band at the card's left, in the color of what bounds the run.
  const ImVec2 at = ImGui::GetWindowPos();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.PushClipRect(at, {at.x + edge, at.y + height});
  list.AddRectFilled(at, {at.x + edge, at.y + height}, look.Of(model.verdict_paint), look.Px(6),
                     ImDrawFlags_RoundCornersLeft);
  list.PopClipRect();
  {
    const ImVec2 top = ImGui::GetCursorScreenPos();
    const std::string confidence = ConfidenceOf(model);
    const ImFont& body = *look.fonts.body;
    const float right = top.x + ImGui::GetContentRegionAvail().x;
    const float room = ImGui::GetContentRegionAvail().x - WidthOf(body, confidence) - look.Px(24);
    PutRight(list, body, {right, top.y + (look.fonts.title->FontSize - body.FontSize) / 2},
             look.colors.muted, confidence);
    const InFont title(look.fonts.title);
    Line(model.verdict, look.colors.text, room);
  }
  Paragraph(model.sentence, look.colors.text);
  for (const std::string& doubt : model.doubts) Paragraph(doubt, look.colors.muted);
}

void DrawTimes(const OverviewModel& model) {
  const float inner = ImGui::GetContentRegionAvail().x - 2 * ImGui::GetStyle().WindowPadding.x;
  const Card card("breakdown", {0, CardHeight(BreakdownHeight(model.breakdown, inner), true)},
                  "Where step time goes");
  DrawBreakdown(model.breakdown);
}

float AdviceHeight(const Advice& advice, float width) {
  const Look& look = TheLook();
  const float gap = ImGui::GetStyle().ItemSpacing.y;
  float high = GainHeight(advice.gain, width) + gap;
  {
    const InFont bold(look.fonts.bold);
    high += ParagraphHeight(advice.text, width) + gap;
  }
  high += look.fonts.body->FontSize + gap;
  high += ParagraphHeight(advice.why, width) + gap;
  return high + ImGui::GetFrameHeight();
}

void DrawAdvice(const Advice& advice, ImVec2 size, bool last, const session::State& state,
                Intents& intents) {
  const Look& look = TheLook();
  ImGui::PushID(static_cast<int>(advice.finding));
  {
    const Card card("advice", {last ? 0 : size.x, size.y});
    DrawGain(advice.gain);
    {
      const InFont bold(look.fonts.bold);
      Paragraph(advice.text, look.colors.text);
    }
    if (!advice.cost.empty()) Line(advice.cost, look.colors.muted);
    Paragraph(advice.why, look.colors.muted);
    // The buttons of neighboring cards line up, whatever is above them.
    ImGui::SetCursorPosY(size.y - ImGui::GetStyle().WindowPadding.y - ImGui::GetFrameHeight());
    if (ButtonIf(advice.shown.has_value(), "Why")) {
      session::Selection selected = state.view.selected;
      selected.finding = advice.shown;
      intents.Add(intent::Select{selected, false});
      intents.Add(intent::ShowPanel{session::Panel::kFindings});
    }
    Tip(advice.shown ? "Show the evidence and the code for your framework"
                     : "This was found in the whole run, not in the range");
    ImGui::SameLine();
    if (ButtonIf(advice.cannot_verify.empty(), "Verify")) {
      intents.Add(intent::Verify{advice.finding});
    }
    Tip(advice.cannot_verify.empty() ? "Run with this change and measure the gain"
                                     : advice.cannot_verify);
  }
  ImGui::PopID();
}

void DrawAdviceRow(const OverviewModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  Heading(model.range.empty() || model.advice.empty() ? "What to change"
                                                      : "What to change in the whole run");
  if (model.advice.empty()) {
    const float inner = ImGui::GetContentRegionAvail().x - 2 * ImGui::GetStyle().WindowPadding.x;
    const Card card("no advice", {0, CardHeight(ParagraphHeight(model.no_advice, inner), false)});
    Paragraph(model.no_advice, look.colors.muted);
    return;
  }
  // A single card would be too wide to read: at most half of the width.
  const int columns = std::max(2, static_cast<int>(model.advice.size()));
  const float width = ShareOfWidth(columns);
  float height = 0;
  for (const Advice& advice : model.advice) {
    height = std::max(
        height,
        CardHeight(AdviceHeight(advice, width - 2 * ImGui::GetStyle().WindowPadding.x - 2), false));
  }
  for (size_t i = 0; i < model.advice.size(); ++i) {
    if (i > 0) ImGui::SameLine();
    // The last card of a full row absorbs the rounding remainder.
    const bool last = i + 1 == static_cast<size_t>(columns);
    DrawAdvice(model.advice[i], {width, height}, last, state, intents);
  }
}

void DrawFigures(const OverviewModel& model) {
  const Look& look = TheLook();
  if (model.figures.empty()) return;
  Heading("Key figures");
  const float need = look.Px(190);
  const int columns = std::clamp(static_cast<int>(ImGui::GetContentRegionAvail().x / need), 1,
                                 std::min(6, static_cast<int>(model.figures.size())));
  const float width = ShareOfWidth(columns);
  const float height = CardHeight(
      look.fonts.small->FontSize + look.fonts.bold->FontSize + ImGui::GetStyle().ItemSpacing.y,
      false);
  for (size_t i = 0; i < model.figures.size(); ++i) {
    if (i % static_cast<size_t>(columns) != 0) ImGui::SameLine();
    ImGui::PushID(static_cast<int>(i));
    {
      const bool last = (i + 1) % static_cast<size_t>(columns) == 0;
      const Card card("figure", {last ? 0 : width, height});
      {
        const InFont small(look.fonts.small);
        Line(model.figures[i].name, look.colors.muted);
      }
      const InFont bold(look.fonts.bold);
      Line(model.figures[i].text, look.colors.text);
    }
    Tip(model.figures[i].tooltip);
    ImGui::PopID();
  }
}

}  // namespace

void DrawOverview(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.overview)
    return DrawNothing("Not analyzed yet", "Results appear once the run has been analyzed.");
  const OverviewModel& model = *snapshot.overview;
  const Look& look = TheLook();
  DrawTrustLine(model.trust);
  if (!model.range.empty()) {
    Line("Showing only " + model.range + "; Esc for the whole run", look.colors.accent);
  }
  DrawVerdict(model);
  DrawAssumed(model.assumed);
  ImGui::Dummy({0, look.Px(2)});
  DrawTimes(model);
  ImGui::Dummy({0, look.Px(2)});
  DrawAdviceRow(model, *snapshot.state, intents);
  ImGui::Dummy({0, look.Px(2)});
  DrawFigures(model);
}

}  // namespace stallscope::views
