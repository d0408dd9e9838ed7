// Other settings for the run: what to vary, how far it is, what came out.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "gui/views/card.h"
#include "gui/views/empty.h"
#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/sweep_pictures.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::SweepState;
using viewmodel::SweepModel;

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
    Tip("Do not vary this");
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
    if (ImGui::IsItemHovered()) ShowTooltip({knob.doc, "click: vary " + knob.suggestion});
    const float value = std::min(width * 0.4f, WidthOf(*look.fonts.body, knob.value));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    PutCut(list, *look.fonts.body, at, width - value - look.Px(12), look.colors.text, knob.path);
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
  if (!model.can_start) ImGui::BeginDisabled();
  if (ImGui::Button("Start", {look.Px(100), 0})) intents.Add(intent::StartSweep{});
  if (!model.can_start) ImGui::EndDisabled();
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  if (!model.error.empty()) return Line(model.error, look.colors.bad);
  Line(sweep.vary.empty() ? "click the knobs to vary" : model.points_text, look.colors.muted);
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
  if (!snapshot.sweep) return DrawNothing("Nothing is known yet", "The run is being analysed.");
  const SweepModel& model = *snapshot.sweep;
  const session::State& state = *snapshot.state;
  if (!model.nothing.empty() && !state.sweep.table) {
    return DrawNothing("Nothing can be varied", model.nothing);
  }
  const Look& look = TheLook();
  const float left =
      std::clamp(ImGui::GetContentRegionAvail().x * 0.3f, look.Px(260), look.Px(380));
  DrawSetUp(model, state, left, intents);
  ImGui::SameLine();
  ImGui::BeginChild("results", {0, 0});
  if (state.sweep.table == nullptr) {
    DrawNothing("No points yet",
                "Pick knobs at the left and press Start. Predictions take moments, "
                "and the trace is never changed.");
  } else {
    DrawSweepPictures(model, intents);
  }
  ImGui::EndChild();
}

}  // namespace stallscope::views
