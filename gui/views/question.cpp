// What must be agreed to before a trace's own run is made again.
#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/views/look.h"
#include "gui/views/overlays.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;

bool IsPressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key), false); }

// The answer that Enter gives is the one with the frame.
bool DrawAnswer(const char* text, bool chosen) {
  const Look& look = TheLook();
  ImGui::PushStyleColor(ImGuiCol_Border, chosen ? look.colors.accent : look.colors.card);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, look.Px(2));
  const bool clicked = ImGui::Button(text, {look.Px(110), 0});
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  return clicked;
}

}  // namespace

void DrawQuestion(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  Memory& memory = TheLook().memory;
  const session::Question& question = snapshot.state->question;
  // The key that asked for the run must not be the one that agrees to it.
  const bool opened = memory.field_just_opened;
  if (opened) memory.question_agrees = false;
  if (BeginBox("question", 720, 560, 0.16f, intents)) {
    Heading(question.title);
    const float most = ImGui::GetIO().DisplaySize.y * 0.5f;
    float high = 0;
    for (const std::string& line : question.lines) {
      high += ParagraphHeight(line, ImGui::GetContentRegionAvail().x - look.Px(20)) +
              ImGui::GetStyle().ItemSpacing.y;
    }
    // So many files that they need scrolling leave the answers where they can be seen.
    ImGui::BeginChild("lines", {0, std::min(high + look.Px(4), most)});
    for (const std::string& line : question.lines) Paragraph(line, look.colors.text);
    ImGui::EndChild();
    if (!opened && (IsPressed(ImGuiKey_LeftArrow) || IsPressed(ImGuiKey_RightArrow) ||
                    IsPressed(ImGuiKey_Tab))) {
      memory.question_agrees = !memory.question_agrees;
    }
    const bool entered = !opened && (IsPressed(ImGuiKey_Enter) || IsPressed(ImGuiKey_KeyPadEnter));
    const bool agrees = memory.question_agrees;
    if (DrawAnswer("Run it", agrees) || (entered && agrees)) intents.Add(intent::ConfirmRerun{});
    ImGui::SameLine();
    if (DrawAnswer("Cancel", !agrees) || (entered && !agrees)) intents.Add(intent::CancelRerun{});
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    Line("Tab: the other answer. Enter: the framed one. Esc: cancel.", look.colors.muted);
  }
  EndBox();
}

}  // namespace stallscope::views
