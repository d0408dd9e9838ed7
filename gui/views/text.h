// Text that fits: cut with an ellipsis if too long, with the full text as its tooltip. Only on the
// context's thread.
#pragma once

#include <imgui.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace stallscope::views {

class InFont {
 public:
  explicit InFont(ImFont* font) { ImGui::PushFont(font); }
  ~InFont() { ImGui::PopFont(); }
  InFont(const InFont&) = delete;
  InFont& operator=(const InFont&) = delete;
};

class InColor {
 public:
  explicit InColor(ImU32 text) { ImGui::PushStyleColor(ImGuiCol_Text, text); }
  ~InColor() { ImGui::PopStyleColor(); }
  InColor(const InColor&) = delete;
  InColor& operator=(const InColor&) = delete;
};

// At most this many bytes of a text, with an ellipsis: a name in a trace may have 64 KiB and a spec
// a megabyte, but a draw list holds 65,536 vertices, four per letter.
std::string Beginning(std::string_view text, size_t most_bytes);

float WidthOf(const ImFont& font, std::string_view text);
// As much as fits into `width`, with an ellipsis if cut; never splits a character. Empty if nothing
// fits.
std::string Cut(const ImFont& font, std::string_view text, float width);

// A name: cut in the middle, because names of a kind begin alike and often differ at the end.
std::string CutName(const ImFont& font, std::string_view name, float width);

// `text` if it fits, else `brief` if that fits; without a brief form as much of `text` as still
// means something; else nothing.
std::string Fitting(const ImFont& font, std::string_view text, std::string_view brief, float width);

// In lines that end at spaces and fit; a wider word is a line of its own. Dear ImGui alone also
// breaks behind a point, as in "81.7%" or a file's name.
std::string InLines(const ImFont& font, std::string_view text, float width);

// The width of the widest item; `name` gives its text.
template <class Items, class Name = std::identity>
float WidestOf(const ImFont& font, const Items& items, Name name = {}) {
  float widest = 0;
  for (const auto& item : items) widest = std::max(widest, WidthOf(font, std::invoke(name, item)));
  return widest;
}

// Into a draw list, in whole pixels.
void Put(ImDrawList& list, const ImFont& font, ImVec2 at, ImU32 color, std::string_view text);
void PutRight(ImDrawList& list, const ImFont& font, ImVec2 right_top, ImU32 color,
              std::string_view text);
// Cut to `width`.
void PutCut(ImDrawList& list, const ImFont& font, ImVec2 at, float width, ImU32 color,
            std::string_view text);

// A name cut to `width`, with `middle_top` at the middle of its upper edge.
void PutCentered(ImDrawList& list, const ImFont& font, ImVec2 middle_top, float width, ImU32 color,
                 std::string_view name);

// A line as an item: cut to the available width, or to `width` if above 0.
void Line(std::string_view text, ImU32 color, float width = 0);
void Line(std::string_view text);
// As many lines as needed; of a very long text only the start.
void Paragraph(std::string_view text, ImU32 color);
// The same, in the current font, color and wrap position.
void Wrapped(std::string_view text);
// The height of a paragraph.
float ParagraphHeight(std::string_view text, float width);
// The heading of a section.
void Heading(std::string_view text);

// Whether the pointer is inside, and no other window covers it.
bool Hovers(ImVec2 from, ImVec2 to);
// A tooltip for the previous item.
void Tip(std::string_view text);
// A tooltip at the pointer, now. The first line stands out.
void ShowTooltip(const std::vector<std::string>& lines);

}  // namespace stallscope::views
