#include "gui/views/overlays.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/views/look.h"

namespace stallscope::views {

using session::Overlay;

bool BeginBox(const char* id, float width, float height, float top, session::Intents& intents) {
  const Look& look = TheLook();
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float wide = std::floor(std::min(look.Px(width), display.x - look.Px(40)));
  const float y = std::floor(display.y * top);
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(display);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, IM_COL32(0, 0, 0, 100));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("veil", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoMove);
  if (ImGui::IsWindowHovered() && ImGui::IsMouseClicked(0)) {
    intents.Add(session::intent::SetOverlay{Overlay::kNone});
  }
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  ImGui::SetNextWindowPos({std::floor((display.x - wide) / 2), y});
  ImGui::SetNextWindowSizeConstraints(
      {wide, 0},
      {wide, std::max(look.Px(80), std::min(look.Px(height), display.y - y - look.Px(20)))});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, look.colors.card);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, look.Px(8));
  ImGui::SetNextWindowFocus();
  const bool open = ImGui::Begin(id, nullptr,
                                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  return open;
}

void EndBox() { ImGui::End(); }

void DrawOverlay(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  Memory& memory = TheLook().memory;
  const Overlay overlay = snapshot.state->overlay;
  memory.field_just_opened = memory.last_overlay != overlay;
  memory.last_overlay = overlay;
  switch (overlay) {
    case Overlay::kNone:
      return;
    case Overlay::kPalette:
      return DrawPalette(snapshot, intents);
    case Overlay::kHelp:
      return DrawHelp(snapshot, intents);
    case Overlay::kFind:
      return DrawFind(snapshot, intents);
    case Overlay::kOpenPath:
    case Overlay::kSavePath:
      return DrawPathBox(snapshot, intents);
    case Overlay::kTour:
      return DrawTour(snapshot, intents);
    case Overlay::kQuestion:
      return DrawQuestion(snapshot, intents);
  }
}

}  // namespace stallscope::views
