// Lanes over time: what every thread, stream and queue did, with the stalls over all of it.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gui/viewmodel/selection.h"
#include "gui/views/lane_strip.h"
#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"
#include "gui/views/zoom_pan.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::ChainPiece;
using viewmodel::LaneRow;
using viewmodel::Paint;
using viewmodel::TimelineModel;

// Clips to the lanes; false if nothing is left.
bool Inside(const TimelinePlace& place, float& x0, float& x1) {
  x0 = std::max(place.from.x, x0);
  x1 = std::min(place.to.x, x1);
  return x0 < x1;
}

void DrawChain(ImDrawList& list, const TimelinePlace& place, const std::vector<ChainPiece>& chain,
               ImU32 color) {
  const Look& look = TheLook();
  const float thick = std::max(1.5f, look.Px(2));
  const ImFont& small = *look.fonts.small;
  bool joined = false;
  ImVec2 last;
  for (const ChainPiece& piece : chain) {
    if (piece.row == viewmodel::kNoRow || piece.row >= place.model.rows.size()) {
      joined = false;
      continue;
    }
    const viewmodel::LaneRow& row = place.model.rows[piece.row];
    float x0 = place.X(piece.x0);
    float x1 = std::max(place.X(piece.x1), x0 + look.Px(3));
    const ImVec2 begin(x0, (place.Top(row) + place.Bottom(row)) / 2);
    if (joined) list.AddLine(last, begin, color, thick);
    last = {x1, begin.y};
    joined = true;
    if (!Inside(place, x0, x1)) continue;
    list.AddRect({x0, place.Top(row)}, {x1, place.Bottom(row)}, color, 0, 0, thick);
    const float room = x1 - x0 - look.Px(10);
    const std::string shown = Fitting(small, piece.text, piece.brief, room);
    if (shown.empty()) continue;
    const float top = begin.y - small.FontSize / 2;
    list.AddRectFilled({x0 + look.Px(4), top},
                       {x0 + look.Px(8) + WidthOf(small, shown), top + small.FontSize},
                       WithAlpha(look.colors.card, 0.9f));
    Put(list, small, {x0 + look.Px(6), top}, look.colors.text, shown);
  }
}

void DrawOutside(ImDrawList& list, const TimelinePlace& place, float x0, float x1) {
  const Look& look = TheLook();
  const ImU32 veil = WithAlpha(look.colors.window, 0.62f);
  x0 = std::clamp(place.X(x0), place.from.x, place.to.x);
  x1 = std::clamp(place.X(x1), place.from.x, place.to.x);
  list.AddRectFilled(place.from, {x0, place.to.y}, veil);
  list.AddRectFilled({x1, place.from.y}, place.to, veil);
  for (const float x : {x0, x1}) {
    list.AddLine({x, place.ruler}, {x, place.to.y}, look.colors.accent, std::max(1.0f, look.Px(1)));
  }
}

void DrawBookmark(ImDrawList& list, const TimelinePlace& place, float column,
                  const std::string& name) {
  const Look& look = TheLook();
  const float x = place.X(column);
  if (x < place.from.x || x > place.to.x) return;
  const ImU32 color = look.colors.warning;
  list.AddLine({x, place.ruler}, {x, place.to.y}, WithAlpha(color, 0.7f));
  list.AddTriangleFilled({x, place.ruler}, {x + look.Px(9), place.ruler + look.Px(4)},
                         {x, place.ruler + look.Px(9)}, color);
  PutCut(list, *look.fonts.small, {x + look.Px(11), place.ruler}, look.Px(120), color, name);
}

void DrawRuler(ImDrawList& list, const TimelinePlace& place) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  float free_from = place.from.x;
  for (const viewmodel::Tick& tick : place.model.ticks) {
    const float x = std::floor(place.X(tick.x));
    if (x < place.from.x || x > place.to.x) continue;
    list.AddLine({x, place.from.y - look.Px(5)}, {x, place.to.y}, look.colors.grid);
    const float wide = WidthOf(small, tick.text);
    if (x < free_from || x + wide + look.Px(6) > place.to.x) continue;
    Put(list, small, {x + look.Px(4), place.from.y - small.FontSize - look.Px(3)},
        look.colors.muted, tick.text);
    free_from = x + wide + look.Px(16);
  }
}

std::vector<uint8_t> TintsOf(const viewmodel::TimelineModel& model) {
  constexpr uint8_t kTint = 15;
  constexpr uint8_t kSelectedTint = 41;
  std::vector<uint8_t> tints(static_cast<size_t>(std::max(model.width, 0)));
  for (const viewmodel::StallBand& band : model.stalls) {
    const auto to =
        std::min(static_cast<size_t>(std::lround(std::max(band.x1, 0.0f))), tints.size());
    for (auto x = static_cast<size_t>(std::lround(std::max(band.x0, 0.0f))); x < to; ++x) {
      tints[x] = std::max(tints[x], band.selected ? kSelectedTint : kTint);
    }
  }
  return tints;
}

void DrawStallBands(ImDrawList& list, const TimelinePlace& place) {
  const Look& look = TheLook();
  const ImU32 color = look.Of(Paint::kInputStall);
  // Hundreds of narrow bands would need tens of thousands of lines: all bands share a fixed number,
  // and where lines become rare the cap still shows the band.
  constexpr float kMostHatchLines = 900;
  float around = 0;
  for (const viewmodel::StallBand& band : place.model.stalls) {
    around += band.x1 - band.x0 + place.to.y - place.from.y;
  }
  const float pitch = around / kMostHatchLines;
  for (const viewmodel::StallBand& band : place.model.stalls) {
    float x0 = place.X(band.x0);
    float x1 = place.X(band.x1);
    if (!Inside(place, x0, x1)) continue;
    // A cap on the ruler, so that a stall is visible even where lanes are full.
    list.AddRectFilled({x0, place.from.y - look.Px(4)}, {x1, place.from.y}, color);
    PutHatch(list, {x0, place.from.y}, {x1, place.to.y}, viewmodel::HatchOf(Paint::kInputStall),
             WithAlpha(color, band.selected ? 0.6f : 0.26f), band.selected ? 0 : pitch);
    if (band.selected) list.AddRect({x0, place.from.y}, {x1, place.to.y}, color, 0, 0, look.Px(2));
  }
}

// On the ruler, above all lanes: the slowed stage has none of its own.
void DrawProbes(ImDrawList& list, const TimelinePlace& place) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  const ImU32 color = look.colors.warning;
  for (const viewmodel::ProbeBand& band : place.model.probes) {
    float x0 = place.X(band.x0);
    float x1 = place.X(band.x1);
    if (!Inside(place, x0, x1)) continue;
    list.AddRectFilled({x0, place.ruler}, {x1, place.ruler + small.FontSize + look.Px(2)},
                       WithAlpha(color, 0.3f));
    for (const float x : {x0, x1}) {
      list.AddLine({x, place.ruler}, {x, place.to.y}, WithAlpha(color, 0.5f));
    }
    const std::string shown = Fitting(small, band.text, band.brief, x1 - x0 - look.Px(6));
    if (!shown.empty()) Put(list, small, {x0 + look.Px(3), place.ruler}, look.colors.text, shown);
  }
}

void DrawChains(ImDrawList& list, const TimelinePlace& place) {
  const Look& look = TheLook();
  DrawChain(list, place, place.model.path, look.Of(Paint::kPath));
  DrawChain(list, place, place.model.chain, look.Of(Paint::kChain));
}

void DrawSelections(ImDrawList& list, const TimelinePlace& place) {
  const Look& look = TheLook();
  const viewmodel::TimelineModel& model = place.model;
  if (model.selected && model.selected->row < model.rows.size()) {
    const viewmodel::LaneRow& row = model.rows[model.selected->row];
    float x0 = place.X(model.selected->x0);
    float x1 = std::max(place.X(model.selected->x1), x0 + look.Px(3));
    if (Inside(place, x0, x1)) {
      list.AddRect({x0 - 1, place.Top(row) - 1}, {x1 + 1, place.Bottom(row) + 1},
                   look.Of(Paint::kSelected), 0, 0, std::max(2.0f, look.Px(2)));
    }
  }
  if (model.range) DrawOutside(list, place, model.range->first, model.range->second);
  for (const auto& [x, name] : model.bookmarks) DrawBookmark(list, place, x, name);
  if (model.measured) {
    float x0 = place.X(model.measured->first);
    float x1 = place.X(model.measured->second);
    if (Inside(place, x0, x1)) {
      list.AddRectFilled({x0, place.ruler}, {x1, place.to.y}, WithAlpha(look.colors.accent, 0.18f));
      for (const float x : {x0, x1}) {
        list.AddLine({x, place.ruler}, {x, place.to.y}, look.colors.accent);
      }
    }
  }
}

// The whole run as a thin bar, with the visible part marked.
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
  Put(list, font, {x, text_top}, look.colors.text, CutName(font, row.name, room));
  // Beside the name if it fits, else below it if the lane is high enough.
  const ImFont& small = *look.fonts.small;
  const float beside = WidthOf(font, row.name) + look.Px(10);
  if (beside + WidthOf(small, row.detail) <= room) {
    PutRight(list, small, {place.from.x - look.Px(8), text_top + font.Ascent - small.Ascent},
             look.colors.muted, row.detail);
  } else if (row.height * place.line >= font.FontSize + small.FontSize + look.Px(4)) {
    PutCut(list, small, {x, text_top + font.FontSize}, room, look.colors.muted, row.detail);
  }
}

// The top of a label and its color: a wait's label is on the lower part of the lane, which it
// fills, or on the bare lane above if that is too low.
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

// The scroll position of the lanes, at their right edge.
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

// The word for a paint; for a stage its name, because each stage has its own color. Empty for
// operations, which have labels.
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

// What the visible paints mean. Steps have numbers instead.
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
  std::vector<std::pair<Paint, std::string>> entries;
  for (size_t i = 0; i < viewmodel::kPaints; ++i) {
    const auto paint = static_cast<Paint>(i);
    if (!seen[i] || paint == Paint::kNothing) continue;
    std::string word = LegendWord(paint, state);
    if (!word.empty()) entries.emplace_back(paint, std::move(word));
  }
  const InFont small(look.fonts.small);
  const float gap = look.Px(16);
  const float more = gap + WidthOf(*look.fonts.small, "+99 more");
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& [paint, word] = entries[i];
    if (i > 0) ImGui::SameLine(0, gap);
    const float needed = LegendWidth(word) + (i + 1 < entries.size() ? more : 0);
    if (ImGui::GetContentRegionAvail().x < needed) {
      std::string rest;
      for (size_t at = i; at < entries.size(); ++at) {
        rest += (rest.empty() ? "" : ", ") + entries[at].second;
      }
      Line("+" + std::to_string(entries.size() - i) + " more", look.colors.muted);
      Tip(rest);
      break;
    }
    LegendEntry(paint, word);
  }
}

// The measured range, and what to do with it.
void DrawMeasured(const TimelineModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  Line(model.measured_text, look.colors.accent, ImGui::GetContentRegionAvail().x - look.Px(330));
  ImGui::SameLine();
  if (ImGui::SmallButton("Limit all panels")) {
    intents.Add(intent::LimitRange{state.measured});
  }
  ImGui::SameLine();
  if (ImGui::SmallButton("Zoom in")) intents.Add(intent::ShowRange{*state.measured, false});
  ImGui::SameLine();
  if (ImGui::SmallButton("Clear")) intents.Add(intent::Measure{});
}

// What is selected, and below it where in the job it leads.
void DrawSelection(const viewmodel::SelectionModel& selection, Intents& intents) {
  const Look& look = TheLook();
  Line(selection.text, look.colors.text);
  if (selection.lead.empty()) return;
  const std::string copy = "Copy " + selection.place.brief;
  const ImGuiStyle& style = ImGui::GetStyle();
  const float button = selection.place.whole.empty()
                           ? 0
                           : WidthOf(*ImGui::GetFont(), copy) + 2 * style.FramePadding.x;
  const float room = ImGui::GetContentRegionAvail().x - button - 2 * style.ItemSpacing.x;
  Line(selection.lead, look.colors.text,
       std::min(room, WidthOf(*ImGui::GetFont(), selection.lead)));
  if (button == 0) return;
  ImGui::SameLine();
  if (ImGui::SmallButton(copy.c_str())) intents.Add(intent::CopyText{selection.place.whole});
  Tip(selection.place.whole);
}

}  // namespace

void DrawTimeline(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.timeline) {
    return DrawNothing("Preparing the timeline", "The run's spans are being indexed.");
  }
  const Look& look = TheLook();
  const TimelineModel& model = *snapshot.timeline;
  const session::State& state = *snapshot.state;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float navigator = look.Px(8);
  const float ruler = std::round(look.Px(30));
  const viewmodel::SelectionModel selection = viewmodel::DescribeSelection(state);
  const bool leads = !state.measured && !selection.lead.empty();
  const float texts = ImGui::GetTextLineHeight() * (leads ? 2.0f : 1.0f) +
                      (leads ? ImGui::GetStyle().ItemSpacing.y : 0.0f);
  const float footer = texts + look.fonts.small->FontSize + 3 * ImGui::GetStyle().ItemSpacing.y;
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
  DrawProbes(list, marks);
  DrawLabels(list, place);
  DrawChains(list, marks);
  DrawSelections(list, marks);
  list.PopClipRect();
  DrawScroll(list, place);
  HandleTimelineMouse(place, state, intents);
  ImGui::SetCursorScreenPos({at.x, place.to.y + ImGui::GetStyle().ItemSpacing.y});
  DrawLegend(model, state);
  ImGui::SetCursorScreenPos({at.x, at.y + room.y - texts});
  if (state.measured) return DrawMeasured(model, state, intents);
  if (!selection.text.empty()) return DrawSelection(selection, intents);
  Line("Click a step or stall to see why it waited. Shift+drag measures. ? lists all keys.",
       look.colors.muted);
}

}  // namespace stallscope::views
