// Other settings for the run: what to vary, progress, results.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/plots.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::SweepState;
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
  PutCentered(list, font, {(from.x + to.x) / 2, (from.y + to.y - font.FontSize) / 2},
              to.x - from.x - look.Px(6), cell.rate ? TextOn(color) : look.colors.faint, cell.text);
  if (cell.best) list.AddRect(from, to, look.colors.text, look.Px(3), 0, look.Px(2));
  if (cell.base) {
    list.AddTriangleFilled(from, {from.x + look.Px(9), from.y}, {from.x, from.y + look.Px(9)},
                           look.colors.text);
  }
  if (Hovers(from, to)) ShowTooltip({cell.tooltip});
}

void DrawHeat(const SweepHeat& heat, ImVec2 size) {
  const Look& look = TheLook();
  const ImFont& small = *look.fonts.small;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float names = WidestOf(small, heat.y_values) + look.Px(10);
  const float head = 2 * small.FontSize + look.Px(8);
  PutCut(list, small, at, size.x, look.colors.muted,
         "rows: " + heat.y_path + ", columns: " + heat.x_path);
  const float wide =
      (size.x - names) / static_cast<float>(std::max<size_t>(1, heat.x_values.size()));
  const float high = std::min(
      look.Px(44), (size.y - head) / static_cast<float>(std::max<size_t>(1, heat.y_values.size())));
  for (size_t x = 0; x < heat.x_values.size(); ++x) {
    PutCentered(
        list, small,
        {at.x + names + wide * (static_cast<float>(x) + 0.5f), at.y + small.FontSize + look.Px(4)},
        wide - look.Px(4), look.colors.text, heat.x_values[x]);
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

void DrawSweepPictures(const SweepModel& model, session::Intents& intents) {
  const Look& look = TheLook();
  DrawAssumed(model.assumed);
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
  DrawTitledTable("Points", model.table, true, intents);
}

intent::EditSweep EditOf(const SweepState& sweep) {
  return {sweep.vary, sweep.mode, sweep.repeats};
}

void DrawLines(const SweepState& sweep, Intents& intents) {
  const Look& look = TheLook();
  for (size_t i = 0; i < sweep.vary.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    std::string line = sweep.vary[i];
    const float button = ImGui::GetFrameHeight();
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - button -
                            ImGui::GetStyle().ItemSpacing.x);
    if (ImGui::InputText("##vary", &line) && line != sweep.vary[i]) {
      intent::EditSweep edit = EditOf(sweep);
      edit.vary[i] = line;
      intents.Add(edit);
    }
    ImGui::SameLine();
    if (ImGui::Button("\xC3\x97", {button, 0})) {
      intent::EditSweep edit = EditOf(sweep);
      edit.vary.erase(edit.vary.begin() + static_cast<ptrdiff_t>(i));
      intents.Add(edit);
    }
    Tip("Stop varying this knob");
    if (i < sweep.problems.size() && !sweep.problems[i].empty()) {
      const InFont small(look.fonts.small);
      Paragraph(sweep.problems[i], look.colors.bad);
    }
    ImGui::PopID();
  }
}

void DrawKnobs(const SweepModel& model, const SweepState& sweep, Intents& intents) {
  const Look& look = TheLook();
  Line("Add a knob", look.colors.muted);
  ImGui::BeginChild("knobs", {0, std::max(look.Px(60), ImGui::GetContentRegionAvail().y -
                                                           3.2f * ImGui::GetFrameHeight())});
  for (const viewmodel::KnobChoice& knob : model.knobs) {
    ImGui::PushID(knob.path.c_str());
    const float width = ImGui::GetContentRegionAvail().x;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    if (ImGui::Selectable("##knob", false)) {
      intent::EditSweep edit = EditOf(sweep);
      edit.vary.push_back(knob.suggestion);
      intents.Add(edit);
    }
    if (ImGui::IsItemHovered()) ShowTooltip({knob.doc, "Click to vary " + knob.suggestion});
    const float value = std::min(width * 0.4f, WidthOf(*look.fonts.body, knob.value));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    Put(list, *look.fonts.body, at, look.colors.text,
        CutName(*look.fonts.body, knob.path, width - value - look.Px(12)));
    PutCut(list, *look.fonts.body, {at.x + width - value, at.y}, value + 1, look.colors.muted,
           knob.value);
    ImGui::PopID();
  }
  ImGui::EndChild();
}

void DrawStart(const SweepModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  const SweepState& sweep = state.sweep;
  constexpr std::array<std::pair<const char*, session::SweepRunMode>, 3> kModes = {
      {{"predict", session::SweepRunMode::kSimulate},
       {"run", session::SweepRunMode::kRerun},
       {"both", session::SweepRunMode::kBoth}}};
  for (const auto& [name, mode] : kModes) {
    if (mode != kModes.front().second) ImGui::SameLine();
    if (ImGui::RadioButton(name, sweep.mode == mode)) {
      intent::EditSweep edit = EditOf(sweep);
      edit.mode = mode;
      intents.Add(edit);
    }
  }
  if (sweep.mode != session::SweepRunMode::kSimulate) {
    ImGui::SameLine();
    int repeats = static_cast<int>(sweep.repeats);
    ImGui::SetNextItemWidth(look.Px(90));
    if (ImGui::InputInt("times", &repeats)) {
      intent::EditSweep edit = EditOf(sweep);
      edit.repeats = static_cast<unsigned>(std::clamp(repeats, 1, 99));
      intents.Add(edit);
    }
  }
  if (model.running) {
    ImGui::ProgressBar(static_cast<float>(model.done), {-look.Px(100), 0}, model.progress.c_str());
    for (const session::Job& job : state.jobs) {
      if (job.kind != session::JobKind::kSweep) continue;
      ImGui::SameLine();
      if (ImGui::Button("Stop", {-1, 0})) intents.Add(intent::CancelJob{job.number});
    }
    return;
  }
  if (ButtonIf(model.can_start, "Start", look.Px(100))) intents.Add(intent::StartSweep{});
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  if (!model.error.empty()) return Line(model.error, look.colors.bad);
  Line(sweep.vary.empty() ? "click knobs to vary them" : model.points_text, look.colors.muted);
}

void DrawSetUp(const SweepModel& model, const session::State& state, float width,
               Intents& intents) {
  const Card card("set up", {width, 0}, "What to vary", true);
  DrawLines(state.sweep, intents);
  DrawKnobs(model, state.sweep, intents);
  DrawStart(model, state, intents);
}

}  // namespace

void DrawSweep(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.sweep)
    return DrawNothing("Not analyzed yet", "Results appear once the run has been analyzed.");
  const SweepModel& model = *snapshot.sweep;
  const session::State& state = *snapshot.state;
  if (!model.nothing.empty() && !state.sweep.table) {
    return DrawNothing("Nothing to vary", model.nothing);
  }
  const Look& look = TheLook();
  const float left =
      std::clamp(ImGui::GetContentRegionAvail().x * 0.3f, look.Px(260), look.Px(380));
  DrawSetUp(model, state, left, intents);
  ImGui::SameLine();
  ImGui::BeginChild("results", {0, 0});
  if (state.sweep.table == nullptr) {
    DrawNothing("No points yet",
                "Pick knobs on the left and press Start. Predictions take seconds; the trace is "
                "never modified.");
  } else {
    DrawSweepPictures(model, intents);
  }
  ImGui::EndChild();
}

}  // namespace stallscope::views
