// How long steps take, which are outliers, and when.
#include <algorithm>
#include <cmath>
#include <string>

#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/plots.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::Paint;
using viewmodel::StepDot;
using viewmodel::StepsModel;

// Outliers are diamonds, steps that do not count rings, all others disks: distinct without color.
void DrawDot(ImDrawList& list, ImVec2 at, const StepDot& dot) {
  const Look& look = TheLook();
  const ImU32 color = look.Of(dot.paint);
  const float r = look.Px(3.5f);
  if (dot.warm_up) {
    list.AddCircle(at, r, look.colors.muted, 12, std::max(1.0f, look.Px(1.5f)));
  } else if (dot.outlier) {
    const float d = look.Px(6);
    list.AddQuadFilled({at.x, at.y - d}, {at.x + d, at.y}, {at.x, at.y + d}, {at.x - d, at.y},
                       color);
    list.AddQuad({at.x, at.y - d}, {at.x + d, at.y}, {at.x, at.y + d}, {at.x - d, at.y},
                 look.colors.text, std::max(1.0f, look.Px(1)));
  } else {
    list.AddCircleFilled(at, r, color, 12);
  }
  if (dot.selected) {
    list.AddCircle(at, look.Px(9), look.Of(Paint::kSelected), 20, look.Px(2));
  }
}

void DrawScatter(const StepsModel& model, const session::State& state, ImVec2 size,
                 Intents& intents) {
  const Look& look = TheLook();
  const float axis = TimeAxisHeight();
  const PlotArea area = DrawAxes("scatter", {size.x, size.y - axis}, {}, model.y_ticks, "", "");
  ImDrawList& list = *ImGui::GetWindowDrawList();
  PutTimeAxis(list, {area.from.x, area.to.y}, area.to.x, model.times, state);
  const float reach = look.Px(7);
  list.PushClipRect({area.from.x - reach, area.from.y - reach},
                    {area.to.x + reach, area.to.y + reach}, true);
  for (const StepDot& dot : model.dots) DrawDot(list, area.At(dot.x, dot.y), dot);
  list.PopClipRect();
  if (area.Hovered()) {
    const ImVec2 pointer = area.Pointer();
    const size_t hit = viewmodel::DotAt(model, pointer.x, pointer.y,
                                        reach / std::max(1.0f, area.to.x - area.from.x),
                                        reach / std::max(1.0f, area.to.y - area.from.y));
    if (hit != viewmodel::kNoDot) {
      std::vector<std::string> lines = viewmodel::StepTooltip(state, model.dots[hit].step_row);
      lines.emplace_back("Click to show it on the timeline");
      ShowTooltip(lines);
      if (ImGui::IsMouseClicked(0)) {
        intents.Add(intent::SelectStep{model.dots[hit].step_row, true});
      }
    }
  }
  ImGui::Dummy({0, axis - ImGui::GetStyle().ItemSpacing.y});
}

// What the colors of the visible dots mean.
void DrawDotLegend(const StepsModel& model) {
  const InFont small(TheLook().fonts.small);
  bool first = true;
  for (size_t i = 0; i < attribution::kCategories; ++i) {
    const auto paint = static_cast<Paint>(i);
    const bool there = std::any_of(model.dots.begin(), model.dots.end(),
                                   [&](const StepDot& dot) { return dot.paint == paint; });
    if (!there) continue;
    const std::string word = "mostly " + std::string(viewmodel::WordFor(paint));
    if (!first) ImGui::SameLine(0, TheLook().Px(16));
    LegendEntry(paint, word);
    first = false;
  }
  if (first) return;
  ImGui::SameLine(0, TheLook().Px(16));
  Line("diamond: outlier, ring: excluded", TheLook().colors.muted);
}

}  // namespace

void DrawSteps(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.steps)
    return DrawNothing("Not analyzed yet", "Results appear once the run has been analyzed.");
  const StepsModel& model = *snapshot.steps;
  if (!model.nothing.empty()) return DrawNothing("No steps", model.nothing);
  const Look& look = TheLook();
  const session::State& state = *snapshot.state;
  for (size_t i = 0; i < model.summary.size(); ++i) {
    if (i > 0) ImGui::SameLine(0, look.Px(20));
    const InFont font(i == 0 ? look.fonts.bold : look.fonts.body);
    Line(model.summary[i], i == 0 ? look.colors.text : look.colors.muted);
  }
  const float room = ImGui::GetContentRegionAvail().y;
  const float upper = std::floor(room * 0.56f);
  {
    const Card card("scatter card", {0, upper}, "Step times over the run");
    const float legend = look.fonts.small->FontSize + ImGui::GetStyle().ItemSpacing.y;
    const ImVec2 avail = ImGui::GetContentRegionAvail();
    DrawScatter(model, state, {avail.x, avail.y - legend}, intents);
    DrawDotLegend(model);
  }
  const float width = ShareOfWidth(2);
  {
    const Card card("histogram card", {width, 0}, "Distribution of step times");
    DrawHistogram("histogram", model.histogram, ImGui::GetContentRegionAvail(), "", "steps");
  }
  ImGui::SameLine();
  const Card card("outliers card", {0, 0}, "Outliers");
  if (model.outliers.rows.empty()) return Paragraph("No step is an outlier.", look.colors.muted);
  const auto clicked =
      DrawTable("outliers", model.outliers, {ImGui::GetContentRegionAvail().y, true, {}}, intents);
  if (clicked && *clicked < model.outlier_rows.size()) {
    intents.Add(intent::SelectStep{model.outlier_rows[*clicked], true});
  }
}

}  // namespace stallscope::views
