// Finds spans by what they are called.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <string>

#include "gui/viewmodel/format.h"
#include "gui/views/look.h"
#include "gui/views/overlays.h"
#include "gui/views/text.h"

namespace stallscope::views {

void DrawFind(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  Look& look = TheLook();
  const session::State& state = *snapshot.state;
  if (look.memory.field_just_opened) look.memory.find_text = state.find_text;
  ImGui::SetNextWindowPos({ImGui::GetIO().DisplaySize.x - look.Px(16), look.Px(44)}, 0, {1, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, look.colors.card);
  ImGui::Begin("find", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoMove);
  ImGui::PopStyleColor();
  if (look.memory.field_just_opened) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(look.Px(280));
  const bool entered =
      ImGui::InputTextWithHint("##find", "a stage, a kernel, duration>2ms", &look.memory.find_text,
                               ImGuiInputTextFlags_EnterReturnsTrue);
  if (look.memory.find_text != state.find_text) {
    intents.Add(session::intent::Find{look.memory.find_text});
  }
  if (entered) {
    intents.Add(session::intent::FindNext{ImGui::GetIO().KeyShift ? -1 : 1});
    ImGui::SetKeyboardFocusHere(-1);
  }
  ImGui::SameLine();
  const std::string hits = state.find_text.empty() ? ""
                           : state.find_hits == 0  ? "nothing"
                                                  : viewmodel::Grouped(state.find_at + 1) + " of " +
                                                        viewmodel::Grouped(state.find_hits);
  ImGui::AlignTextToFramePadding();
  const InColor muted(look.colors.muted);
  ImGui::TextUnformatted(hits.c_str());
  ImGui::SameLine();
  if (ImGui::Button("Previous")) intents.Add(session::intent::FindNext{-1});
  ImGui::SameLine();
  if (ImGui::Button("Next")) intents.Add(session::intent::FindNext{1});
  ImGui::End();
}

}  // namespace stallscope::views
