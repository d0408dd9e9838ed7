#include "gui/views/sweep_pictures.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gui/views/card.h"
#include "gui/views/look.h"
#include "gui/views/plot_view.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using viewmodel::SweepHeat;
using viewmodel::SweepModel;

void DrawHeatCell(const SweepHeat::Cell& cell, ImVec2 from, ImVec2 to) {
  const Look& look = TheLook();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImU32 color = cell.rate
                          ? Mixed(look.colors.grid, look.colors.good, 0.15f + 0.85f * cell.level)
                          : look.colors.lane;
  list.AddRectFilled(from, to, color, look.Px(3));
  const ImFont& font = cell.best ? *look.fonts.bold : *look.fonts.body;
  const std::string shown = Cut(font, cell.text, to.x - from.x - look.Px(6));
  Put(list, font, {(from.x + to.x - WidthOf(font, shown)) / 2, (from.y + to.y - font.FontSize) / 2},
      cell.rate ? TextOn(color) : look.colors.faint, shown);
  if (cell.best) list.AddRect(from, to, look.colors.text, look.Px(3), 0, look.Px(2));
  if (cell.base) {
    list.AddTriangleFilled(from, {from.x + look.Px(9), from.y}, {from.x, from.y + look.Px(9)},
                           look.colors.text);
  }
  if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(from, to)) ShowTooltip({cell.tooltip});
}

void DrawHeat(const SweepHeat& heat, ImVec2 size) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  float names = 0;
  for (const std::string& value : heat.y_values) names = std::max(names, WidthOf(small, value));
  names += look.Px(10);
  const float head = 2 * small.FontSize + look.Px(8);
  PutCut(list, small, at, size.x, look.colors.muted,
         "down: " + heat.y_path + ", across: " + heat.x_path);
  const float wide =
      (size.x - names) / static_cast<float>(std::max<size_t>(1, heat.x_values.size()));
  const float high = std::min(
      look.Px(44), (size.y - head) / static_cast<float>(std::max<size_t>(1, heat.y_values.size())));
  for (size_t x = 0; x < heat.x_values.size(); ++x) {
    const std::string shown = Cut(small, heat.x_values[x], wide - look.Px(4));
    Put(list, small,
        {at.x + names + wide * (static_cast<float>(x) + 0.5f) - WidthOf(small, shown) / 2,
         at.y + small.FontSize + look.Px(4)},
        look.colors.text, shown);
  }
  for (size_t y = 0; y < heat.cells.size(); ++y) {
    const float top = at.y + head + high * static_cast<float>(y);
    PutRight(list, small, {at.x + names - look.Px(6), top + (high - small.FontSize) / 2},
             look.colors.text, heat.y_values[y]);
    for (size_t x = 0; x < heat.cells[y].size(); ++x) {
      const float left = at.x + names + wide * static_cast<float>(x);
      DrawHeatCell(heat.cells[y][x], {std::round(left) + 1, std::round(top) + 1},
                   {std::round(left + wide) - 1, std::round(top + high) - 1});
    }
  }
  ImGui::Dummy(size);
}

}  // namespace

void DrawSweepPictures(const SweepModel& model, session::Intents& intents) {
  const Look& look = TheLook();
  for (const std::string& warning : model.warnings) Paragraph(warning, look.colors.warning);
  struct Picture {
    std::string title;
    std::function<void(ImVec2)> draw;
  };
  std::vector<Picture> pictures;
  if (model.heat) {
    pictures.push_back({"Throughput", [&](ImVec2 size) { DrawHeat(*model.heat, size); }});
  }
  for (const viewmodel::Plot& plot : model.lines) {
    pictures.push_back({plot.title, [&plot](ImVec2 size) { DrawPlot("lines", plot, size); }});
  }
  if (model.pareto) {
    pictures.push_back(
        {model.pareto->title, [&](ImVec2 size) { DrawPlot("pareto", *model.pareto, size); }});
  }
  if (model.accuracy) {
    pictures.push_back(
        {model.accuracy->title + (model.accuracy_text.empty() ? "" : ": ") + model.accuracy_text,
         [&](ImVec2 size) { DrawPlot("accuracy", *model.accuracy, size, true); }});
  }
  const float room = ImGui::GetContentRegionAvail().y;
  const float table = std::min(TableHeight(model.table) + look.Px(60), room * 0.4f);
  const float wide = ShareOfWidth(pictures.size() > 1 ? 2 : 1);
  const auto rows = static_cast<float>(std::max<size_t>(1, (pictures.size() + 1) / 2));
  const float high =
      std::max(look.Px(200), std::floor((room - table) / rows) - ImGui::GetStyle().ItemSpacing.y);
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (i % 2 == 1) ImGui::SameLine();
    ImGui::PushID(static_cast<int>(i));
    {
      const Card card("picture", {wide, high}, pictures[i].title);
      pictures[i].draw(ImGui::GetContentRegionAvail());
    }
    ImGui::PopID();
  }
  const Card card("points", {0, std::max(table, ImGui::GetContentRegionAvail().y)});
  Heading("Points");
  ImGui::SameLine(ImGui::GetContentRegionAvail().x - look.Px(50));
  CopyButton(
      "copy points", [&] { return model.table; }, intents);
  DrawTable("points table", model.table, {ImGui::GetContentRegionAvail().y, false, {}}, intents);
}

}  // namespace stallscope::views
