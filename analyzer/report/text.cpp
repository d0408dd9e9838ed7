#include "analyzer/report/text.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/base/escape.h"
#include "analyzer/base/lines.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using attribution::Category;

constexpr size_t kMostRows = 12;  // of a table that counts the rest
constexpr size_t kMargin = 2;

// Wrapped lines: the first is moved `begin` columns to the right, the others `indent`.
std::string Lines(std::string_view text, size_t begin, size_t indent) {
  std::string lines;
  const std::string first(begin, ' ');
  for (const std::string& line : words::Wrapped(text, kTextWidth - begin, indent - begin)) {
    lines += first + line;
    lines.erase(lines.find_last_not_of(' ') + 1);
    lines += '\n';
  }
  return lines;
}

// Lines as they are, for copying: no control character, but any width.
std::string Verbatim(std::string_view text, size_t begin) {
  std::string lines;
  for (const std::string_view line : SplitLines(text)) {
    lines += std::string(begin, ' ') + Printable(line) + "\n";
  }
  return lines;
}

// Its title before its one line, or above several.
std::string CodeLines(const Code& code, size_t begin) {
  const std::string title = Printable(code.title);
  if (code.text.find('\n') == std::string::npos) {
    return std::string(begin, ' ') + title + " " + Printable(code.text) + "\n";
  }
  return std::string(begin, ' ') + title + "\n" + Verbatim(code.text, begin + kMargin);
}

// All lines, the title beside the first: half a call helps nobody.
std::string SnippetLines(const Code& code, size_t begin) {
  constexpr size_t kTitle = 8;
  std::string lines = Verbatim(code.text, begin + kTitle + 1);
  if (lines.empty()) return lines;
  return std::string(begin, ' ') + fmt::format("{:<{}} ", code.title, kTitle) +
         lines.substr(begin + kTitle + 1);
}

// Whole lines in one tone.
std::string Painted(const std::string& lines, Tone tone, bool colors) {
  if (lines.empty()) return lines;
  return Paint(lines.substr(0, lines.size() - 1), tone, colors) + "\n";
}

// Draws one block after the other.
class TextWriter {
 public:
  explicit TextWriter(bool colors) : colors_(colors) {}

  std::string Write(const Document& document) {
    WriteHead(document.head);
    for (const Block& block : document.blocks) {
      if ((block.in & kInText) == 0) continue;
      std::visit([this](const auto& what) { Draw(what); }, block.what);
    }
    return std::move(text_);
  }

 private:
  enum class Last { kHeading, kProse, kTable };

  void WriteHead(const Head& head) {
    if (!head.trust.empty()) {
      text_ +=
          Painted(Lines(head.trust, 0, kMargin), head.complete ? Tone::kGood : Tone::kBad, colors_);
      for (const std::string& warning : head.warnings) text_ += Lines("warning: " + warning, 2, 4);
      text_ += "\n";
    }
    text_ += Painted(Lines(head.title, 0, kMargin), head.tone, colors_);
    for (const std::string& note : head.notes) text_ += Lines(note, 2, 4);
    if (!head.path.empty()) WriteRun(head);
    Rows rows;
    for (const Fact& fact : head.facts) rows.push_back({fact.name, fact.figure, fact.detail});
    if (!rows.empty()) text_ += "\n" + AlignedTable(rows, {});
  }

  // A path that does not fit on the first line gets its own, so that it can be copied.
  void WriteRun(const Head& head) {
    const std::string name = head.name.empty() ? "" : head.name + ", ";
    const std::string begin = Printable(name + head.path + ": ");
    if (words::TextWidth(begin) + kMargin <= kTextWidth) {
      text_ += Lines(begin + Printable(head.what), 2, 4);
    } else {
      text_ += "  " + Printable(head.path) + "\n" + Lines(name + head.what, 2, 4);
    }
  }

  // Tables stand apart from what comes before and after them.
  void Begin(Last kind) {
    if (last_ != Last::kHeading && (kind == Last::kTable || last_ == Last::kTable)) text_ += "\n";
    last_ = kind;
  }

  void Draw(const Heading& heading) {
    text_ += "\n" + Paint(heading.text, Tone::kStrong, colors_) + "\n";
    last_ = Last::kHeading;
  }
  void Draw(const Paragraph& paragraph) {
    Begin(Last::kProse);
    text_ += Painted(Lines(paragraph.text, 2, 4), paragraph.tone, colors_);
  }
  void Draw(const List& list) {
    Begin(Last::kProse);
    const bool cut = !list.more.empty() && list.items.size() > kMostRows;
    for (size_t i = 0; i < (cut ? kMostRows : list.items.size()); ++i) {
      const List::Item& item = list.items[i];
      const std::string text = (item.tag.empty() ? "" : item.tag + ": ") + item.text;
      text_ += Painted(item.whole ? Verbatim(text, kMargin) : Lines(text, kMargin, 4), item.tone,
                       colors_);
    }
    if (cut) text_ += "  " + AndMore(list.items.size(), kMostRows, list.more) + "\n";
  }
  void Draw(const Table& table) {
    Begin(Last::kTable);
    const bool cut = !table.more.empty() && table.rows.size() > kMostRows;
    Rows rows(1 + (cut ? kMostRows : table.rows.size()));
    std::vector<size_t> right;
    for (size_t k = 0; k < table.columns.size(); ++k) {
      if ((table.columns[k].in & kInText) == 0) continue;
      if (table.columns[k].number) right.push_back(rows[0].size());
      rows[0].push_back(table.columns[k].title);
      for (size_t i = 1; i < rows.size(); ++i) rows[i].push_back(table.rows[i - 1][k]);
    }
    text_ += AlignedTable(rows, right);
    if (cut) text_ += "  " + AndMore(table.rows.size(), kMostRows, table.more) + "\n";
  }
  void Draw(const Code& code) {
    Begin(Last::kProse);
    text_ += CodeLines(code, kMargin);
  }
  void Draw(const FindingCards& findings) {
    for (const FindingCard& card : findings.cards) {
      if (card.number > 1) text_ += "\n";
      DrawCard(card);
    }
    last_ = Last::kTable;
  }
  void DrawCard(const FindingCard& card) {
    const bool grave = card.severity >= findings::Severity::kMedium;
    const std::string place = card.place.empty() ? "" : ", " + card.place;
    const std::string where = card.where.empty() ? "" : ", at " + card.where;
    text_ += Painted(Lines(fmt::format("{}. {}: {}{}{}", card.number,
                                       findings::WordFor(card.severity), card.id, place, where),
                           2, 5),
                     grave ? Tone::kBad : Tone::kStrong, colors_);
    text_ += Lines(card.text, 5, 5);
    for (const std::string& evidence : card.evidence) text_ += Lines("- " + evidence, 5, 7);
    if (!card.advice.has_value()) return;
    const FindingCard::Advice& advice = *card.advice;
    text_ += Painted(Lines("=> " + advice.text, 5, 8), Tone::kGood, colors_);
    if (!advice.gain.empty()) {
      text_ += Lines((advice.priced ? "gain " : "gain unknown: ") + advice.gain, 8, 10);
    }
    if (!advice.memory.empty()) text_ += Lines("memory: " + advice.memory, 8, 10);
    if (advice.patch.has_value()) text_ += CodeLines(*advice.patch, 8);
    for (const std::string& text : advice.by_hand) text_ += Lines(text, 8, 10);
    // A diff replaces the snippet, and starts at the margin: a copy of it must apply.
    if (advice.diff.has_value()) {
      text_ += CodeLines({"to apply:", "", advice.apply}, 8);
      text_ += "\n" + PrintableLines(advice.diff->text) + "\n";
    } else {
      for (const Code& code : advice.code) text_ += SnippetLines(code, 5);
    }
  }

  // The bar in glyphs, and one row per category.
  void Draw(const BreakdownFigure& figure) {
    constexpr size_t kBar = 76;
    Begin(Last::kTable);
    std::string bar;
    double sum = 0;
    size_t drawn = 0;
    Rows rows{{"", "category", "time", "share", "95% interval"}};
    for (const Category category : attribution::kReportOrder) {
      const auto& total = figure.totals[attribution::At(category)];
      if (!total.has_value()) continue;
      sum += std::clamp(total->fraction, 0.0, 1.0);
      const auto until = std::min(kBar, static_cast<size_t>(sum * kBar + 0.5));
      const Look& look = LookOf(category);
      const std::string piece(until - std::min(drawn, until), look.glyph);
      drawn = std::max(drawn, until);
      if (colors_ && !piece.empty()) {
        bar += fmt::format("\x1b[30;48;5;{}m{}\x1b[0m", look.terminal, piece);
      } else {
        bar += piece;
      }
      rows.push_back({std::string(1, look.glyph), CategoryWord(category, figure.emulated),
                      words::Duration(total->ns), words::Percent(total->fraction),
                      IntervalPhrase(*total)});
    }
    text_ += "  " + bar + "\n" + AlignedTable(rows, {2, 3, 4});
  }
  // No pictures on a terminal.
  void Draw(const LanesFigure&) {}
  void Draw(const StepTimesFigure&) {}
  void Draw(const StageGraphFigure&) {}
  void Draw(const SweepFigure&) {}

  bool colors_;
  std::string text_;
  Last last_ = Last::kTable;
};

}  // namespace

std::string WriteText(const Document& document, const TextOptions& options) {
  return TextWriter(options.colors).Write(document);
}

std::string Paint(std::string_view text, Tone tone, bool colors) {
  if (!colors || tone == Tone::kPlain) return std::string(text);
  const char* code = tone == Tone::kStrong ? "1"
                     : tone == Tone::kGood ? "34"
                     : tone == Tone::kBad  ? "1;33"
                                           : "2";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

namespace {

constexpr size_t kApart = 2;      // columns of a table
constexpr size_t kMostLines = 8;  // of one cell
// A longer name or text continues on the next line before any column is omitted.
constexpr size_t kNameRoom = 26;
constexpr size_t kTextRoom = 12;

bool Holds(const std::vector<size_t>& list, size_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

size_t LongestWord(const std::string& text) {
  size_t longest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    longest = std::max(longest, words::TextWidth(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return longest;
}

size_t LongestWordIn(const Rows& cells, size_t column) {
  size_t longest = 0;
  for (const auto& row : cells) {
    if (column < row.size()) longest = std::max(longest, LongestWord(row[column]));
  }
  return longest;
}

// Below this width a column is omitted instead. Figures stay whole; their titles may take several
// lines.
size_t LeastWidth(const Rows& cells, size_t column, bool number) {
  size_t least = 0;
  for (size_t k = 0; k < cells.size(); ++k) {
    if (column >= cells[k].size()) continue;
    const std::string& cell = cells[k][column];
    least = std::max(least, number && k == 0 ? LongestWord(cell) : words::TextWidth(cell));
  }
  return number ? least : std::min(least, column == 0 ? kNameRoom : kTextRoom);
}

struct TableLayout {
  std::vector<size_t> widths;  // of every column
  std::vector<size_t> shown;   // columns
  std::vector<size_t> left_out;
};

// How narrow a column may become.
struct Floors {
  std::vector<size_t> of_words;  // before a name is broken within a word
  std::vector<size_t> least;     // before a column is omitted
};

size_t TotalOf(const TableLayout& layout) {
  size_t total = kApart * layout.shown.size();
  for (const size_t column : layout.shown) total += layout.widths[column];
  return total;
}

// Omits columns until the others fit at their least width.
void LeaveOut(const std::vector<size_t>& least, const std::vector<size_t>& right, size_t width,
              TableLayout& layout) {
  const auto needed = [&] {
    size_t total = kApart * layout.shown.size();
    for (const size_t column : layout.shown) total += least[column];
    return total;
  };
  while (layout.shown.size() > 2 && needed() > width) {
    auto victim = std::find_if(layout.shown.rbegin(), layout.shown.rend(),
                               [&](size_t column) { return column != 0 && !Holds(right, column); });
    if (victim == layout.shown.rend()) victim = layout.shown.rbegin();
    layout.left_out.push_back(*victim);
    layout.shown.erase(std::next(victim).base());
  }
  std::sort(layout.left_out.begin(), layout.left_out.end());
}

// Takes any excess width from the widest column: from text between its words first, from the first
// column before words break in another, and then from any.
void Narrow(const Floors& floors, size_t width, TableLayout& layout) {
  constexpr size_t kNarrowest = 4;
  const auto take_from_widest = [&](auto&& floor_of) {
    size_t* widest = nullptr;
    for (const size_t column : layout.shown) {
      size_t& candidate = layout.widths[column];
      if (candidate > floor_of(column) && (widest == nullptr || candidate > *widest)) {
        widest = &candidate;
      }
    }
    if (widest != nullptr) --*widest;
    return widest != nullptr;
  };
  for (size_t total = TotalOf(layout); total > width; --total) {
    const bool taken =
        take_from_widest([&](size_t k) { return k == 0 ? width : floors.of_words[k]; }) ||
        take_from_widest([&](size_t k) { return k == 0 ? floors.least[k] : width; }) ||
        take_from_widest([&](size_t k) { return floors.least[k]; }) ||
        take_from_widest([&](size_t) { return kNarrowest; });
    if (!taken) return;
  }
}

TableLayout LayoutOf(const Rows& cells, const std::vector<size_t>& right, size_t width) {
  TableLayout layout;
  for (const auto& row : cells) {
    layout.widths.resize(std::max(layout.widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      layout.widths[i] = std::max(layout.widths[i], words::TextWidth(row[i]));
    }
  }
  Floors floors;
  for (size_t i = 0; i < layout.widths.size(); ++i) {
    layout.shown.push_back(i);
    const size_t least = LeastWidth(cells, i, Holds(right, i));
    floors.least.push_back(least);
    floors.of_words.push_back(std::max(least, std::min(LongestWordIn(cells, i), kNameRoom)));
  }
  LeaveOut(floors.least, right, width, layout);
  Narrow(floors, width, layout);
  return layout;
}

// The lines of a cell: one for a figure, and up to kMostLines for text.
std::vector<std::string> CellLines(const std::string& cell, size_t width, bool figure) {
  if (figure || words::TextWidth(cell) <= width) return {words::CutTo(cell, width)};
  std::vector<std::string> lines = words::Wrapped(cell, width);
  if (lines.size() > kMostLines) {
    lines.resize(kMostLines);
    lines.back() = words::CutTo(lines.back() + std::string(width, '.'), width);
  }
  return lines;
}

std::string RowText(const std::vector<std::string>& row, bool header,
                    const std::vector<size_t>& right, const TableLayout& layout) {
  Rows columns;
  size_t height = 1;
  for (const size_t i : layout.shown) {
    columns.push_back(
        CellLines(i < row.size() ? row[i] : "", layout.widths[i], !header && Holds(right, i)));
    height = std::max(height, columns.back().size());
  }
  std::string text;
  for (size_t k = 0; k < height; ++k) {
    std::string line;
    for (size_t c = 0; c < columns.size(); ++c) {
      const std::string cell = k < columns[c].size() ? columns[c][k] : "";
      const size_t width = layout.widths[layout.shown[c]];
      const std::string pad(width - std::min(width, words::TextWidth(cell)), ' ');
      const bool to_right = Holds(right, layout.shown[c]);
      line += std::string(kApart, ' ') + (to_right ? pad + cell : cell + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string AlignedTable(const std::vector<std::vector<std::string>>& rows,
                         const std::vector<size_t>& right, size_t width) {
  Rows cells = rows;
  for (auto& row : cells) {
    for (std::string& cell : row) cell = Printable(cell);
  }
  const TableLayout layout = LayoutOf(cells, right, width);
  std::string text;
  for (size_t k = 0; k < cells.size(); ++k) text += RowText(cells[k], k == 0, right, layout);
  std::string names;
  for (const size_t column : layout.left_out) {
    if (column < cells.front().size() && !cells.front()[column].empty()) {
      names += (names.empty() ? "" : ", ") + cells.front()[column];
    }
  }
  if (names.empty()) return text;
  for (const std::string& line :
       words::Wrapped("(columns omitted: " + names + ")", width - kApart, kApart)) {
    text += std::string(kApart, ' ') + line + "\n";
  }
  return text;
}

}  // namespace stallscope::report
