// What must be settled before a trace's own run is made again.
#include <imgui.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gui/views/look.h"
#include "gui/views/overlays.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;

bool IsPressed(ImGuiKey key) { return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key), false); }

using Answer = std::pair<const char*, void (*)(session::Intents&)>;

// The last one changes nothing.
std::vector<Answer> AnswersTo(const session::Question& question) {
  const Answer cancel{"Cancel", [](session::Intents& to) { to.Add(intent::CancelRerun{}); }};
  if (question.kind == session::Question::Kind::kAgree) {
    return {{"Run it", [](session::Intents& to) { to.Add(intent::ConfirmRerun{}); }}, cancel};
  }
  return {{"Name the folder", [](session::Intents& to) { to.Add(intent::FindData{}); }},
          {"Emulate", [](session::Intents& to) { to.Add(intent::EmulateRerun{}); }},
          cancel};
}

// The answer that Enter gives is the one with the frame.
bool DrawAnswer(const char* text, bool chosen) {
  const Look& look = TheLook();
  ImGui::PushStyleColor(ImGuiCol_Border, chosen ? look.colors.accent : look.colors.card);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, look.Px(2));
  const bool clicked =
      ImGui::Button(text, {std::max(look.Px(110), ImGui::CalcTextSize(text).x + look.Px(24)), 0});
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
  const std::vector<Answer> answers = AnswersTo(question);
  size_t& chosen = memory.question_answer;
  if (opened || chosen >= answers.size()) chosen = answers.size() - 1;
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
    if (!opened && IsPressed(ImGuiKey_LeftArrow))
      chosen = (chosen + answers.size() - 1) % answers.size();
    if (!opened && (IsPressed(ImGuiKey_RightArrow) || IsPressed(ImGuiKey_Tab))) {
      chosen = (chosen + 1) % answers.size();
    }
    const bool entered = !opened && (IsPressed(ImGuiKey_Enter) || IsPressed(ImGuiKey_KeyPadEnter));
    for (size_t i = 0; i < answers.size(); ++i) {
      if (DrawAnswer(answers[i].first, i == chosen) || (entered && i == chosen)) {
        answers[i].second(intents);
      }
      ImGui::SameLine();
    }
    ImGui::AlignTextToFramePadding();
    Line("Tab: the other answer. Enter: the framed one. Esc: cancel.", look.colors.muted);
  }
  EndBox();
}

}  // namespace stallscope::views
