#include "gui/views/table_view.h"

#include <imgui.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "gui/views/look.h"
#include "gui/views/text.h"

namespace stallscope::views {
namespace {

using viewmodel::Table;
using viewmodel::TableCell;
using viewmodel::TableForm;

void OfferCopies(const std::function<Table()>& table, session::Intents& intents) {
  constexpr std::array<std::pair<const char*, TableForm>, 3> kForms = {
      {{"Copy as CSV", TableForm::kCsv},
       {"Copy as TSV", TableForm::kTsv},
       {"Copy as Markdown", TableForm::kMarkdown}}};
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape), false)) ImGui::CloseCurrentPopup();
  for (const auto& [name, form] : kForms) {
    if (ImGui::MenuItem(name)) {
      intents.Add(session::intent::CopyText{viewmodel::TextOf(table(), form)});
    }
  }
}

float RowHeight() { return ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y; }

void DrawCell(const TableCell& cell, bool number, float width) {
  const Look& look = TheLook();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const auto part = static_cast<float>(std::clamp(cell.bar.value_or(0), 0.0, 1.0));
  if (part > 0.005f) {
    ImGui::GetWindowDrawList()->AddRectFilled(
        {at.x - look.Px(3), at.y - look.Px(1)},
        {at.x - look.Px(3) + (width + look.Px(6)) * part, at.y + ImGui::GetFontSize() + look.Px(1)},
        WithAlpha(look.colors.accent, 0.22f), look.Px(2));
  }
  const std::string shown = CutName(*ImGui::GetFont(), cell.text, width);
  if (number) {
    const float left = std::max(0.0f, width - WidthOf(*ImGui::GetFont(), shown));
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + left);
  }
  ImGui::TextUnformatted(shown.c_str());
  if (shown != cell.text) {
    Tip(cell.hint.empty() ? cell.text : cell.text + "\n" + cell.hint);
  } else {
    Tip(cell.hint);
  }
}

void DrawHead(const Table& table, size_t shown_columns) {
  const Look& look = TheLook();
  const InFont small(look.fonts.small);
  ImGui::TableNextRow();
  for (size_t i = 0; i < shown_columns; ++i) {
    ImGui::TableSetColumnIndex(static_cast<int>(i));
    const float width = ImGui::GetContentRegionAvail().x;
    const std::string shown = CutName(*look.fonts.small, table.columns[i].name, width);
    if (table.columns[i].number) {
      ImGui::SetCursorPosX(ImGui::GetCursorPosX() +
                           std::max(0.0f, width - WidthOf(*look.fonts.small, shown)));
    }
    const InColor muted(look.colors.muted);
    ImGui::TextUnformatted(shown.c_str());
    if (shown != table.columns[i].name) Tip(table.columns[i].name);
  }
  if (shown_columns == table.columns.size()) return;
  ImGui::TableSetColumnIndex(static_cast<int>(shown_columns));
  const InColor muted(look.colors.muted);
  ImGui::TextUnformatted("\xE2\x80\xA6");
  std::string hidden;
  for (size_t i = shown_columns; i < table.columns.size(); ++i) {
    hidden += (hidden.empty() ? "no space for " : ", ") + table.columns[i].name;
  }
  Tip(hidden);
}

// The width of each column's widest text among the first rows.
std::vector<float> Widths(const Table& table) {
  const Look& look = TheLook();
  constexpr size_t kLookedAt = 64;
  std::vector<float> widths;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    float widest = WidthOf(*look.fonts.small, table.columns[i].name);
    for (size_t row = 0; row < std::min(kLookedAt, table.rows.size()); ++row) {
      widest = std::max(widest, WidthOf(*ImGui::GetFont(), table.rows[row][i].text));
    }
    widths.push_back(widest + look.Px(4));
  }
  return widths;
}

// Where not all columns fit beside readable text, those at the right are left out, never the first
// one: figures without a name tell nothing.
size_t ShownColumns(const Table& table, float room) {
  const Look& look = TheLook();
  const std::vector<float> widths = Widths(table);
  float taken = look.Px(30);
  for (size_t i = 0; i < widths.size(); ++i) {
    const bool number = table.columns[i].number;
    taken += number ? widths[i] : std::min(widths[i], look.Px(72));
    taken += 2 * ImGui::GetStyle().CellPadding.x;
    if (i > 0 && taken > room) return i;
  }
  return widths.size();
}

// With enough space each column gets what it needs and a little more, and the rest stays empty at
// the right: figures far from their names are hard to read. Otherwise text columns share what
// numbers leave.
void SetUpColumns(const Table& table, size_t shown) {
  const Look& look = TheLook();
  const std::vector<float> widths = Widths(table);
  float needed = 0;
  for (size_t i = 0; i < shown; ++i) needed += widths[i] + 2 * ImGui::GetStyle().CellPadding.x;
  const float slack = ImGui::GetContentRegionAvail().x - needed - look.Px(30);
  const bool roomy = slack > 0;
  const float more = std::min(look.Px(48), slack / static_cast<float>(shown));
  for (size_t i = 0; i < shown; ++i) {
    const bool fixed = roomy || table.columns[i].number;
    ImGui::TableSetupColumn(
        table.columns[i].name.c_str(),
        fixed ? ImGuiTableColumnFlags_WidthFixed : ImGuiTableColumnFlags_WidthStretch,
        roomy ? widths[i] + more : widths[i]);
  }
  // At least Dear ImGui's minimum: anything less would come out of the neighbor.
  const float least = shown < table.columns.size() ? look.Px(14) : ImGui::GetStyle().FramePadding.x;
  ImGui::TableSetupColumn(
      "", roomy ? ImGuiTableColumnFlags_WidthStretch : ImGuiTableColumnFlags_WidthFixed,
      roomy ? 1 : least);
  ImGui::TableSetupScrollFreeze(0, 1);
}

}  // namespace

float TableHeight(const Table& table) {
  return RowHeight() * static_cast<float>(table.rows.size() + 1) + TheLook().Px(4);
}

std::optional<size_t> DrawTable(const char* id, const Table& table, const TableLook& table_look,
                                session::Intents& intents) {
  std::optional<size_t> clicked;
  if (table.columns.empty()) return clicked;
  ImGuiTableFlags flags =
      ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_PadOuterX;
  const bool scrolls = table_look.height > 0;
  if (scrolls) flags |= ImGuiTableFlags_ScrollY;
  const float bar = scrolls ? ImGui::GetStyle().ScrollbarSize : 0;
  const size_t shown = ShownColumns(table, ImGui::GetContentRegionAvail().x - bar);
  if (!ImGui::BeginTable(id, static_cast<int>(shown) + 1, flags,
                         {0, scrolls ? table_look.height : 0})) {
    return clicked;
  }
  SetUpColumns(table, shown);
  DrawHead(table, shown);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(table.rows.size()), RowHeight());
  while (clipper.Step()) {
    for (int at = clipper.DisplayStart; at < clipper.DisplayEnd; ++at) {
      const auto row = static_cast<size_t>(at);
      ImGui::TableNextRow();
      ImGui::PushID(at);
      for (size_t i = 0; i < shown; ++i) {
        ImGui::TableSetColumnIndex(static_cast<int>(i));
        const float width = ImGui::GetContentRegionAvail().x;
        if (i == 0 && table_look.clickable) {
          const float x = ImGui::GetCursorPosX();
          if (ImGui::Selectable(
                  "##row", table_look.chosen == row,
                  ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowItemOverlap)) {
            clicked = row;
          }
          ImGui::SameLine();
          ImGui::SetCursorPosX(x);
        }
        DrawCell(table.rows[row][i], table.columns[i].number, width);
      }
      ImGui::PopID();
    }
  }
  ImGui::EndTable();
  if (ImGui::BeginPopupContextItem(id)) {
    OfferCopies([&] { return table; }, intents);
    ImGui::EndPopup();
  }
  return clicked;
}

void DrawTitledTable(const char* title, const Table& table, bool fills, session::Intents& intents) {
  ImGui::PushID(title);
  Heading(title);
  ImGui::SameLine(ImGui::GetContentRegionAvail().x - TheLook().Px(50));
  CopyButton(
      "copy", [&] { return table; }, intents);
  DrawTable("table", table, {fills ? ImGui::GetContentRegionAvail().y : 0, false, {}}, intents);
  ImGui::PopID();
}

void CopyButton(const char* id, const std::function<Table()>& table, session::Intents& intents) {
  const Look& look = TheLook();
  ImGui::PushID(id);
  {
    const InFont small(look.fonts.small);
    if (ImGui::Button("Copy")) ImGui::OpenPopup("copies");
    Tip("Copy this table as CSV, TSV or Markdown");
  }
  if (ImGui::BeginPopup("copies")) {
    OfferCopies(table, intents);
    ImGui::EndPopup();
  }
  ImGui::PopID();
}

}  // namespace stallscope::views
