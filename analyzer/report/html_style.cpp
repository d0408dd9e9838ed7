#include "analyzer/report/html_parts.h"

namespace stallscope::report::html {

// The categories' colours are palette.h's; what is here is the page around them.
const std::string_view kStyle = R"(
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
.tag.high, .tag.fail { color: var(--bad); } .tag.pass { color: var(--good); }
.advice { border-left: 3px solid var(--accent); padding-left: 12px; margin: 10px 0; }
.gain { font-weight: 650; color: var(--good); }
.tabs { display: flex; flex-wrap: wrap; gap: 0 20px; }
details { margin: 4px 0; max-width: 100%; } details[open] { flex-basis: 100%; }
summary { cursor: pointer; color: var(--accent); font-size: 14px; }
pre { background: var(--code); border: 1px solid var(--line); border-radius: 6px; margin: 6px 0;
  padding: 9px 12px; overflow-x: auto; font: 13px/1.45 ui-monospace, "Liberation Mono", monospace; }
ul { margin: 0; padding-left: 20px; overflow-wrap: anywhere; }
footer { margin-top: 20px; color: var(--faint); font-size: 13px; overflow-wrap: anywhere; }
@media print { body { background: none; } section, .tile { break-inside: avoid; } }
)";

}  // namespace stallscope::report::html
