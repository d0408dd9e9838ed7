#include "analyzer/report/markdown.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/base/escape.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

constexpr size_t kShown = 5;  // of a table that counts the rest

std::string More(size_t all, const std::string& noun) {
  return "\n…" + AndMore(all, kShown, noun) + ".\n";
}

std::string Fold(const std::string& summary, const std::string& body) {
  return "\n<details><summary>" + EscapeMarkdown(summary) + "</summary>\n" + body +
         "\n</details>\n";
}

// Each block begins with an empty line.
std::string Draw(const Heading& heading) { return "\n### " + EscapeMarkdown(heading.text) + "\n"; }

std::string Draw(const Paragraph& paragraph) {
  const std::string text = EscapeMarkdown(paragraph.text);
  return paragraph.tone == Tone::kPlain || paragraph.tone == Tone::kFaint ? "\n" + text + "\n"
                                                                          : "\n**" + text + "**\n";
}

std::string Draw(const List& list) {
  std::string text = "\n";
  for (const List::Item& item : list.items) {
    std::string tag = EscapeMarkdown(item.tag);
    if (!tag.empty()) tag = item.tone == Tone::kBad ? "**" + tag + "**: " : tag + ": ";
    text += "- " + tag + (item.whole ? MarkdownCode(item.text) : EscapeMarkdown(item.text)) + "\n";
  }
  return text;
}

std::string Draw(const Table& table) {
  const bool cut = !table.more.empty() && table.rows.size() > kShown;
  std::string head = "\n|";
  std::string rule = "|";
  for (const Table::Column& column : table.columns) {
    if ((column.in & kInMarkdown) == 0) continue;
    head += " " + EscapeMarkdown(column.title) + " |";
    rule += column.number ? "--:|" : "---|";
  }
  std::string text = head + "\n" + rule + "\n";
  for (size_t i = 0; i < (cut ? kShown : table.rows.size()); ++i) {
    text += "|";
    for (size_t k = 0; k < table.columns.size(); ++k) {
      const Table::Column& column = table.columns[k];
      if ((column.in & kInMarkdown) == 0) continue;
      const std::string& cell = table.rows[i][k];
      text += " " + (column.name ? MarkdownCode(cell) : EscapeMarkdown(cell)) + " |";
    }
    text += "\n";
  }
  return cut ? text + More(table.rows.size(), table.more) : text;
}

std::string Draw(const Code& code) {
  return "\n" + EscapeMarkdown(code.title) + ":\n\n" + MarkdownBlock(code.language, code.text);
}

std::string DrawAdvice(const FindingCard::Advice& advice) {
  std::string text = "\n→ " + EscapeMarkdown(advice.text);
  if (advice.priced) {
    text += ": **" + EscapeMarkdown(advice.gain) + "**";
  } else if (!advice.gain.empty()) {
    text += ": gain unknown, " + EscapeMarkdown(advice.gain);
  }
  if (!advice.memory.empty()) text += ", " + EscapeMarkdown(advice.memory);
  text += "\n";
  for (const std::string& by_hand : advice.by_hand) {
    text += "\n" + EscapeMarkdown(by_hand) + "\n";
  }
  // A reviewer applies it with a click if the comment is on these lines.
  for (const Code& code : advice.suggestions) {
    text += "\n" + MarkdownCode(code.title) + ":\n\n" + MarkdownBlock(code.language, code.text);
  }
  std::string details;
  if (advice.patch.has_value()) {
    details += "\n" + MarkdownBlock(advice.patch->language, advice.patch->text);
  }
  if (advice.diff.has_value()) {
    details += "\n" + MarkdownBlock(advice.diff->language, advice.diff->text);
  }
  for (const Code& code : advice.code) details += Draw(code);
  return details.empty() ? text : text + Fold("patch and code", details);
}

std::string Draw(const FindingCards& findings) {
  std::string text;
  for (size_t i = 0; i < std::min(findings.cards.size(), kShown); ++i) {
    const FindingCard& card = findings.cards[i];
    text += fmt::format(
        "\n**{}** ({}{}{}): {}\n", EscapeMarkdown(card.id), findings::WordFor(card.severity),
        card.place.empty() ? "" : ", " + EscapeMarkdown(card.place),
        card.where.empty() ? "" : ", at " + MarkdownCode(card.where), EscapeMarkdown(card.text));
    if (card.advice.has_value()) text += DrawAdvice(*card.advice);
  }
  const size_t all = findings.cards.size();
  return all > kShown ? text + More(all, "finding") : text;
}

std::string Draw(const BreakdownFigure& figure) {
  std::string rows;
  for (const attribution::Category category : attribution::kReportOrder) {
    const auto& total = figure.totals[attribution::At(category)];
    if (!total.has_value() || total->ns == 0) continue;
    const double share = std::clamp(total->fraction, 0.0, 1.0);
    std::string bar;
    for (int i = 0; i < static_cast<int>(share * 20 + 0.5); ++i) bar += "█";
    rows += fmt::format("| {} | {} | {} | {} |\n", CategoryWord(category, figure.emulated),
                        words::Percent(total->fraction), IntervalPhrase(*total), bar);
  }
  return rows.empty() ? "" : "\n| category | share | 95% interval | |\n|---|--:|--:|---|\n" + rows;
}

// A comment has no pictures.
std::string Draw(const LanesFigure&) { return ""; }
std::string Draw(const StepTimesFigure&) { return ""; }
std::string Draw(const StageGraphFigure&) { return ""; }
std::string Draw(const SweepFigure&) { return ""; }

std::string DrawHead(const Head& head) {
  std::string text = "## " + EscapeMarkdown(head.title) + "\n";
  if (!head.trust.empty()) {
    const std::string trust = EscapeMarkdown(head.trust);
    text += "\n" + (head.complete ? trust : "**" + trust + "**") + "\n";
  }
  for (const std::string& warning : head.warnings) {
    text += "\n> warning: " + EscapeMarkdown(warning) + "\n";
  }
  std::string notes;
  for (const std::string& note : head.notes) {
    notes += (notes.empty() ? "\n" : "; ") + EscapeMarkdown(note);
  }
  if (!notes.empty()) text += notes + "\n";
  if (!head.what.empty()) {
    const std::string name = head.name.empty() ? "" : MarkdownCode(head.name) + ": ";
    text += "\n" + name + EscapeMarkdown(head.what) + "\n";
  }
  std::string facts;
  for (const Fact& fact : head.facts) {
    facts += (facts.empty() ? "\n**" : "; **") + EscapeMarkdown(fact.figure) + "** " +
             EscapeMarkdown(fact.name);
    if (!fact.detail.empty()) facts += " (" + EscapeMarkdown(fact.detail) + ")";
  }
  return facts.empty() ? text : text + facts + "\n";
}

}  // namespace

std::string WriteMarkdown(const Document& document) {
  std::string text = DrawHead(document.head);
  const Heading* open = nullptr;
  std::string body;
  const auto close = [&] {
    if (open != nullptr && !body.empty()) {
      text += open->folded ? Fold(open->text, body) : Draw(*open) + body;
    } else {
      text += body;
    }
    body.clear();
  };
  for (const Block& block : document.blocks) {
    if ((block.in & kInMarkdown) == 0) continue;
    if (const auto* next = std::get_if<Heading>(&block.what)) {
      close();
      open = next;
    } else {
      body += std::visit([](const auto& what) { return Draw(what); }, block.what);
    }
  }
  close();
  return text;
}

}  // namespace stallscope::report
