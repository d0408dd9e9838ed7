#include "gui/views/panels.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::Panel;

// Centers the next item in the available width.
void Center(float width) {
  const float room = ImGui::GetContentRegionAvail().x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::floor(std::max(0.0f, (room - width) / 2)));
}

void CenteredLine(ImFont* font, std::string_view text, ImU32 color) {
  const InFont in_font(font);
  Center(WidthOf(*font, text));
  Line(text, color);
}

void CenteredParagraph(std::string_view text, ImU32 color) {
  const Look& look = TheLook();
  const float width = std::min(ImGui::GetContentRegionAvail().x, look.Px(640));
  const float line = WidthOf(*look.fonts.body, text);
  Center(std::min(width, line));
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width + 1);
  const InColor in_color(color);
  Wrapped(text);
  ImGui::PopTextWrapPos();
}

void StartAt(float part) {
  const float room = ImGui::GetContentRegionAvail().y;
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + std::floor(room * part));
}

// A path as a button: the file name, and its folder below.
bool PathButton(const std::string& path, float width) {
  const Look& look = TheLook();
  const std::filesystem::path file(path);
  const float height = look.fonts.body->FontSize + look.fonts.small->FontSize + look.Px(16);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool clicked = ImGui::Button(("##" + path).c_str(), {width, height});
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float room = width - look.Px(24);
  PutCut(list, *look.fonts.body, {at.x + look.Px(12), at.y + look.Px(6)}, room, look.colors.text,
         file.filename().string());
  PutCut(list, *look.fonts.small,
         {at.x + look.Px(12), at.y + look.Px(8) + look.fonts.body->FontSize}, room,
         look.colors.muted, file.parent_path().string());
  return clicked;
}

void PathList(const char* title, const std::vector<std::string>& paths, float width, size_t most,
              session::Intents& intents) {
  if (paths.empty()) return;
  ImGui::BeginGroup();
  Line(title, TheLook().colors.muted, width);
  for (size_t i = 0; i < std::min(most, paths.size()); ++i) {
    if (PathButton(paths[i], width)) intents.Add(intent::OpenFile{paths[i], false});
  }
  ImGui::EndGroup();
}

void DrawWelcome(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const Look& look = TheLook();
  const session::State& state = *snapshot.state;
  StartAt(0.12f);
  CenteredLine(look.fonts.title, "Why does the training step wait?", look.colors.text);
  CenteredParagraph("Open a trace, drop one here, or record a run.", look.colors.muted);
  ImGui::Dummy({0, look.Px(10)});
  const float wide = look.Px(170);
  Center(2 * wide + ImGui::GetStyle().ItemSpacing.x);
  if (ImGui::Button("Open a trace", {wide, 0})) intents.Add(intent::AskToOpen{});
  ImGui::SameLine();
  if (ImGui::Button("Record a run", {wide, 0})) {
    intents.Add(intent::ShowPanel{session::Panel::kRecord});
  }
  ImGui::Dummy({0, look.Px(18)});
  const bool both = !state.settings.recent.empty() && !state.samples.empty();
  const float column = std::floor(
      std::min(look.Px(380), (ImGui::GetContentRegionAvail().x - look.Px(24)) / (both ? 2 : 1)));
  Center(both ? 2 * column + look.Px(24) : column);
  const float rows = ImGui::GetContentRegionAvail().y /
                     (look.fonts.body->FontSize + look.fonts.small->FontSize + look.Px(22));
  const auto most = static_cast<size_t>(std::max(1.0f, rows - 1));
  PathList("Recent", state.settings.recent, column, most, intents);
  if (both) ImGui::SameLine(0, look.Px(24));
  PathList("Sample traces, one per verdict", state.samples, column, most, intents);
}

void DrawOpening(const session::State& state, const session::OpenRun& run,
                 session::Intents& intents) {
  const Look& look = TheLook();
  StartAt(0.3f);
  if (run.stage == session::OpenStage::kFailed) {
    CenteredLine(look.fonts.title, "Cannot open this file", look.colors.bad);
    CenteredParagraph(run.error ? run.error->Line() : run.path, look.colors.text);
    ImGui::Dummy({0, look.Px(10)});
    const float wide = look.Px(170);
    Center(2 * wide + ImGui::GetStyle().ItemSpacing.x);
    if (ImGui::Button("Open another file", {wide, 0})) intents.Add(intent::AskToOpen{});
    ImGui::SameLine();
    if (ImGui::Button("Close", {wide, 0})) intents.Add(intent::CloseRun{run.number});
    return;
  }
  CenteredLine(look.fonts.title, "Reading " + run.title, look.colors.text);
  for (const session::Job& job : state.jobs) {
    if (job.kind != session::JobKind::kOpen && job.kind != session::JobKind::kAnalyze) continue;
    CenteredParagraph(job.detail.empty() ? job.title : job.title + ": " + job.detail,
                      look.colors.muted);
    const float wide = look.Px(320);
    Center(wide);
    ImGui::ProgressBar(static_cast<float>(job.done.value_or(0)), {wide, look.Px(6)}, "");
    Center(look.Px(120));
    ImGui::PushID(static_cast<int>(job.number));
    if (ImGui::Button("Cancel", {look.Px(120), 0})) intents.Add(intent::CancelJob{job.number});
    ImGui::PopID();
  }
}

// Lanes of a small run grow into the available height, within reason.
float LanePitch(const Snapshot& snapshot, float room) {
  const Look& look = TheLook();
  if (!snapshot.timeline || snapshot.timeline->rows_height <= 0) return look.Pitch();
  const float lanes = room - look.Px(100);  // the ruler above, the legend below
  return std::clamp(std::floor(lanes / snapshot.timeline->rows_height), look.Pitch(),
                    std::round(look.Pitch() * 1.7f));
}

void TellSize(const Snapshot& snapshot, Intents& intents) {
  const Look& look = TheLook();
  const session::State& state = *snapshot.state;
  const Panel panel = state.view.panel;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  session::PanelSize size;
  size.width = static_cast<int>(room.x);
  size.height = static_cast<int>(room.y);
  size.line = look.Pitch();
  if (panel == Panel::kPipeline) size.line = look.SmallPitch();
  if (panel == Panel::kTimeline) size.line = LanePitch(snapshot, room.y);
  // Digits: labels mostly consist of them.
  size.character = WidthOf(*look.fonts.small, "0123456789") / 10;
  if (size != state.sizes[session::At(panel)])
    intents.Add(session::intent::SetPanelSize{panel, size});
}

}  // namespace

void DrawNothing(std::string_view heading, std::string_view what_to_do) {
  const Look& look = TheLook();
  StartAt(0.32f);
  CenteredLine(look.fonts.title, heading, look.colors.muted);
  if (!what_to_do.empty()) CenteredParagraph(what_to_do, look.colors.muted);
}

void DrawPanel(const Snapshot& snapshot, Intents& intents) {
  const session::State& state = *snapshot.state;
  const Panel panel = state.view.panel;
  TellSize(snapshot, intents);
  const session::OpenRun* run = state.Active();
  // Writing a spec and recording a run need no trace.
  if (panel == Panel::kRecord) return DrawRecord(snapshot, intents);
  if (run == nullptr) return DrawWelcome(snapshot, intents);
  if (run->stage == session::OpenStage::kFailed || run->run == nullptr) {
    return DrawOpening(state, *run, intents);
  }
  switch (panel) {
    case Panel::kOverview:
      return DrawOverview(snapshot, intents);
    case Panel::kTimeline:
      return DrawTimeline(snapshot, intents);
    case Panel::kPipeline:
      return DrawPipeline(snapshot, intents);
    case Panel::kStalls:
      return DrawStalls(snapshot, intents);
    case Panel::kSteps:
      return DrawSteps(snapshot, intents);
    case Panel::kFindings:
      return DrawFindings(snapshot, intents);
    case Panel::kSweep:
      return DrawSweep(snapshot, intents);
    case Panel::kCompare:
      return DrawCompare(snapshot, intents);
    case Panel::kRecord:
      return;
    case Panel::kSpans:
      return DrawSpans(snapshot, intents);
    case Panel::kRun:
      return DrawRun(snapshot, intents);
  }
}

}  // namespace stallscope::views
