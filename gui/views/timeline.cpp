// Lanes over time: what every thread, stream and queue did, with the stalls over all of it.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "gui/views/empty.h"
#include "gui/views/fill.h"
#include "gui/views/lane_strip.h"
#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/text.h"
#include "gui/views/timeline_details.h"
#include "gui/views/timeline_input.h"
#include "gui/views/timeline_marks.h"
#include "gui/views/timeline_place.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::LaneRow;
using viewmodel::Paint;
using viewmodel::TimelineModel;

// The whole run as a thin bar, and which part of it is shown.
void DrawNavigator(ImDrawList& list, const TimelinePlace& place, ImVec2 from, float height) {
  const Look& look = TheLook();
  const TimelineModel& model = place.model;
  const ImVec2 to(place.to.x, from.y + height);
  list.AddRectFilled({place.from.x, from.y}, to, look.colors.grid, look.Px(3));
  const double whole = std::max<double>(1, static_cast<double>(model.whole.ns()));
  const auto x_of = [&](int64_t time) {
    const double part = static_cast<double>(time - model.whole.start_ns) / whole;
    return place.from.x + static_cast<float>(std::clamp(part, 0.0, 1.0)) * (to.x - place.from.x);
  };
  const float x0 = x_of(model.visible.start_ns);
  const float x1 = std::max(x0 + look.Px(4), x_of(model.visible.end_ns));
  list.AddRectFilled({x0, from.y}, {std::min(x1, to.x), to.y}, look.colors.faint, look.Px(3));
}

void DrawName(ImDrawList& list, const TimelinePlace& place, const LaneRow& row) {
  const Look& look = TheLook();
  const float top = place.Top(row);
  const float text_top = top + std::round((place.line - look.fonts.body->FontSize) / 2);
  float x = place.names + look.Px(4) + static_cast<float>(row.indent) * look.Px(14);
  if (row.group) {
    const float side = look.Px(8);
    const float middle = top + place.line / 2;
    if (row.collapsed) {
      list.AddTriangleFilled({x, middle - side / 2}, {x + side * 0.8f, middle},
                             {x, middle + side / 2}, look.colors.muted);
    } else {
      list.AddTriangleFilled({x - 1, middle - side / 3}, {x + side, middle - side / 3},
                             {x + side / 2 - 0.5f, middle + side / 2}, look.colors.muted);
    }
  }
  x += look.Px(13);
  const float room = place.from.x - look.Px(8) - x;
  const ImFont& font = row.group || row.indent == 0 ? *look.fonts.bold : *look.fonts.body;
  PutCut(list, font, {x, text_top}, room, look.colors.text, row.name);
  // Beside the name where there is room for it, else below it where the lane is high enough.
  const ImFont& small = *look.fonts.small;
  const float beside = WidthOf(font, row.name) + look.Px(10);
  if (beside + WidthOf(small, row.detail) <= room) {
    PutRight(list, small, {place.from.x - look.Px(8), text_top + font.Ascent - small.Ascent},
             look.colors.muted, row.detail);
  } else if (row.height * place.line >= font.FontSize + small.FontSize + look.Px(4)) {
    PutCut(list, small, {x, text_top + font.FontSize}, room, look.colors.muted, row.detail);
  }
}

// The middle of the text's line, and its colour: of a wait on the lower part of the lane, which is
// what it fills, or on the bare lane above where that is too low.
struct LabelPlace {
  float top = 0;
  ImU32 color = 0;
};

LabelPlace PlaceOf(const viewmodel::Label& label, float top, float bottom) {
  const Look& look = TheLook();
  const float high = look.fonts.small->FontSize;
  const ImU32 on_paint = TextOn(look.Of(label.paint));
  if (!viewmodel::IsWait(label.paint)) return {std::round((top + bottom - high) / 2), on_paint};
  const float middle = LowerPart(top, bottom);
  if (bottom - middle >= high) return {std::round((middle + bottom - high) / 2), on_paint};
  return {std::round((top + middle - high) / 2), look.colors.text};
}

void DrawLabels(ImDrawList& list, const TimelinePlace& place) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  for (const LaneRow& row : place.model.rows) {
    const float top = place.Top(row);
    const float bottom = place.Bottom(row);
    if (bottom <= place.from.y || top >= place.to.y || bottom - top < small.FontSize) continue;
    for (const viewmodel::Label& label : row.labels) {
      const float x0 = std::max(place.X(label.x0), place.from.x) + look.Px(4);
      const float x1 = std::min(place.X(label.x1), place.to.x) - look.Px(3);
      const std::string shown = Fitting(small, label.text, label.brief, x1 - x0);
      if (shown.empty()) continue;
      const LabelPlace at = PlaceOf(label, top, bottom);
      Put(list, small, {x0, at.top}, at.color, shown);
    }
  }
}

void DrawLanes(ImDrawList& list, const TimelinePlace& place) {
  Look& look = TheLook();
  const TimelineModel& model = place.model;
  FillStrip(model.rows, model.width, model.drawn, place.line, look, look.lanes, TintsOf(model));
  const auto visible = [&](const LaneRow& row) {
    return place.Bottom(row) > place.from.y && place.Top(row) < place.to.y;
  };
  list.PushClipRect({place.names, place.from.y}, place.to, true);
  if (look.opaque != nullptr) list.AddCallback(look.opaque, nullptr);
  for (size_t i = 0; i < model.rows.size(); ++i) {
    const LaneRow& row = model.rows[i];
    if (!visible(row)) continue;
    PutLane(list, model.rows, i, look.lanes, place.line, {place.from.x, place.Top(row)},
            {place.X(static_cast<float>(model.width)), place.Bottom(row)});
  }
  if (look.blended != nullptr) list.AddCallback(look.blended, nullptr);
  for (const LaneRow& row : model.rows) {
    if (visible(row)) DrawName(list, place, row);
  }
  list.PopClipRect();
}

// How far the lanes are scrolled, at their right edge.
void DrawScroll(ImDrawList& list, const TimelinePlace& place) {
  const Look& look = TheLook();
  const double shown = (place.to.y - place.from.y) / place.line;
  const double all = place.model.rows_height;
  if (all <= shown + 0.01) return;
  const float high = place.to.y - place.from.y;
  const auto top = static_cast<float>(place.first_row / all) * high;
  const float part = std::max(look.Px(20), static_cast<float>(shown / all) * high);
  list.AddRectFilled({place.to.x - look.Px(6), place.from.y + top},
                     {place.to.x - look.Px(1), std::min(place.to.y, place.from.y + top + part)},
                     WithAlpha(look.colors.faint, 0.8f), look.Px(3));
}

// The word of a paint; of a stage's its name, as each stage has a colour of its own. Empty for
// operations, which are told by their labels.
std::string LegendWord(Paint paint, const session::State& state) {
  const session::OpenRun* run = state.Active();
  if (paint < Paint::kStage0 || run == nullptr || run->run == nullptr) {
    return std::string(viewmodel::WordFor(paint));
  }
  std::string word;
  for (const trace::StageInfo& stage : run->run->stages) {
    if (viewmodel::PaintOfStage(stage.id) != paint) continue;
    word += (word.empty() ? "" : ", ") + stage.name;
  }
  return word;
}

// What the paints that are to be seen mean. Steps are told by their numbers.
void DrawLegend(const TimelineModel& model, const session::State& state) {
  const Look& look = TheLook();
  std::array<bool, viewmodel::kPaints> seen{};
  for (const LaneRow& row : model.rows) {
    if (row.kind == viewmodel::LaneKind::kSteps) continue;
    for (const viewmodel::Texel& texel : row.texels) seen[static_cast<size_t>(texel.paint)] = true;
  }
  seen[static_cast<size_t>(Paint::kInputStall)] |= !model.stalls.empty();
  seen[static_cast<size_t>(Paint::kChain)] = !model.chain.empty();
  seen[static_cast<size_t>(Paint::kPath)] = !model.path.empty();
  const InFont small(look.fonts.small);
  bool first = true;
  for (size_t i = 0; i < viewmodel::kPaints; ++i) {
    const auto paint = static_cast<Paint>(i);
    if (!seen[i] || paint == Paint::kNothing) continue;
    const std::string word = LegendWord(paint, state);
    if (word.empty()) continue;
    if (!first) ImGui::SameLine(0, look.Px(16));
    if (ImGui::GetContentRegionAvail().x < LegendWidth(word)) break;
    LegendEntry(paint, word);
    first = false;
  }
}

// What was marked, and what can be done with it.
void DrawMeasured(const TimelineModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  Line(model.measured_text, look.colors.accent, ImGui::GetContentRegionAvail().x - look.Px(330));
  ImGui::SameLine();
  if (ImGui::SmallButton("Limit all panels to it")) {
    intents.Add(intent::LimitRange{state.measured});
  }
  ImGui::SameLine();
  if (ImGui::SmallButton("Zoom in")) intents.Add(intent::ShowRange{*state.measured, false});
  ImGui::SameLine();
  if (ImGui::SmallButton("Clear")) intents.Add(intent::Measure{});
}

}  // namespace

void DrawTimeline(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.timeline) {
    return DrawNothing("Preparing the timeline", "The run's spans are being put in order.");
  }
  const Look& look = TheLook();
  const TimelineModel& model = *snapshot.timeline;
  const session::State& state = *snapshot.state;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float navigator = look.Px(8);
  const float ruler = std::round(look.Px(30));
  const float footer = ImGui::GetTextLineHeightWithSpacing() + look.fonts.small->FontSize +
                       2 * ImGui::GetStyle().ItemSpacing.y;
  TimelinePlace place{.model = model};
  place.names = at.x;
  place.line = state.sizes[session::At(session::Panel::kTimeline)].line;
  place.first_row = state.layout.first_row;
  place.ruler = at.y + navigator + look.Px(4);
  place.from = {at.x + static_cast<float>(model.name_width), place.ruler + ruler};
  place.to = {std::min(at.x + room.x, place.from.x + static_cast<float>(model.width)),
              std::max(place.from.y + 1, at.y + room.y - footer)};
  const float end =
      place.from.y + (model.rows_height - static_cast<float>(place.first_row)) * place.line;
  TimelinePlace marks = place;
  marks.to.y = std::min(place.to.y, end);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  DrawNavigator(list, place, at, navigator);
  DrawRuler(list, marks);
  DrawLanes(list, place);
  list.PushClipRect({place.from.x, place.ruler}, place.to, true);
  DrawStallBands(list, marks);
  DrawLabels(list, place);
  DrawChains(list, marks);
  DrawSelections(list, marks);
  list.PopClipRect();
  DrawScroll(list, place);
  HandleTimelineMouse(place, state, intents);
  ImGui::SetCursorScreenPos({at.x, place.to.y + ImGui::GetStyle().ItemSpacing.y});
  DrawLegend(model, state);
  ImGui::SetCursorScreenPos({at.x, at.y + room.y - ImGui::GetTextLineHeight()});
  if (state.measured) return DrawMeasured(model, state, intents);
  const std::string selection = DescribeSelection(state);
  if (!selection.empty()) return Line(selection, look.colors.text);
  Line("Click a step or a stall for why it waited. Shift and drag to measure. ? lists every key.",
       look.colors.muted);
}

}  // namespace stallscope::views
