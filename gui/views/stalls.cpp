// What the waiting is blamed on: by stage and cause, and over time.
#include <algorithm>
#include <cmath>
#include <string>

#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"
#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/plots.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::HeatRow;
using viewmodel::MatrixCell;
using viewmodel::Paint;
using viewmodel::StallsModel;

// One hue from the background to the stall's color: lightness alone gives the order.
ImU32 HeatColor(float part) {
  const Look& look = TheLook();
  return Mixed(look.colors.lane, look.Of(Paint::kInputStall),
               std::sqrt(std::clamp(part, 0.0f, 1.0f)));
}

float NameColumn(float widest, float most) {
  return std::min(most, std::ceil(widest + TheLook().Px(14)));
}

struct Grid {
  float names = 0;   // width of the first column
  float cell = 0;    // width of a cell
  float line = 0;    // height of a cell
  float totals = 0;  // width of the last column
};

Grid GridOf(const StallsModel& model, float width) {
  const Look& look = TheLook();
  Grid grid;
  grid.names = NameColumn(WidestOf(*look.fonts.body, model.stage_names), width * 0.3f);
  grid.line = std::round(look.Px(30));
  grid.totals = look.Px(100);
  const auto columns = static_cast<float>(std::max<size_t>(1, model.causes.size()));
  grid.cell = std::floor(
      std::clamp((width - grid.names - grid.totals) / columns, look.Px(40), look.Px(150)));
  return grid;
}

void DrawCell(const StallsModel& model, size_t stage, size_t cause, ImVec2 from, ImVec2 to,
              const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  const MatrixCell& cell = model.cells[stage][cause];
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImU32 color = cell.ns > 0 ? HeatColor(static_cast<float>(cell.share)) : look.colors.lane;
  list.AddRectFilled(from, to, color, look.Px(3));
  PutCentered(list, *look.fonts.body,
              {(from.x + to.x) / 2, (from.y + to.y - look.fonts.body->FontSize) / 2},
              to.x - from.x - look.Px(6), TextOn(color), cell.text);
  if (cell.selected) list.AddRect(from, to, look.colors.accent, look.Px(3), 0, look.Px(2));
  ImGui::SetCursorScreenPos(from);
  ImGui::PushID(static_cast<int>(stage * 64 + cause));
  if (ImGui::InvisibleButton("cell", {to.x - from.x, to.y - from.y}) && cell.ns > 0) {
    session::Selection selected = state.view.selected;
    selected.stage = model.stages[stage];
    selected.cause =
        cell.selected ? std::nullopt : std::optional<attribution::Cause>(model.causes[cause]);
    intents.Add(intent::Select{selected, false});
  }
  Tip(cell.tooltip);
  ImGui::PopID();
}

void DrawMatrix(const StallsModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Grid grid = GridOf(model, ImGui::GetContentRegionAvail().x);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImFont& small = *look.fonts.small;
  const auto x_of = [&](size_t cause) {
    return at.x + grid.names + grid.cell * static_cast<float>(cause);
  };
  const float head = small.FontSize + look.Px(6);
  const float totals = x_of(model.causes.size());
  for (size_t cause = 0; cause < model.causes.size(); ++cause) {
    PutCentered(list, small, {x_of(cause) + grid.cell / 2, at.y}, grid.cell - look.Px(4),
                look.colors.muted, viewmodel::NameOf(model.causes[cause]));
  }
  PutRight(list, small, {totals + grid.totals - look.Px(6), at.y}, look.colors.muted, "total");
  for (size_t stage = 0; stage < model.stages.size(); ++stage) {
    const float top = at.y + head + grid.line * static_cast<float>(stage);
    const float text = top + (grid.line - look.fonts.body->FontSize) / 2;
    PutCut(list, *look.fonts.body, {at.x, text}, grid.names - look.Px(8), look.colors.text,
           model.stage_names[stage]);
    for (size_t cause = 0; cause < model.causes.size(); ++cause) {
      DrawCell(model, stage, cause, {x_of(cause) + 1, top + 1},
               {x_of(cause) + grid.cell - 1, top + grid.line - 1}, state, intents);
    }
    PutRight(list, *look.fonts.body, {totals + grid.totals - look.Px(6), text}, look.colors.text,
             model.stage_totals[stage]);
  }
  const float bottom = at.y + head + grid.line * static_cast<float>(model.stages.size());
  for (size_t cause = 0; cause < model.cause_totals.size(); ++cause) {
    PutCentered(list, small, {x_of(cause) + grid.cell / 2, bottom + look.Px(3)},
                grid.cell - look.Px(4), look.colors.muted, model.cause_totals[cause]);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({totals + grid.totals - at.x, bottom - at.y + small.FontSize + look.Px(6)});
}

float MatrixHeight(const StallsModel& model) {
  const Look& look = TheLook();
  return 2 * look.fonts.small->FontSize + look.Px(12) +
         std::round(look.Px(30)) * static_cast<float>(model.stages.size());
}

// One row of blame over time; adjacent columns of one color are one rectangle.
void DrawHeatRow(const StallsModel& model, const HeatRow& row, ImVec2 from, ImVec2 to) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(from, to, TheLook().colors.lane);
  const size_t columns = row.columns.size();
  if (columns == 0 || model.heat_max <= 0) return;
  const auto x_of = [&](size_t column) {
    return from.x +
           std::round((to.x - from.x) * static_cast<float>(column) / static_cast<float>(columns));
  };
  for (size_t column = 0; column < columns;) {
    const float part = row.columns[column] / model.heat_max;
    const ImU32 color = HeatColor(part);
    size_t end = column + 1;
    while (end < columns && HeatColor(row.columns[end] / model.heat_max) == color) ++end;
    if (row.columns[column] > 0) {
      list.AddRectFilled({x_of(column), from.y}, {x_of(end), to.y}, color);
    }
    column = end;
  }
}

void HandleHeat(const StallsModel& model, const HeatRow& row, ImVec2 from, ImVec2 to,
                Intents& intents) {
  const size_t columns = row.columns.size();
  if (columns == 0 || !ImGui::IsItemHovered()) return;
  const float x = ImGui::GetIO().MousePos.x;
  const auto column =
      std::min(columns - 1,
               static_cast<size_t>(std::max(0.0f, (x - from.x) / std::max(1.0f, to.x - from.x)) *
                                   static_cast<float>(columns)));
  const session::Range range = viewmodel::HeatColumn(model, columns, column);
  ShowTooltip({row.name, words::Percent(row.columns[column]) + " of this interval",
               words::BothNs(range.ns()) + " per column", "Click to show it on the timeline"});
  if (!ImGui::IsMouseClicked(0)) return;
  // Some columns around it: one alone shows no context.
  const int64_t around = 10 * range.ns();
  intents.Add(intent::ShowRange{{range.start_ns - around, range.end_ns + around}, false});
  intents.Add(intent::ShowPanel{session::Panel::kTimeline});
}

void DrawHeat(const StallsModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  const float name_width = NameColumn(WidestOf(*look.fonts.body, model.heat, &HeatRow::name),
                                      ImGui::GetContentRegionAvail().x * 0.3f);
  const float line = std::round(look.Px(26));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + std::floor(ImGui::GetContentRegionAvail().x);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (size_t i = 0; i < model.heat.size(); ++i) {
    const HeatRow& row = model.heat[i];
    const float top = at.y + line * static_cast<float>(i);
    PutCut(list, *look.fonts.body, {at.x, top + (line - look.fonts.body->FontSize) / 2},
           name_width - look.Px(8), look.colors.text, row.name);
    const ImVec2 from(at.x + name_width, top + 1);
    const ImVec2 to(right, top + line - 1);
    DrawHeatRow(model, row, from, to);
    ImGui::SetCursorScreenPos(from);
    ImGui::PushID(static_cast<int>(i));
    ImGui::InvisibleButton("heat", {std::max(1.0f, to.x - from.x), line - 2});
    HandleHeat(model, row, from, to, intents);
    ImGui::PopID();
  }
  const float bottom = at.y + line * static_cast<float>(model.heat.size());
  PutTimeAxis(list, {at.x + name_width, bottom}, right, model.visible, state);
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({right - at.x, bottom - at.y + TimeAxisHeight()});
}

}  // namespace

void DrawStalls(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.stalls)
    return DrawNothing("Not analyzed yet", "Results appear once the run has been analyzed.");
  const StallsModel& model = *snapshot.stalls;
  if (!model.nothing.empty()) return DrawNothing("No stalls", model.nothing);
  const session::State& state = *snapshot.state;
  const Look& look = TheLook();
  {
    const InFont bold(look.fonts.bold);
    Line(model.total);
  }
  {
    const Card card("matrix", {0, CardHeight(MatrixHeight(model), true)},
                    "Input stall by stage and cause");
    DrawMatrix(model, state, intents);
  }
  {
    const float rows = std::round(look.Px(26)) * static_cast<float>(model.heat.size());
    const Card card("heat", {0, CardHeight(rows + TimeAxisHeight(), true)}, "Blame over time");
    DrawHeat(model, state, intents);
  }
  const Card card("worst", {0, 0}, "Longest stalls");
  const auto clicked =
      DrawTable("worst table", model.worst, {ImGui::GetContentRegionAvail().y, true, {}}, intents);
  if (clicked && *clicked < model.worst_rows.size()) {
    intents.Add(intent::SelectStep{model.worst_rows[*clicked], true});
  }
}

}  // namespace stallscope::views
