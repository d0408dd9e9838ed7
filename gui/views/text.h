// Text that fits: cut with an ellipsis, and whole in a tooltip, where there is no room. The thread
// of the context.
#ifndef STALLSCOPE_GUI_VIEWS_TEXT_H_
#define STALLSCOPE_GUI_VIEWS_TEXT_H_

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

// As much of a text as anyone would read, with an ellipsis: a name in a trace may have 64 KiB and a
// spec a megabyte, and a draw list holds 65,536 corners, four per letter.
std::string Beginning(std::string_view text, size_t most_bytes);

float WidthOf(const ImFont& font, std::string_view text);
// As much of it as fits into `width`, with an ellipsis where that is not all; never a part of a
// character. Empty where not even one fits.
std::string Cut(const ImFont& font, std::string_view text, float width);

// `text` where it fits, else `brief` where that does; else as much of `text` as still says
// something, unless there is something brief; else nothing.
std::string Fitting(const ImFont& font, std::string_view text, std::string_view brief, float width);

// Of the widest one; `name` says what an item is called.
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

// Likewise, `middle_top` in the middle of its upper edge.
void PutCentered(ImDrawList& list, const ImFont& font, ImVec2 middle_top, float width, ImU32 color,
                 std::string_view text);

// A line as an item: cut at the end of the room, or at `width` where that is above 0.
void Line(std::string_view text, ImU32 color, float width = 0);
void Line(std::string_view text);
// As many lines as it needs, of a long text its beginning.
void Paragraph(std::string_view text, ImU32 color);
// The same in the font, the colour and the room that are set.
void Wrapped(std::string_view text);
// How high a paragraph would be.
float ParagraphHeight(std::string_view text, float width);
// A heading of a part of a panel.
void Heading(std::string_view text);

// Whether the pointer is within, and nothing lies over the window there.
bool Hovers(ImVec2 from, ImVec2 to);
// For the item before: shown where the pointer rests on it.
void Tip(std::string_view text);
// At the pointer, now. The first line is the strongest.
void ShowTooltip(const std::vector<std::string>& lines);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_TEXT_H_
