// Every key, from the table of commands, and what the mouse does.
#include <imgui.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gui/viewmodel/commands.h"
#include "gui/views/look.h"
#include "gui/views/overlays.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using viewmodel::Command;

struct Row {
  std::string key;
  std::string what;
};

std::vector<Row> RowsOf(viewmodel::Menu menu) {
  std::vector<Row> rows;
  for (const Command& command : viewmodel::AllCommands()) {
    if (command.menu != menu) continue;
    std::string key = viewmodel::NameOf(command.chord);
    const std::string other = viewmodel::NameOf(command.other_chord);
    if (!other.empty()) key += " or " + other;
    if (!key.empty()) rows.push_back({key, std::string(command.name)});
  }
  return rows;
}

void DrawRows(const std::string& title, const std::vector<Row>& rows, float width) {
  const Look& look = TheLook();
  if (rows.empty()) return;
  const InFont small(look.fonts.small);
  {
    const InFont bold(look.fonts.bold);
    Line(title, look.colors.text, width);
  }
  const float keys = std::floor(width * 0.4f);
  for (const Row& row : rows) {
    const float x = ImGui::GetCursorPosX();
    Line(row.key, look.colors.accent, keys - look.Px(8));
    ImGui::SameLine();
    ImGui::SetCursorPosX(x + keys);
    Line(row.what, look.colors.text, width - keys);
  }
  ImGui::Dummy({0, look.Px(6)});
}

}  // namespace

void DrawHelp(const viewmodel::Snapshot&, session::Intents& intents) {
  const Look& look = TheLook();
  const std::vector<Row> mouse = {{"wheel", "zoom at the pointer"},
                                  {"Shift+wheel", "move along"},
                                  {"drag", "move the timeline"},
                                  {"Shift+drag", "mark a range and measure it"},
                                  {"drag on the times", "the same"},
                                  {"click", "select; with a stall, why it was"},
                                  {"double click", "fit what is selected"},
                                  {"right click a table", "copy it"}};
  if (BeginBox("help", 1060, 860, 0.05f, intents)) {
    {
      const InFont title(look.fonts.title);
      Line("Keys and mouse");
    }
    constexpr int kColumns = 3;
    const float gap = look.Px(24);
    const float width =
        std::floor((ImGui::GetContentRegionAvail().x - gap * (kColumns - 1)) / kColumns);
    using viewmodel::Menu;
    const std::array<std::vector<Menu>, kColumns> menus = {
        {{Menu::kView, Menu::kGo},
         {Menu::kFile, Menu::kPanel},
         {Menu::kSelection, Menu::kTools, Menu::kHelp}}};
    for (size_t column = 0; column < menus.size(); ++column) {
      if (column > 0) ImGui::SameLine(0, gap);
      ImGui::BeginGroup();
      for (const Menu menu : menus[column]) {
        DrawRows(std::string(viewmodel::TitleOf(menu)), RowsOf(menu), width);
      }
      if (column == 2) DrawRows("On the timeline", mouse, width);
      ImGui::EndGroup();
    }
    Line("Esc: back. Ctrl+Shift+P: every command, also those without a key.", look.colors.muted);
  }
  EndBox();
}

}  // namespace stallscope::views
