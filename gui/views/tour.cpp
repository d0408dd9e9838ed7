// The first start: three steps, and a sample to take them with.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "gui/views/look.h"
#include "gui/views/overlays.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;

struct Step {
  std::string_view title;
  std::string_view text;
  session::Panel panel;
};

constexpr std::array<Step, 3> kSteps = {
    {{"1 of 3: the verdict",
      "Overview says in one sentence what bounds the run, where the time of a step goes, and which "
      "change would gain most. The green line above it says whether the trace can be believed.",
      session::Panel::kOverview},
     {"2 of 3: the proof",
      "Timeline shows every thread, queue and device over time. Stalls are hatched: click one to "
      "see "
      "the chain of waits that caused it. W and S zoom, A and D move, F fits the whole run.",
      session::Panel::kTimeline},
     {"3 of 3: the fix",
      "Findings lists what to change, with its predicted gain and the code for your framework. "
      "Verify runs the change and writes the measured gain beside it.",
      session::Panel::kFindings}}};

// The sample that has most to show.
std::string BestSample(const session::State& state) {
  for (const std::string& path : state.samples) {
    if (path.find("input_decode") != std::string::npos) return path;
  }
  return state.samples.empty() ? "" : state.samples.front();
}

void GoTo(int step, session::Intents& intents) {
  intents.Add(intent::TourStep{step});
  if (step < static_cast<int>(kSteps.size())) {
    intents.Add(intent::ShowPanel{kSteps[static_cast<size_t>(step)].panel});
  }
}

}  // namespace

void DrawTour(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  const session::State& state = *snapshot.state;
  const int last = static_cast<int>(kSteps.size()) - 1;
  const int step = std::clamp(state.tour_step, 0, last);
  const Step& shown = kSteps[static_cast<size_t>(step)];
  // In a corner, without a veil: what it talks about must be seen.
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x - look.Px(24), display.y - look.Px(52)}, 0, {1, 1});
  ImGui::SetNextWindowSize({std::min(look.Px(460), display.x - look.Px(48)), 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, look.colors.card);
  ImGui::PushStyleColor(ImGuiCol_Border, look.colors.accent);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, look.Px(8));
  ImGui::Begin("tour", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoMove | ImGuiWindowFlags_AlwaysAutoResize);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(2);
  Heading(shown.title);
  Paragraph(shown.text, look.colors.text);
  ImGui::Dummy({0, look.Px(4)});
  const std::string sample = BestSample(state);
  if (state.runs.empty() && !sample.empty()) {
    if (ImGui::Button("Open a sample")) intents.Add(intent::OpenFile{sample, false});
    ImGui::SameLine();
  }
  if (step > 0) {
    if (ImGui::Button("Back")) GoTo(step - 1, intents);
    ImGui::SameLine();
  }
  if (ImGui::Button(step < last ? "Next" : "Done")) GoTo(step + 1, intents);
  if (step < last) {
    ImGui::SameLine();
    if (ImGui::Button("Skip")) intents.Add(intent::TourStep{static_cast<int>(kSteps.size())});
  }
  ImGui::End();
}

}  // namespace stallscope::views
