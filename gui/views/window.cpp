#include "gui/views/window.h"

#include <imgui.h>

#include <cmath>
#include <string>

#include "gui/views/keys.h"
#include "gui/views/look.h"
#include "gui/views/menus.h"
#include "gui/views/overlays.h"
#include "gui/views/panels.h"
#include "gui/views/rail.h"
#include "gui/views/status.h"
#include "gui/views/text.h"
#include "gui/views/trust_line.h"

namespace stallscope::views {
namespace {

// Whoever renders clears to the window's colour first: a rectangle over everything would cost a
// renderer in software half of the frame.
constexpr ImGuiWindowFlags kWhole = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground |
                                    ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                    ImGuiWindowFlags_NoBringToFrontOnFocus |
                                    ImGuiWindowFlags_NoNavFocus;

class WholeDisplay {
 public:
  explicit WholeDisplay(ImGuiWindowFlags more) {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
    ImGui::Begin("stallscope", nullptr, kWhole | more);
    ImGui::PopStyleVar(2);
  }
  ~WholeDisplay() { ImGui::End(); }
  WholeDisplay(const WholeDisplay&) = delete;
  WholeDisplay& operator=(const WholeDisplay&) = delete;
};

}  // namespace

void DrawWindow(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  HandleKeys(snapshot, intents);
  const WholeDisplay window(ImGuiWindowFlags_MenuBar);
  DrawMenus(snapshot, intents);
  const float status = StatusHeight();
  const float below = ImGui::GetContentRegionAvail().y - status;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  DrawRail(snapshot, {RailWidth(), below}, intents);
  ImGui::SameLine();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {look.Px(14), look.Px(12)});
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, 0);
  ImGui::PushStyleColor(ImGuiCol_Border, look.colors.window);
  ImGui::BeginChild("panel", {0, below}, true,
                    ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_AlwaysUseWindowPadding);
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(2);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {look.Px(8), look.Px(6)});
  DrawPanel(snapshot, intents);
  ImGui::PopStyleVar();
  ImGui::EndChild();
  ImGui::PopStyleVar();
  DrawStatus(snapshot, intents);
  DrawOverlay(snapshot, intents);
}

void DrawPicture(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  const WholeDisplay window(ImGuiWindowFlags_NoInputs);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {look.Px(16), look.Px(14)});
  ImGui::BeginChild("picture", {0, 0}, false,
                    ImGuiWindowFlags_AlwaysUseWindowPadding | ImGuiWindowFlags_NoScrollbar);
  ImGui::PopStyleVar();
  const session::State& state = *snapshot.state;
  if (const session::OpenRun* run = state.Active(); run != nullptr) {
    // A spec is not one of the run's.
    const bool of_run = state.view.panel != session::Panel::kRecord;
    const std::string panel(session::TitleOf(state.view.panel));
    const std::string of = of_run ? " of " + run->title : "";
    const InFont bold(look.fonts.bold);
    PutRight(*ImGui::GetWindowDrawList(), *look.fonts.body,
             {ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x,
              ImGui::GetCursorScreenPos().y},
             look.colors.muted, "stallscope");
    Line(panel + of, look.colors.text, ImGui::GetContentRegionAvail().x - look.Px(110));
  }
  DrawPanel(snapshot, intents);
  ImGui::EndChild();
}

}  // namespace stallscope::views
