// Two runs side by side, and whether one is really faster.
#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/words/words.h"
#include "gui/views/lane_strip.h"
#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/plots.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"
#include "gui/views/zoom_pan.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::CompareModel;
using viewmodel::CompareSide;

ImU32 AnswerColor(compare::Answer answer) {
  const Look& look = TheLook();
  switch (answer) {
    case compare::Answer::kFaster:
      return look.colors.good;
    case compare::Answer::kSlower:
      return look.colors.bad;
    case compare::Answer::kNoRealChange:
      return look.colors.text;
    case compare::Answer::kInconclusive:
      return look.colors.warning;
  }
  return look.colors.text;
}

void DrawChoice(const CompareModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  ImGui::AlignTextToFramePadding();
  ImGui::TextUnformatted("Compare with");
  ImGui::SameLine();
  std::string chosen = "none";
  for (const auto& [number, title] : model.choices) {
    if (number == state.compare.base) chosen = title;
  }
  ImGui::SetNextItemWidth(look.Px(260));
  if (ImGui::BeginCombo("##base", chosen.c_str())) {
    for (const auto& [number, title] : model.choices) {
      if (ImGui::Selectable(title.c_str(), number == state.compare.base)) {
        intents.Add(intent::SetBase{number});
      }
    }
    ImGui::EndCombo();
  }
  ImGui::SameLine();
  bool linked = state.compare.linked_zoom;
  if (ImGui::Checkbox("linked zoom", &linked)) intents.Add(intent::LinkZoom{linked});
  Tip("Both sides show the same interval, measured from the start of each run");
}

float SideHeight(const CompareSide& side, float line) {
  float lines = 0;
  for (const viewmodel::LaneRow& row : side.rows) lines = std::max(lines, row.y + row.height);
  return lines * line + TheLook().fonts.small->FontSize + TheLook().Px(10);
}

void DrawSide(const char* id, const CompareSide& side, uint64_t drawn, Strip& strip, ImVec2 size,
              const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  const Card card(id, size, side.title);
  const float line = state.sizes[session::At(session::Panel::kCompare)].line;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float names =
      std::min(room.x * 0.3f,
               WidestOf(*look.fonts.body, side.rows, &viewmodel::LaneRow::name) + look.Px(10));
  const float head = look.fonts.small->FontSize + look.Px(6);
  const int columns =
      side.rows.empty() ? 1 : static_cast<int>(std::max<size_t>(1, side.rows[0].texels.size()));
  const float lanes = room.x - names;
  FillStrip(side.rows, columns, drawn, line, look, strip);
  list.PushClipRect(at, {at.x + room.x, at.y + room.y}, true);
  float free_from = at.x;
  for (const viewmodel::Tick& tick : side.ticks) {
    const float x = at.x + names + tick.x / static_cast<float>(columns) * lanes;
    const float wide = WidthOf(*look.fonts.small, tick.text);
    if (x < free_from || x + wide > at.x + room.x) continue;
    Put(list, *look.fonts.small, {x, at.y}, look.colors.muted, tick.text);
    free_from = x + wide + look.Px(10);
  }
  for (size_t i = 0; i < side.rows.size(); ++i) {
    const viewmodel::LaneRow& row = side.rows[i];
    const float top = at.y + head + row.y * line;
    Put(list, *look.fonts.body, {at.x, top + (line - look.fonts.body->FontSize) / 2},
        look.colors.text, CutName(*look.fonts.body, row.name, names - look.Px(8)));
    PutLane(list, side.rows, i, strip, line, {at.x + names, top},
            {at.x + room.x, top + row.height * line - 1});
  }
  list.PopClipRect();
  ImGui::InvisibleButton("side", {std::max(1.0f, room.x), std::max(1.0f, room.y)});
  HandleLanesMouse(state.view.visible, at.x + names, lanes, intents);
}

// Both histograms in one plot: outlines keep them apart where they overlap.
void DrawStepOverlay(const viewmodel::StepOverlay& overlay, ImVec2 size) {
  const Look& look = TheLook();
  {
    const InFont small(look.fonts.small);
    LegendEntry(viewmodel::Paint::kStage0, "base");
    ImGui::SameLine(0, look.Px(16));
    LegendEntry(viewmodel::Paint::kInputStall, "now");
  }
  size.y -= look.fonts.small->FontSize + ImGui::GetStyle().ItemSpacing.y;
  const PlotArea area = DrawAxes("overlay", size, overlay.tick_texts,
                                 {"0%", words::Percent(overlay.most)}, "ms per step", "");
  if (overlay.most <= 0) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const auto draw = [&](const std::vector<uint64_t>& bins, ImU32 color) {
    uint64_t all = 0;
    for (const uint64_t bin : bins) all += bin;
    if (all == 0) return;
    const auto count = static_cast<float>(bins.size());
    for (size_t i = 0; i < bins.size(); ++i) {
      const auto part = static_cast<float>(static_cast<double>(bins[i]) / static_cast<double>(all) /
                                           overlay.most);
      if (part <= 0) continue;
      const ImVec2 from = area.At(static_cast<float>(i) / count, part * 0.96f);
      const ImVec2 to = area.At(static_cast<float>(i + 1) / count, 0);
      list.AddRectFilled(from, to, WithAlpha(color, 0.35f));
      list.AddLine(from, {to.x, from.y}, color, look.Px(2));
    }
  };
  draw(overlay.base, look.Of(viewmodel::Paint::kStage0));
  draw(overlay.now, look.Of(viewmodel::Paint::kInputStall));
  PutRight(list, *look.fonts.small, {area.to.x - look.Px(6), area.from.y + look.Px(4)},
           look.colors.muted, overlay.beyond);
}

void DrawAnswer(const CompareModel& model) {
  const Look& look = TheLook();
  {
    const InFont title(look.fonts.title);
    Line(model.answer, AnswerColor(model.verdict));
  }
  Paragraph(model.text, look.colors.text);
  DrawAssumed(model.assumed);
  for (const std::string& warning : model.warnings) Paragraph(warning, look.colors.warning);
  // Whole changes, never half of one; the rest is counted, because two specs may differ everywhere.
  constexpr size_t kMostChanges = 6;
  std::string all;
  std::string changes;
  for (size_t i = 0; i < model.spec_change.size(); ++i) {
    all += (i == 0 ? "changed: " : "; ") + model.spec_change[i];
    if (i + 1 == kMostChanges) changes = all;
  }
  if (model.spec_change.size() > kMostChanges) {
    changes += "; and " + words::Grouped(model.spec_change.size() - kMostChanges) + " more";
  } else {
    changes = all;
  }
  if (changes.empty()) return;
  Paragraph(changes, look.colors.muted);
  if (changes != all) Tip(all);
}

}  // namespace

void DrawCompare(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.compare)
    return DrawNothing("Not analyzed yet", "Results appear once the run has been analyzed.");
  const CompareModel& model = *snapshot.compare;
  const session::State& state = *snapshot.state;
  Look& look = TheLook();
  if (!model.choices.empty()) DrawChoice(model, state, intents);
  if (!model.nothing.empty()) {
    DrawNothing("Nothing to compare with", model.nothing);
    const float wide = look.Px(220);
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                         std::floor((ImGui::GetContentRegionAvail().x - wide) / 2));
    if (ImGui::Button("Open a trace to compare", {wide, 0})) {
      intents.Add(intent::AskToOpen{session::OpenWhat::kBase});
    }
    return;
  }
  DrawAnswer(model);
  const float line = state.sizes[session::At(session::Panel::kCompare)].line;
  const float half = ShareOfWidth(2);
  const float lanes = std::min(
      CardHeight(std::max(SideHeight(model.base, line), SideHeight(model.now, line)), true),
      ImGui::GetContentRegionAvail().y * 0.45f);
  DrawSide("base side", model.base, state.version, look.base_lanes, {half, lanes}, state, intents);
  ImGui::SameLine();
  DrawSide("now side", model.now, state.version, look.now_lanes, {0, lanes}, state, intents);
  {
    const Card card("tables", {half, 0}, {}, true);
    DrawTitledTable("Totals", model.totals, false, intents);
    DrawTitledTable("Stages", model.stages, false, intents);
  }
  ImGui::SameLine();
  const Card card("overlay card", {0, 0}, "Distribution of step times");
  DrawStepOverlay(model.steps, ImGui::GetContentRegionAvail());
}

}  // namespace stallscope::views
