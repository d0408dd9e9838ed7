// Every command by its name.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gui/viewmodel/commands.h"
#include "gui/views/look.h"
#include "gui/views/overlays.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using viewmodel::Command;

void Run(const Command& command, const session::State& state, session::Intents& intents) {
  // First away with the palette: what the command opens must stay.
  intents.Add(session::intent::SetOverlay{session::Overlay::kNone});
  command.run(state, intents);
}

bool DrawRow(const Command& command, bool chosen) {
  const Look& look = TheLook();
  const float width = ImGui::GetContentRegionAvail().x;
  const float high = look.Pitch() + look.Px(4);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::PushID(command.id.data(), command.id.data() + command.id.size());
  const bool clicked = ImGui::InvisibleButton("command", {width, high});
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (chosen || ImGui::IsItemHovered()) {
    list.AddRectFilled(at, {at.x + width, at.y + high},
                       chosen ? WithAlpha(look.colors.accent, 0.25f) : look.colors.raised,
                       look.Px(4));
  }
  ImGui::PopID();
  const std::string key = viewmodel::NameOf(command.chord);
  const float key_width = WidthOf(*look.fonts.small, key) + look.Px(16);
  const float top = at.y + (high - look.fonts.body->FontSize) / 2;
  PutCut(list, *look.fonts.body, {at.x + look.Px(8), top}, width - key_width - look.Px(16),
         look.colors.text, command.name);
  PutRight(list, *look.fonts.small, {at.x + width - look.Px(8), top + look.Px(1)},
           look.colors.muted, key);
  return clicked;
}

}  // namespace

void DrawPalette(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  Memory& memory = TheLook().memory;
  const session::State& state = *snapshot.state;
  constexpr size_t kMostRows = 12;
  if (memory.field_just_opened) {
    memory.palette_text.clear();
    memory.palette_row = 0;
  }
  if (BeginBox("palette", 560, 520, 0.12f, intents)) {
    if (memory.field_just_opened) ImGui::SetKeyboardFocusHere();
    ImGui::SetNextItemWidth(-1);
    const bool entered = ImGui::InputTextWithHint("##command", "a command", &memory.palette_text,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    const std::vector<const Command*> found = viewmodel::SearchCommands(memory.palette_text, state);
    const auto shown = static_cast<int>(std::min(kMostRows, found.size()));
    if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_DownArrow))) ++memory.palette_row;
    if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_UpArrow))) --memory.palette_row;
    memory.palette_row = std::clamp(memory.palette_row, 0, std::max(0, shown - 1));
    for (int i = 0; i < shown; ++i) {
      if (DrawRow(*found[static_cast<size_t>(i)], i == memory.palette_row)) {
        Run(*found[static_cast<size_t>(i)], state, intents);
      }
    }
    if (shown == 0) Line("no command has these letters", TheLook().colors.muted);
    if (entered && shown > 0) {
      Run(*found[static_cast<size_t>(memory.palette_row)], state, intents);
    }
  }
  EndBox();
}

}  // namespace stallscope::views
