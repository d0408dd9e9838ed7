#include "gui/views/menus.h"

#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/viewmodel/commands.h"
#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using viewmodel::Command;
using viewmodel::Menu;

void DrawCommand(const Command& command, const session::State& state, session::Intents& intents) {
  const bool enabled = command.enabled == nullptr || command.enabled(state);
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
  if (!ImGui::BeginMenu("Open a sample", !state.samples.empty())) return;
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

// The open runs, and which of them is shown, at the right end of the bar.
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

}  // namespace

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

}  // namespace stallscope::views
