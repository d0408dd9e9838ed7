// Millions of intervals as a table: filtered and sorted by a worker, formatted only where visible.
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "gui/views/look.h"
#include "gui/views/panels.h"
#include "gui/views/plots.h"
#include "gui/views/table_view.h"
#include "gui/views/text.h"
#include "gui/views/widgets.h"

namespace stallscope::views {
namespace {

namespace intent = session::intent;
using session::SpanColumn;
using viewmodel::SpansModel;

// Shares of the table's width; numbers are right-aligned.
struct ColumnLook {
  float share;
  bool number;
};
constexpr std::array<ColumnLook, session::kSpanColumns> kColumns = {{{0.14f, true},
                                                                     {0.12f, true},
                                                                     {0.21f, false},
                                                                     {0.08f, false},
                                                                     {0.2f, false},
                                                                     {0.09f, false},
                                                                     {0.07f, true},
                                                                     {0.09f, true}}};

void DrawFilter(const SpansModel& model, const session::State& state, Intents& intents) {
  const Look& look = TheLook();
  session::SpanQuery query = state.spans.query;
  ImGui::SetNextItemWidth(std::min(look.Px(520), ImGui::GetContentRegionAvail().x * 0.5f));
  if (ImGui::InputTextWithHint("##filter", "Filter: decode duration>2ms kind=wait",
                               &query.filter) &&
      query.filter != state.spans.query.filter) {
    intents.Add(intent::QuerySpans{query});
  }
  ImGui::SameLine();
  CopyButton(
      "copy spans",
      [&] {
        const bool some = state.spans.last > state.spans.first;
        return viewmodel::SpanRows(state, some ? state.spans.first : 0,
                                   some ? state.spans.last : model.rows);
      },
      intents);
  ImGui::SameLine();
  if (ImGui::Button("Export CSV")) intents.Add(intent::ExportSpans{""});
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  Line(model.problem.empty() ? (model.busy ? "searching" : model.count) : model.problem,
       model.problem.empty() ? look.colors.muted : look.colors.bad);
}

void DrawHead(const SpansModel& model, const session::State& state, ImVec2 at, float width,
              float line, Intents& intents) {
  const Look& look = TheLook();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImFont& small = *look.fonts.small;
  float x = at.x;
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const float wide = width * kColumns[i].share;
    const auto column = static_cast<SpanColumn>(i);
    ImGui::SetCursorScreenPos({x, at.y});
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::InvisibleButton("head", {wide, line})) {
      session::SpanQuery query = state.spans.query;
      query.descending = query.sort == column && !query.descending;
      query.sort = column;
      intents.Add(intent::QuerySpans{query});
    }
    const bool sorted = model.sort == column;
    const ImU32 color = sorted || ImGui::IsItemHovered() ? look.colors.text : look.colors.muted;
    ImGui::PopID();
    const float mark = look.Px(12);
    const std::string shown =
        Cut(small, model.columns[i], wide - look.Px(12) - (sorted ? mark : 0));
    const float text = WidthOf(small, shown) + (sorted ? mark : 0);
    const float left = kColumns[i].number ? x + wide - look.Px(8) - text : x + look.Px(6);
    Put(list, small, {left, at.y + (line - small.FontSize) / 2}, color, shown);
    if (sorted) {
      const ImVec2 tip(left + text - look.Px(4), at.y + line / 2);
      const float up = model.descending ? 1.0f : -1.0f;
      list.AddTriangleFilled({tip.x - look.Px(4), tip.y - up * look.Px(2.5f)},
                             {tip.x + look.Px(4), tip.y - up * look.Px(2.5f)},
                             {tip.x, tip.y + up * look.Px(3.5f)}, color);
    }
    x += wide;
  }
  list.AddLine({at.x, at.y + line}, {at.x + width, at.y + line}, look.colors.border);
}

void ClickRow(const viewmodel::SpanRowText& text, size_t row, const session::State& state,
              Intents& intents) {
  if (ImGui::GetIO().KeyShift && state.spans.last > state.spans.first) {
    intents.Add(intent::SelectSpanRows{std::min(state.spans.first, row),
                                       std::max(state.spans.last, row + 1)});
    return;
  }
  intents.Add(intent::SelectSpanRows{row, row + 1});
  session::Selection selected = state.view.selected;
  selected.interval = text.ref;
  selected.step_row.reset();
  intents.Add(intent::Select{selected, true});
}

void DrawRow(const session::State& state, size_t row, ImVec2 at, float width, float line,
             Intents& intents) {
  const Look& look = TheLook();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const viewmodel::SpanRowText text = viewmodel::SpanRowAt(state, row);
  const ImVec2 to(at.x + width, at.y + line);
  ImGui::SetCursorScreenPos(at);
  ImGui::PushID(static_cast<int>(row % 1'000'000));
  const bool clicked = ImGui::InvisibleButton("row", {width, line});
  const bool marked = row >= state.spans.first && row < state.spans.last;
  if (text.selected || marked) {
    list.AddRectFilled(at, to, WithAlpha(look.colors.accent, text.selected ? 0.28f : 0.18f));
  } else if (ImGui::IsItemHovered()) {
    list.AddRectFilled(at, to, look.colors.raised);
  } else if (row % 2 == 1) {
    list.AddRectFilled(at, to, WithAlpha(look.colors.grid, 0.35f));
  }
  if (clicked) ClickRow(text, row, state, intents);
  if (ImGui::IsItemHovered() && ImGui::IsMouseDoubleClicked(0)) {
    intents.Add(intent::ShowPanel{session::Panel::kTimeline});
    intents.Add(intent::FitSelection{});
  }
  ImGui::PopID();
  float x = at.x;
  const float top = at.y + (line - look.fonts.body->FontSize) / 2;
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const float wide = width * kColumns[i].share;
    const std::string shown = Cut(*look.fonts.body, text.cells[i], wide - look.Px(12));
    if (kColumns[i].number) {
      PutRight(list, *look.fonts.body, {x + wide - look.Px(8), top}, look.colors.text, shown);
    } else {
      Put(list, *look.fonts.body, {x + look.Px(6), top}, look.colors.text, shown);
    }
    x += wide;
  }
}

// Dear ImGui scrolls in float pixels, which lose rows past a few million: the first row is kept as
// an integer, and the scroll bar is drawn here.
void DrawScrollBar(const SpansModel& model, size_t visible, ImVec2 from, ImVec2 to) {
  Look& look = TheLook();
  if (model.rows <= visible) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float high = to.y - from.y;
  const auto most = static_cast<double>(model.rows - visible);
  const float grab =
      std::max(look.Px(24), high * static_cast<float>(visible) / static_cast<float>(model.rows));
  ImGui::SetCursorScreenPos(from);
  ImGui::InvisibleButton("scroll", {to.x - from.x, high});
  if (ImGui::IsItemActive()) {
    const double part = std::clamp(
        static_cast<double>(ImGui::GetIO().MousePos.y - from.y - grab / 2) / (high - grab), 0.0,
        1.0);
    look.memory.span_first_row = static_cast<size_t>(std::llround(part * most));
  }
  const float top =
      from.y +
      static_cast<float>(static_cast<double>(look.memory.span_first_row) / most) * (high - grab);
  list.AddRectFilled(
      {from.x + look.Px(2), top}, {to.x - look.Px(2), top + grab},
      ImGui::IsItemHovered() || ImGui::IsItemActive() ? look.colors.faint : look.colors.border,
      look.Px(4));
}

void DrawRows(const SpansModel& model, const session::State& state, Intents& intents) {
  Look& look = TheLook();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float line = look.Pitch();
  const float bar = look.Px(14);
  const float width = room.x - bar;
  DrawHead(model, state, at, width, line, intents);
  const ImVec2 from(at.x, at.y + line + 1);
  const auto visible = static_cast<size_t>(std::max(1.0f, (at.y + room.y - from.y) / line));
  size_t& first = look.memory.span_first_row;
  const bool hovered = Hovers(at, {at.x + room.x, at.y + room.y});
  const size_t last_first = model.rows > visible ? model.rows - visible : 0;
  if (hovered && ImGui::GetIO().MouseWheel != 0) {
    const double wanted = static_cast<double>(first) - 3.0 * ImGui::GetIO().MouseWheel;
    first = static_cast<size_t>(std::max(0.0, wanted));
  }
  first = std::min(first, last_first);
  for (size_t i = 0; i < visible && first + i < model.rows; ++i) {
    DrawRow(state, first + i, {from.x, from.y + line * static_cast<float>(i)}, width, line,
            intents);
  }
  DrawScrollBar(model, visible, {at.x + width, from.y}, {at.x + room.x, at.y + room.y});
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy(room);
}

}  // namespace

void DrawSpans(const Snapshot& snapshot, Intents& intents) {
  if (!snapshot.spans) return DrawNothing("Not loaded yet", "The run is still being read.");
  const SpansModel& model = *snapshot.spans;
  if (!model.nothing.empty()) return DrawNothing("No spans", model.nothing);
  const Look& look = TheLook();
  const session::State& state = *snapshot.state;
  DrawFilter(model, state, intents);
  const float below = look.Px(170);
  {
    const Card card("rows card", {0, ImGui::GetContentRegionAvail().y - below});
    DrawRows(model, state, intents);
  }
  const float width = std::floor(ImGui::GetContentRegionAvail().x * 0.34f);
  {
    const Card card("statistics", {width, 0},
                    state.spans.last > state.spans.first ? "Selected rows" : "All listed rows",
                    true);
    for (const std::string& line : model.statistics) Line(line, look.colors.text);
  }
  ImGui::SameLine();
  const Card card("durations", {0, 0}, "Durations");
  DrawHistogram("durations histogram", model.histogram, ImGui::GetContentRegionAvail(), "", "");
}

}  // namespace stallscope::views
