// A report as a reader sees it: a head and a sequence of blocks, built once (describe.h,
// sweep_table.h) and drawn by the writers text.h, markdown.h and html/html.h. Plain values without
// markup: each writer escapes what it draws. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "analyzer/report/report.h"

namespace stallscope::report {

struct SweepTable;

// Emphasis. In color on a terminal and on a page; the words say the same without it.
enum class Tone { kPlain, kStrong, kGood, kBad, kFaint };

// Which forms draw a block or a column. A terminal is narrow and has no pictures; Markdown becomes
// a comment on a pull request and stays short; a page has room for everything.
using Forms = uint8_t;
inline constexpr Forms kInText = 1;
inline constexpr Forms kInMarkdown = 2;
inline constexpr Forms kInHtml = 4;
inline constexpr Forms kInAll = kInText | kInMarkdown | kInHtml;

// Opens a section, which ends at the next heading. A section without content is not drawn.
struct Heading {
  std::string text;
  bool folded = false;  // Markdown hides the section until it is asked for
};

struct Paragraph {
  std::string text;
  Tone tone = Tone::kPlain;
};

struct List {
  struct Item {
    std::string tag;  // "fail"; may be empty
    std::string text;
    Tone tone = Tone::kPlain;
    bool whole = false;  // `text` is for copying: never wrapped, code in Markdown
  };
  std::vector<Item> items;
  std::string more;  // "note", of "and 3 more notes"; empty: all are shown
};

struct Table {
  struct Column {
    std::string title;
    bool number = false;  // right-aligned
    bool name = false;    // from a trace: code in Markdown
    Forms in = kInAll;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::string more;  // as a list's
};

// Meant to be copied: no form wraps or cuts a line of it.
struct Code {
  std::string title;
  std::string language;
  std::string text;
};

struct FindingCard {
  size_t number = 0;
  findings::Severity severity = findings::Severity::kInfo;
  std::string id;
  std::string place;
  std::string where;  // "train.py:41": in the user's own code; may be empty
  std::string text;
  std::vector<std::string> evidence;
  struct Advice {
    std::string text;
    std::string gain;
    bool priced = false;  // `gain` has a figure; otherwise it is the reason why there is none
    std::string memory;
    std::optional<Code> patch;
    std::vector<Code> code;  // one per framework
    std::vector<std::string> by_hand;
    std::optional<Code> diff;  // of the user's own files
    std::string apply;         // the command that writes it
    std::vector<Code>
        suggestions;  // the new lines only, each titled with the place of the old ones
  };
  std::optional<Advice> advice;
};
struct FindingCards {
  std::vector<FindingCard> cards;
};

// How each step's time is shared out: a bar, with its figures.
struct BreakdownFigure {
  attribution::PerCategory<std::optional<attribution::CategoryTotal>> totals;
  bool emulated = false;  // what the device did was set, not measured
};

// "compute", "compute (emulated)".
std::string CategoryWord(attribution::Category category, bool emulated);
// "41.2 to 43.0", in percent; "-" without an interval.
std::string IntervalPhrase(const attribution::CategoryTotal& total);

struct LanesFigure {
  std::vector<timeline::Lane> lanes;
  int64_t ns = 0;  // how long they are
};
struct StepTimesFigure {
  std::vector<double> ms;
};
struct StageGraphFigure {
  std::vector<StageRow> stages;
};
struct SweepFigure {
  enum class Kind { kHeatMaps, kParetoFront, kPredictedAgainstMeasured };
  Kind kind = Kind::kHeatMaps;
  std::shared_ptr<const SweepTable> table;
};

struct Block {
  std::variant<Heading, Paragraph, List, Table, Code, FindingCards, BreakdownFigure, LanesFigure,
               StepTimesFigure, StageGraphFigure, SweepFigure>
      what;
  Forms in = kInAll;
};

// A figure worth a tile of its own.
struct Fact {
  std::string figure;  // "267 samples/s"
  std::string name;    // "throughput"
  std::string detail;  // "261 to 272"; may be empty
};

struct Head {
  std::string trust;  // whether the run can be trusted; empty: not about one run
  bool complete = true;
  std::vector<std::string> warnings;
  std::string title;
  Tone tone = Tone::kStrong;
  std::vector<std::string> notes;
  std::string name;  // of the run
  std::string path;
  std::string what;  // "200 steps in 12.0 s, on NVIDIA A100"
  std::vector<Fact> facts;
};

struct Document {
  std::string page_title;
  Head head;
  std::vector<Block> blocks;
  std::string footer;  // of a page
};

// One look for each category in every form: a color of Okabe and Ito's palette, which people with
// any common color blindness can tell apart, and a glyph that means the same without color.
struct Look {
  std::string_view word;   // "input stall"
  std::string_view color;  // "#d55e00"
  int terminal;            // the nearest of the 256 colors
  char glyph;
};
const Look& LookOf(attribution::Category category);

// "and 3 more notes", of `all` where `shown` are: what a cut table or list ends with.
std::string AndMore(size_t all, size_t shown, const std::string& noun);

}  // namespace stallscope::report
