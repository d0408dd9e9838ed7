#include "gui/views/rail.h"

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "gui/viewmodel/format.h"
#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using session::Panel;

// In the order in which a question is asked: why, where exactly, what if.
struct Group {
  std::string_view title;
  std::vector<Panel> panels;
};
const std::array<Group, 3>& Groups() {
  static const std::array<Group, 3> kGroups = {
      {{"WHY", {Panel::kOverview, Panel::kFindings, Panel::kStalls}},
       {"LOOK", {Panel::kTimeline, Panel::kPipeline, Panel::kSteps, Panel::kSpans, Panel::kRun}},
       {"TRY", {Panel::kSweep, Panel::kCompare, Panel::kRecord}}}};
  return kGroups;
}

// What a panel has to tell before it is opened; empty for nothing.
std::string CountOf(Panel panel, const session::State& state) {
  if (panel == Panel::kFindings && state.shown.report && !state.shown.report->findings.empty()) {
    return viewmodel::Grouped(state.shown.report->findings.size());
  }
  if (panel == Panel::kRecord && state.record.running) return "\xE2\x97\x8F";
  if (panel == Panel::kSweep && state.sweep.running) return "\xE2\x97\x8F";
  return "";
}

void DrawEntry(Panel panel, const session::State& state, session::Intents& intents) {
  const Look& look = TheLook();
  const float high = std::round(look.Px(32));
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool shown = state.view.panel == panel;
  ImGui::PushID(static_cast<int>(panel));
  if (ImGui::InvisibleButton("entry", {width, high})) {
    intents.Add(session::intent::ShowPanel{panel});
  }
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (shown || hovered) {
    list.AddRectFilled(
        at, {at.x + width, at.y + high},
        shown ? Mixed(look.colors.rail, look.colors.accent, 0.22f) : look.colors.raised);
  }
  if (shown) list.AddRectFilled(at, {at.x + look.Px(3), at.y + high}, look.colors.accent);
  const ImFont& font = shown ? *look.fonts.bold : *look.fonts.body;
  const float top = at.y + (high - font.FontSize) / 2;
  Put(list, font, {at.x + look.Px(16), top}, look.colors.text, session::TitleOf(panel));
  const std::string count = CountOf(panel, state);
  PutRight(list, *look.fonts.small, {at.x + width - look.Px(12), top + look.Px(1)},
           look.colors.muted, count);
}

}  // namespace

float RailWidth() { return std::round(TheLook().Px(150)); }

void DrawRail(const viewmodel::Snapshot& snapshot, ImVec2 size, session::Intents& intents) {
  const Look& look = TheLook();
  ImGui::PushStyleColor(ImGuiCol_ChildBg, look.colors.rail);
  ImGui::BeginChild("rail", size);
  ImGui::PopStyleColor();
  for (const Group& group : Groups()) {
    ImGui::Dummy({0, look.Px(10)});
    const ImVec2 at = ImGui::GetCursorScreenPos();
    Put(*ImGui::GetWindowDrawList(), *look.fonts.small, {at.x + look.Px(16), at.y},
        look.colors.faint, group.title);
    ImGui::Dummy({0, look.fonts.small->FontSize + look.Px(4)});
    for (const Panel panel : group.panels) DrawEntry(panel, *snapshot.state, intents);
  }
  ImGui::EndChild();
}

}  // namespace stallscope::views
