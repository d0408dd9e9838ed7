#include "analyzer/report/html/html.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "analyzer/base/escape.h"
#include "analyzer/report/html/pictures.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace html {
namespace {

// The page around the figures; the colors of categories are document.h's.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --text: #1b1f24;
  --faint: #5b6570; --line: #dde1e6; --track: #e9ecf0; --accent: #0072b2; --bad: #b34700;
  --good: #00664b; --code: #f3f4f6; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --card: #1d2126; --text: #e6e8eb; --faint: #9aa4ae; --line: #343a41;
    --track: #2a2f35; --accent: #56b4e9; --bad: #f0a35e; --good: #4fd1a5; --code: #15181c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, "Segoe UI", "Liberation Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 28px 20px 56px; }
h1 { font-size: 30px; line-height: 1.2; margin: 6px 0 10px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 12px; }
h3 { font-size: 15px; margin: 0 0 4px; overflow-wrap: anywhere; }
h3 .faint { font-weight: 400; }
p { margin: 0 0 8px; overflow-wrap: anywhere; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 18px 20px; margin-top: 16px; }
.trust { display: inline-block; font-weight: 600; color: var(--good); overflow-wrap: anywhere; }
.trust.lost { color: var(--bad); }
.trust::before { content: "\2713\00a0"; } .trust.lost::before { content: "!\00a0"; }
.faint { color: var(--faint); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
  margin-top: 18px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 14px; }
.tile b { display: block; font-size: 22px; line-height: 1.25; font-weight: 650; }
.tile span { color: var(--faint); font-size: 13px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; min-width: min(100%, 460px); font-size: 14px; }
.scroll + .scroll, .scroll + p { margin-top: 18px; }
th { text-align: left; font-weight: 600; color: var(--faint); font-size: 13px; }
th, td { padding: 5px 22px 5px 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
th:not(.n), td:not(.n) { min-width: 6.5em; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
svg { display: block; width: 100%; min-width: 640px; height: auto; }
svg text { fill: var(--text); font: 12px system-ui, "Segoe UI", "Liberation Sans", sans-serif; }
svg text.faint { fill: var(--faint); } svg text.on { fill: #14171b; font-weight: 600; }
svg text.on.light { fill: #ffffff; }
svg .track { fill: var(--track); } svg .box { fill: var(--card); stroke: var(--line); }
svg .bound { stroke: var(--bad); stroke-width: 2; } svg .edge { stroke: var(--faint); fill: none; }
svg .bar { fill: var(--accent); } svg .hot { fill: var(--bad); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 10px 0 0; padding: 0;
  list-style: none; font-size: 13px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px;
  margin-right: 6px; vertical-align: -1px; }
.finding { border-top: 1px solid var(--line); padding: 14px 0 4px; }
.finding:first-of-type { border-top: 0; padding-top: 0; }
.tag { display: inline-block; border: 1px solid currentColor; border-radius: 99px;
  font-size: 12px; padding: 0 9px; margin-right: 6px; color: var(--faint); font-weight: 600; }
.bad { color: var(--bad); } .good { color: var(--good); } .tag.bad { color: var(--bad); }
.tag.good { color: var(--good); }
.advice { border-left: 3px solid var(--accent); padding-left: 12px; margin: 10px 0; }
.gain { font-weight: 650; color: var(--good); } .strong { font-weight: 600; }
.tabs { display: flex; flex-wrap: wrap; gap: 0 20px; }
details { margin: 4px 0; max-width: 100%; } details[open] { flex-basis: 100%; }
summary { cursor: pointer; color: var(--accent); font-size: 14px; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 6px; margin: 6px 0;
  padding: 9px 12px; overflow-x: auto; font: 13px/1.45 ui-monospace, "Liberation Mono", monospace; }
ul { margin: 0; padding-left: 20px; overflow-wrap: anywhere; }
footer { margin-top: 20px; color: var(--faint); font-size: 13px; overflow-wrap: anywhere; }
@media (max-width: 900px) {
  main { padding: 20px 12px 40px; } section { padding: 14px; }
  table { font-size: 12.5px; } th { font-size: 12px; } th, td { padding-right: 10px; }
  th:not(.n), td:not(.n) { min-width: 4em; } th.n { white-space: normal; } }
@media print { body { background: none; } section, .tile { break-inside: avoid; } }
)";

constexpr size_t kShown = 50;  // of a table that counts the rest

const char* ClassOf(Tone tone) {
  switch (tone) {
    case Tone::kStrong:
      return "strong";
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kFaint:
      return "faint";
    case Tone::kPlain:
      break;
  }
  return "";
}

std::string Element(const char* tag, const char* kind, std::string_view text) {
  const std::string attribute = *kind == '\0' ? "" : " class=\"" + std::string(kind) + "\"";
  return fmt::format("<{}{}>{}</{}>\n", tag, attribute, EscapeMarkup(text), tag);
}

std::string Tag(const std::string& text, Tone tone) {
  return fmt::format("<span class=\"tag {}\">{}</span>", ClassOf(tone), EscapeMarkup(text));
}

std::string Draw(const Paragraph& paragraph) {
  return Element("p", ClassOf(paragraph.tone), paragraph.text);
}

std::string Draw(const List& list) {
  std::string text = "<ul>";
  for (const List::Item& item : list.items) {
    const std::string said = EscapeMarkup(item.text);
    text += "<li>" + (item.tag.empty() ? "" : Tag(item.tag, item.tone)) +
            (item.whole ? "<code>" + said + "</code>" : said) + "</li>\n";
  }
  return text + "</ul>\n";
}

std::string Draw(const Table& table) {
  const bool cut = !table.more.empty() && table.rows.size() > kShown;
  std::string text = "<div class=\"scroll\"><table>\n";
  const auto add_row = [&](const char* tag, auto&& cell) {
    text += "<tr>";
    for (size_t k = 0; k < table.columns.size(); ++k) {
      if ((table.columns[k].in & kInHtml) == 0) continue;
      text += fmt::format("<{}{}>{}</{}>", tag, table.columns[k].number ? " class=\"n\"" : "",
                          EscapeMarkup(cell(k)), tag);
    }
    text += "</tr>\n";
  };
  add_row("th", [&](size_t k) { return table.columns[k].title; });
  for (size_t i = 0; i < (cut ? kShown : table.rows.size()); ++i) {
    add_row("td", [&](size_t k) { return table.rows[i][k]; });
  }
  text += "</table></div>\n";
  return cut ? text + Element("p", "faint", AndMore(table.rows.size(), kShown, table.more)) : text;
}

std::string Draw(const Code& code) {
  return fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n",
                     EscapeMarkup(code.title), EscapeMarkupLines(code.text));
}

std::string DrawAdvice(const FindingCard::Advice& advice) {
  std::string text = "<div class=\"advice\">" + Element("p", "", advice.text);
  if (advice.priced) {
    text += "<p><span class=\"gain\">" + EscapeMarkup(advice.gain) + "</span>" +
            (advice.memory.empty() ? "" : ", " + EscapeMarkup(advice.memory)) + "</p>\n";
  } else {
    if (!advice.gain.empty()) text += Element("p", "faint", "Gain unknown: " + advice.gain);
    if (!advice.memory.empty()) text += Element("p", "", "Memory: " + advice.memory);
  }
  for (const std::string& by_hand : advice.by_hand) text += Element("p", "", by_hand);
  if (!advice.apply.empty()) {
    text += "<p>To apply: <code>" + EscapeMarkup(advice.apply) + "</code></p>\n";
  }
  text += "<div class=\"tabs\">";
  if (advice.diff.has_value()) text += Draw(*advice.diff);
  if (advice.patch.has_value()) text += Draw(*advice.patch);
  for (const Code& code : advice.code) text += Draw(code);
  return text + "</div></div>\n";
}

std::string Draw(const FindingCards& findings) {
  std::string text;
  for (const FindingCard& card : findings.cards) {
    const Tone tone = card.severity == findings::Severity::kHigh ? Tone::kBad : Tone::kFaint;
    text += "<div class=\"finding\"><h3>" +
            Tag(std::string(findings::WordFor(card.severity)), tone) + EscapeMarkup(card.id);
    if (!card.place.empty()) {
      text += " <span class=\"faint\">" + EscapeMarkup(card.place) + "</span>";
    }
    if (!card.where.empty()) {
      text += " <span class=\"faint\">at <code>" + EscapeMarkup(card.where) + "</code></span>";
    }
    text += "</h3>\n" + Element("p", "", card.text);
    std::string evidence;
    for (const std::string& line : card.evidence) {
      evidence += "<li>" + EscapeMarkup(line) + "</li>";
    }
    if (!evidence.empty()) text += "<ul class=\"faint\">" + evidence + "</ul>\n";
    if (card.advice.has_value()) text += DrawAdvice(*card.advice);
    text += "</div>\n";
  }
  return text;
}

std::string Draw(const Heading&) { return ""; }  // opens a section: DrawSections

template <class Figure>
std::string Draw(const Figure& figure) {
  return Picture(figure);
}

std::string DrawHead(const Head& head) {
  std::string text = "<header>\n";
  if (!head.trust.empty()) {
    text += Element("span", head.complete ? "trust" : "trust lost", head.trust);
  }
  for (const std::string& warning : head.warnings) {
    text += "<p>" + Tag("warning", Tone::kBad) + EscapeMarkup(warning) + "</p>\n";
  }
  text += Element("h1", "", head.title);
  std::string notes;
  for (const std::string& note : head.notes) notes += (notes.empty() ? "" : "; ") + note;
  if (!notes.empty()) text += Element("p", "", notes);
  if (!head.path.empty()) {
    const std::string run = head.name.empty() ? head.path : head.name + ", " + head.path;
    text += Element("p", "faint", run + ": " + head.what);
  }
  std::string tiles;
  for (const Fact& fact : head.facts) {
    const std::string detail = fact.detail.empty() ? "" : " (" + fact.detail + ")";
    tiles += fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>",
                         EscapeMarkup(fact.figure), EscapeMarkup(fact.name + detail));
  }
  if (!tiles.empty()) text += "<div class=\"tiles\">" + tiles + "</div>\n";
  return text + "</header>\n";
}

// Each heading opens a section; one without content is left out.
std::string DrawSections(const std::vector<Block>& blocks) {
  std::string text;
  std::string title;
  std::string body;
  const auto close = [&] {
    const std::string heading = title.empty() ? "" : Element("h2", "", title);
    if (!body.empty()) text += "<section>\n" + heading + body + "</section>\n";
    body.clear();
  };
  for (const Block& block : blocks) {
    if ((block.in & kInHtml) == 0) continue;
    if (const auto* heading = std::get_if<Heading>(&block.what)) {
      close();
      title = heading->text;
    } else {
      body += std::visit([](const auto& what) { return Draw(what); }, block.what);
    }
  }
  close();
  return text;
}

}  // namespace
}  // namespace html

std::string WriteHtml(const Document& document) {
  std::string body = html::DrawHead(document.head) + html::DrawSections(document.blocks);
  if (!document.footer.empty()) body += html::Element("footer", "", document.footer);
  // The policy forbids what the page does not need: it could not call home if a name tried to.
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<main>\n{}</main>\n</body>\n</html>\n",
      EscapeMarkup(document.page_title), html::kStyle, body);
}

}  // namespace stallscope::report
