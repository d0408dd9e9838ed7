#include "gui/views/timeline_marks.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/views/fill.h"
#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using viewmodel::ChainPiece;
using viewmodel::Paint;

// Clipped to the lanes; false where nothing is left.
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

}  // namespace

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
  // Hundreds of narrow bands would need tens of thousands of lines: all of them share so many, and
  // where that makes them rare the band is still told by its cap.
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
    // A cap where the times are, so that a stall is also found where lanes are full.
    list.AddRectFilled({x0, place.from.y - look.Px(4)}, {x1, place.from.y}, color);
    PutHatch(list, {x0, place.from.y}, {x1, place.to.y}, viewmodel::HatchOf(Paint::kInputStall),
             WithAlpha(color, band.selected ? 0.6f : 0.26f), band.selected ? 0 : pitch);
    if (band.selected) list.AddRect({x0, place.from.y}, {x1, place.to.y}, color, 0, 0, look.Px(2));
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

}  // namespace stallscope::views
