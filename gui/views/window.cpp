#include "gui/views/window.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/words/words.h"
#include "gui/viewmodel/commands.h"
#include "gui/views/keys.h"
#include "gui/views/look.h"
#include "gui/views/overlays.h"
#include "gui/views/panels.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::Panel;
using viewmodel::Command;
using viewmodel::Menu;

// The menu bar, from the table of commands.

void DrawCommand(const Command& command, const session::State& state, session::Intents& intents) {
  const bool enabled = command.enabled(state);
  const std::string name(command.name);
  const std::string key = viewmodel::NameOf(command.chord);
  if (ImGui::MenuItem(name.c_str(), key.empty() ? nullptr : key.c_str(), false, enabled)) {
    command.run(state, intents);
  }
}

void DrawRecent(const session::State& state, session::Intents& intents) {
  if (!ImGui::BeginMenu("Open recent", !state.settings.recent.empty())) return;
  for (const std::string& path : state.settings.recent) {
    if (ImGui::MenuItem(path.c_str())) intents.Add(intent::OpenFile{path, false});
  }
  ImGui::EndMenu();
}

void DrawSamples(const session::State& state, session::Intents& intents) {
  if (!ImGui::BeginMenu("Open sample", !state.samples.empty())) return;
  for (const std::string& path : state.samples) {
    const std::string name = path.substr(path.rfind('/') + 1);
    if (ImGui::MenuItem(name.c_str())) intents.Add(intent::OpenFile{path, false});
  }
  ImGui::EndMenu();
}

void DrawBookmarks(const session::State& state, session::Intents& intents) {
  if (!ImGui::BeginMenu("Bookmarks", !state.bookmarks.empty())) return;
  for (size_t i = 0; i < state.bookmarks.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::MenuItem(state.bookmarks[i].name.c_str())) intents.Add(intent::GoToBookmark{i});
    ImGui::PopID();
  }
  ImGui::EndMenu();
}

// The open runs and which one is active, at the right end of the bar.
void DrawRuns(const session::State& state, session::Intents& intents) {
  const Look& look = TheLook();
  const session::OpenRun* active = state.Active();
  if (active == nullptr) return;
  const std::string title = Cut(*look.fonts.bold, active->title, look.Px(320));
  const bool several = state.runs.size() > 1;
  const float wide = WidthOf(*look.fonts.bold, title) + look.Px(several ? 44 : 24);
  ImGui::SameLine(ImGui::GetWindowWidth() - wide);
  const InFont bold(look.fonts.bold);
  if (!several) {
    ImGui::TextUnformatted(title.c_str());
    Tip(active->path);
    return;
  }
  if (ImGui::BeginMenu((title + "  \xE2\x96\xBE").c_str())) {
    for (const auto& run : state.runs) {
      ImGui::PushID(static_cast<int>(run->number));
      if (ImGui::MenuItem(run->title.c_str(), nullptr, run->number == state.active)) {
        intents.Add(intent::SwitchRun{run->number});
      }
      Tip(run->path);
      ImGui::PopID();
    }
    ImGui::EndMenu();
  }
}

void DrawMenus(const viewmodel::Snapshot& snapshot, session::Intents& intents) {
  const session::State& state = *snapshot.state;
  if (!ImGui::BeginMenuBar()) return;
  for (size_t i = 0; i < viewmodel::kMenus; ++i) {
    const auto menu = static_cast<Menu>(i);
    const std::string title(viewmodel::TitleOf(menu));
    if (!ImGui::BeginMenu(title.c_str())) continue;
    bool first = true;
    for (const Command& command : viewmodel::AllCommands()) {
      if (command.menu != menu) continue;
      DrawCommand(command, state, intents);
      if (menu == Menu::kFile && first) {
        DrawRecent(state, intents);
        DrawSamples(state, intents);
      }
      first = false;
    }
    if (menu == Menu::kGo) DrawBookmarks(state, intents);
    ImGui::EndMenu();
  }
  DrawRuns(state, intents);
  ImGui::EndMenuBar();
}

// The list of panels along the left edge.

// In the order of a user's questions: why, where exactly, what if.
struct Group {
  std::string_view title;
  std::vector<Panel> panels;
};
const std::array<Group, 3>& Groups() {
  static const std::array<Group, 3> kGroups = {
      {{"WHY", {Panel::kOverview, Panel::kFindings, Panel::kStalls}},
       {"LOOK", {Panel::kTimeline, Panel::kPipeline, Panel::kSteps, Panel::kSpans, Panel::kRun}},
       {"TRY", {Panel::kSweep, Panel::kCompare, Panel::kRecord}}}};
  return kGroups;
}

// The badge beside a panel's name; empty for none.
std::string CountOf(Panel panel, const session::State& state) {
  if (panel == Panel::kFindings && state.shown.report && !state.shown.report->findings.empty()) {
    return words::Grouped(state.shown.report->findings.size());
  }
  if (panel == Panel::kRecord && state.record.running) return "\xE2\x97\x8F";
  if (panel == Panel::kSweep && state.sweep.running) return "\xE2\x97\x8F";
  return "";
}

void DrawEntry(Panel panel, const session::State& state, session::Intents& intents) {
  const Look& look = TheLook();
  const float high = std::round(look.Px(32));
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool shown = state.view.panel == panel;
  ImGui::PushID(static_cast<int>(panel));
  if (ImGui::InvisibleButton("entry", {width, high})) {
    intents.Add(session::intent::ShowPanel{panel});
  }
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (shown || hovered) {
    list.AddRectFilled(
        at, {at.x + width, at.y + high},
        shown ? Mixed(look.colors.rail, look.colors.accent, 0.22f) : look.colors.raised);
  }
  if (shown) list.AddRectFilled(at, {at.x + look.Px(3), at.y + high}, look.colors.accent);
  const ImFont& font = shown ? *look.fonts.bold : *look.fonts.body;
  const float top = at.y + (high - font.FontSize) / 2;
  Put(list, font, {at.x + look.Px(16), top}, look.colors.text, session::TitleOf(panel));
  const std::string count = CountOf(panel, state);
  PutRight(list, *look.fonts.small, {at.x + width - look.Px(12), top + look.Px(1)},
           look.colors.muted, count);
}

float RailWidth() { return std::round(TheLook().Px(150)); }

void DrawRail(const viewmodel::Snapshot& snapshot, ImVec2 size, session::Intents& intents) {
  const Look& look = TheLook();
  ImGui::PushStyleColor(ImGuiCol_ChildBg, look.colors.rail);
  ImGui::BeginChild("rail", size);
  ImGui::PopStyleColor();
  for (const Group& group : Groups()) {
    ImGui::Dummy({0, look.Px(10)});
    const ImVec2 at = ImGui::GetCursorScreenPos();
    Put(*ImGui::GetWindowDrawList(), *look.fonts.small, {at.x + look.Px(16), at.y},
        look.colors.faint, group.title);
    ImGui::Dummy({0, look.fonts.small->FontSize + look.Px(4)});
    for (const Panel panel : group.panels) DrawEntry(panel, *snapshot.state, intents);
  }
  ImGui::EndChild();
}

// The status line: trust, the range that limits the panels, running work.

float StatusHeight() { return std::round(TheLook().Px(28)); }

void DrawJob(const session::State& state, session::Intents& intents) {
  if (state.jobs.empty()) return;
  const Look& look = TheLook();
  const session::Job& job = state.jobs.front();
  std::string text = job.title;
  if (!job.detail.empty()) text += ": " + job.detail;
  if (job.done) text += "  " + words::Percent(*job.done);
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
  ImGui::SetCursorScreenPos({left, middle - look.Px(3)});
  Gauge(job.done.value_or(0), look.colors.accent, {bar, look.Px(6)});
  ImGui::SetCursorScreenPos({left + bar + look.Px(10), at.y});
  ImGui::PushID(static_cast<int>(job.number));
  if (job.cancelled) {
    Line("canceling", look.colors.muted);
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
        Line("limited to " + words::Duration(state.view.range->ns()) + " (Esc for the whole run)",
             look.colors.accent, look.Px(300));
      }
    } else {
      Line("Press ? for help, Ctrl+Shift+P for all commands", look.colors.muted);
    }
    DrawJob(state, intents);
  }
  ImGui::EndChild();
  DrawNotices(state, intents);
}

// The renderer clears to the window's color first: a rectangle over everything would take a
// software renderer half of the frame.
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
    // A spec does not belong to the run.
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
