#include "gui/views/status.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/viewmodel/format.h"
#include "gui/views/look.h"
#include "gui/views/text.h"
#include "gui/views/trust_line.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;

void DrawJob(const session::State& state, session::Intents& intents) {
  if (state.jobs.empty()) return;
  const Look& look = TheLook();
  const session::Job& job = state.jobs.front();
  std::string text = job.title;
  if (!job.detail.empty()) text += ": " + job.detail;
  if (job.done) text += "  " + viewmodel::Percent(*job.done);
  if (state.jobs.size() > 1) text += "  (+" + std::to_string(state.jobs.size() - 1) + ")";
  const float button = WidthOf(*look.fonts.small, "Cancel") + look.Px(16);
  const float bar = look.Px(120);
  const std::string shown = Cut(*look.fonts.small, text, look.Px(420));
  const float wide = WidthOf(*look.fonts.small, shown) + bar + button + look.Px(40);
  ImGui::SameLine(ImGui::GetWindowWidth() - wide);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  Put(list, *look.fonts.small, at, look.colors.muted, shown);
  const float left = at.x + WidthOf(*look.fonts.small, shown) + look.Px(10);
  const float middle = at.y + look.fonts.small->FontSize / 2;
  list.AddRectFilled({left, middle - look.Px(3)}, {left + bar, middle + look.Px(3)},
                     look.colors.grid, look.Px(3));
  if (job.done) {
    const auto part = static_cast<float>(std::clamp(*job.done, 0.0, 1.0));
    list.AddRectFilled({left, middle - look.Px(3)}, {left + bar * part, middle + look.Px(3)},
                       look.colors.accent, look.Px(3));
  }
  ImGui::SetCursorScreenPos({left + bar + look.Px(10), at.y});
  ImGui::PushID(static_cast<int>(job.number));
  if (job.cancelled) {
    Line("ending", look.colors.muted);
  } else if (ImGui::SmallButton("Cancel")) {
    intents.Add(intent::CancelJob{job.number});
  }
  ImGui::PopID();
}

ImU32 ColorOf(session::NoticeLevel level) {
  const Look& look = TheLook();
  switch (level) {
    case session::NoticeLevel::kInfo:
      return look.colors.accent;
    case session::NoticeLevel::kWarning:
      return look.colors.warning;
    case session::NoticeLevel::kError:
      return look.colors.bad;
  }
  return look.colors.accent;
}

void DrawNotices(const session::State& state, session::Intents& intents) {
  const Look& look = TheLook();
  constexpr size_t kMost = 4;
  if (state.notices.empty()) return;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({display.x - look.Px(12), display.y - StatusHeight() - look.Px(12)},
                          ImGuiCond_Always, {1, 1});
  ImGui::SetNextWindowSizeConstraints({look.Px(240), 0}, {look.Px(560), display.y});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, look.colors.card);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, look.Px(6));
  ImGui::Begin("notices", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing |
                   ImGuiWindowFlags_NoNav);
  const size_t first = state.notices.size() > kMost ? state.notices.size() - kMost : 0;
  for (size_t i = first; i < state.notices.size(); ++i) {
    const session::Notice& notice = state.notices[i];
    ImGui::PushID(static_cast<int>(notice.number));
    if (ImGui::SmallButton("\xC3\x97")) intents.Add(intent::DismissNotice{notice.number});
    ImGui::SameLine();
    ImGui::PushTextWrapPos(look.Px(530));
    const InColor in_color(ColorOf(notice.level));
    Wrapped(notice.text);
    ImGui::PopTextWrapPos();
    ImGui::PopID();
  }
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
}

}  // namespace

float StatusHeight() { return std::round(TheLook().Px(28)); }

void DrawStatus(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  const session::State& state = *snapshot.state;
  ImGui::PushStyleColor(ImGuiCol_ChildBg, look.colors.rail);
  ImGui::BeginChild("status", {0, 0});
  ImGui::PopStyleColor();
  {
    const InFont small(look.fonts.small);
    ImGui::SetCursorPos({look.Px(12), std::floor((StatusHeight() - ImGui::GetFontSize()) / 2)});
    if (const session::OpenRun* run = state.Active(); run != nullptr && run->run != nullptr) {
      DrawTrustLine(viewmodel::TrustOf(*run), ImGui::GetWindowWidth() * 0.45f);
      if (run->following) {
        ImGui::SameLine(0, look.Px(16));
        Line("\xE2\x97\x8F still recording", look.colors.accent, look.Px(160));
      }
      if (state.view.range) {
        ImGui::SameLine(0, look.Px(16));
        Line("limited to " + viewmodel::ShortNs(state.view.range->ns()) + " (Esc: the whole run)",
             look.colors.accent, look.Px(300));
      }
    } else {
      Line("? for help, Ctrl+Shift+P for every command", look.colors.muted);
    }
    DrawJob(state, intents);
  }
  ImGui::EndChild();
  DrawNotices(state, intents);
}

}  // namespace stallscope::views
