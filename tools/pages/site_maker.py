"""The site: its pages, their sources, and the links between them."""
import html
import json
import os
import posixpath
import re
import shutil
import subprocess
from pathlib import Path

import markdown

import findings
import samples

HERE = Path(__file__).parent
RECIPES = {
    "My DataLoader is slow": "collectors/job/SLOW_LOADER.md",
    "tf.data on CI": "analyzer/budget/CI.md",
    "64 ranks on Slurm": "collectors/job/RANKS.md",
    "Which commit made it slow": "analyzer/compare/WHICH_COMMIT.md",
    "Choosing a configuration": "replay/sweep/CHOOSING.md",
}


def escape(text):
    return html.escape(str(text), quote=True)


def table(head, rows):
    cells = "".join(f"<th>{title}</th>" for title in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n"
                    for row in rows)
    return in_frame(f"<table><thead><tr>{cells}</tr></thead>\n<tbody>{lines}</tbody></table>")


def in_frame(body):
    """Tables scroll in a frame of their own; a cell of prose keeps lines that can be read."""
    body = re.sub(r"<td>(?=((?:(?!</td>).)*)</td>)",
                  lambda at: '<td class="prose">' if len(re.sub("<[^>]*>", "", at[1])) > 40
                  else at[0], body)
    return body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")


def picture(panel, text):
    return (f'<picture><source srcset="{panel}_dark.png" media="(prefers-color-scheme: dark)">'
            f'<img src="{panel}_light.png" alt="{escape(text)}" loading="lazy"></picture>')


def path_code(path):
    """It may be broken behind its dots, to fit a narrow screen."""
    return "<code>" + re.sub(r"([._\]])(?=\w)", r"\1<wbr>", escape(path)) + "</code>"


def code(text):
    return f"<pre><code>{escape(text)}</code></pre>"


class Site:
    def __init__(self, root, build, out):
        self.root, self.build, self.out = root, build, out
        self.sources = set()
        listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "*.md"], cwd=root,
                                check=True, text=True, stdout=subprocess.PIPE).stdout.split()
        self.pages = [page for page in listed if not page.startswith("tests/golden/")]

    def place(self, page):
        """The path on the site for a page of the checkout."""
        if page == "README.md":
            return "index.html"
        if page.endswith("/README.md"):
            return page[:-len("README.md")] + "index.html"
        return re.sub(r"\.md$", ".html", page)

    def write(self, place, title, body):
        up = posixpath.relpath(".", posixpath.dirname(place) or ".")
        path = self.out / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            (HERE / "page.html").read_text().replace("@title@", escape(title))
            .replace("@nav@", self.navigation(place)).replace("@up@", up).replace("@body@", body))

    def navigation(self, place):
        def link(title, target):
            here = ' aria-current="page"' if target == place else ""
            way = posixpath.relpath(target, posixpath.dirname(place) or ".")
            return f'<li><a href="{escape(way)}"{here}>{escape(title)}</a></li>'
        groups = [
            ("Start", [("stallscope", "index.html"), ("Commands", "analyzer/cli/index.html"),
                       ("Options", "options.html"),
                       ("Gallery", "gallery/index.html")]),
            ("Recipes", [(title, self.place(page)) for title, page in RECIPES.items()]),
            ("Reference", [("Findings", "findings/index.html"), ("Report fields", "analyzer/report/FIELDS.html"),
                           ("Metrics", "metrics.html"), ("Budgets", "analyzer/budget/index.html"),
                           ("Specs", "analyzer/spec/index.html"),
                           ("Other profilers' traces", "analyzer/importers/index.html"),
                           ("Peers", "tests/bench/PEERS.html"),
                           ("All pages", "pages.html"), ("Changelog", "CHANGELOG.html")]),
        ]
        return "".join(f"<h2>{name}</h2><ul>{''.join(link(*row) for row in rows)}</ul>"
                       for name, rows in groups)

    # --- The checkout's pages ---

    def target(self, page, link):
        """The target on the site for a link of a page."""
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return link
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        whole = self.root / wanted
        if not whole.exists():
            return link
        if whole.is_dir():
            wanted = posixpath.join(wanted, "README.md") if (whole / "README.md").exists() else ""
        if wanted in self.pages:
            target = self.place(wanted)
        elif wanted and (self.root / wanted).is_file():
            self.sources.add(wanted)
            target = f"source/{wanted}" + ("" if self.is_picture(wanted) else ".html")
        else:
            target = "pages.html"
        way = posixpath.relpath(target, posixpath.dirname(self.place(page)) or ".")
        return way + ("#" + anchor if anchor else "")

    @staticmethod
    def is_picture(path):
        return path.endswith((".png", ".svg"))

    def rendered(self, page):
        text = (self.root / page).read_text()
        text = re.sub(r"<!-- test.* -->\n", "", text)
        body = markdown.markdown(text, extensions=["fenced_code", "tables", "toc", "sane_lists"])
        body = re.sub(r'(href|src)="([^"]+)"',
                      lambda at: f'{at[1]}="{escape(self.target(page, html.unescape(at[2])))}"', body)
        body = in_frame(self.in_both_colors(page, body))
        title = re.search(r"^# (.+)$", text, re.M)
        return (title[1] if title else page), body

    def in_both_colors(self, page, body):
        """The README's picture is light; the gallery has the same panel dark, too."""
        gallery = posixpath.relpath("gallery", posixpath.dirname(self.place(page)) or ".")
        return re.sub(r'<img alt="([^"]*)" src="[^"]*gui/(\w+)\.png" ?/?>',
                      lambda at: picture(f"{gallery}/{at[2]}", html.unescape(at[1])), body)

    def write_pages(self):
        rows = []
        for page in self.pages:
            title, body = self.rendered(page)
            self.write(self.place(page), title, body)
            rows.append([f'<a href="{self.place(page)}">{escape(title)}</a>',
                         f"<code>{escape(page)}</code>"])
        self.write("pages.html", "All pages", "<h1>All pages</h1>" + table(["page", "file"], rows))

    def write_sources(self):
        for path in sorted(self.sources):
            if self.is_picture(path):
                target = self.out / "source" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.root / path, target)
                continue
            text = (self.root / path).read_text(errors="replace")
            self.write(f"source/{path}.html", path, f"<h1><code>{escape(path)}</code></h1>{code(text)}")

    # --- What the program says about itself ---

    def write_options(self):
        """Each command's help."""
        program = self.build / "bin/stallscope"
        commands = samples.run(program, "--help").split("Commands:")[1]
        parts = ["<h1>Options</h1><p>What <code>stallscope COMMAND --help</code> prints; "
                 '<a href="analyzer/cli/index.html">what each command is for</a>.</p>']
        for name in re.findall(r"^  ([a-z]+) ", commands, re.M):
            parts.append(f'<h2 id="{name}">{name}</h2>{code(samples.run(program, name, "--help"))}')
        window = "stallscope-gui"
        parts.append(f'<h2 id="{window}">{window}</h2>{code(samples.run(self.build / "bin" / window, "--help"))}')
        self.write("options.html", "Options", "".join(parts))

    def write_findings(self, reports):
        rules = findings.rules(self.root)
        techniques = findings.techniques(self.root)
        seen = {}
        for name, report in reports.items():
            for finding in report["findings"]:
                seen.setdefault(finding["id"], []).append((name, report, finding))
        rows = []
        for rule in rules:
            # The sample that is there for it comes first.
            examples = sorted(seen.get(rule.id, []), key=lambda example: example[0] != rule.id)
            rows.append([f'<a href="{rule.id}.html"><code>{rule.id}</code></a>', escape(rule.why),
                         ", ".join(techniques.get(row, "") for row in
                                   re.findall(r"\d+", rule.rows)),
                         f'<a href="../gallery/{examples[0][0]}.html">{examples[0][0]}</a>'
                         if examples else ""])
            self.write(f"findings/{rule.id}.html", rule.id, self.finding(rule, techniques, examples))
        self.write("findings/index.html", "Findings",
                   "<h1>Findings</h1><p>What the analyzer looks for, with a recorded sample that shows "
                   "it, if one exists. Thresholds and texts come from the program.</p>"
                   + table(["finding", "what is wrong", "technique", "sample"], rows))

    def finding(self, rule, techniques, examples):
        self.sources.add(rule.source)
        parts = [f"<h1><code>{rule.id}</code></h1>", "<h2>What is wrong</h2>",
                 f"<p>{escape(rule.why)}</p>"]
        names = [techniques[row] for row in re.findall(r"\d+", rule.rows) if row in techniques]
        if names:
            parts.append(f"<p>Technique: {escape(', '.join(names))}.</p>")
        parts.append("<h2>How it is found</h2>")
        if rule.cases:
            parts.append("<p>It is reported in the first case and not in the second, which "
                         "differs in nothing else. Both are tests of the rule.</p>"
                         + table(["reported", "not reported"],
                                 [[escape(found), escape(unless)] for found, unless in rule.cases]))
        if rule.thresholds:
            parts.append(table(["figure", "value", "reason"],
                               [[f'<span title="{escape(name)}">{escape(words)}</span>',
                                 escape(value), escape(reason)]
                                for name, words, value, reason in rule.thresholds]))
        parts.append(f'<p>The rule is <a href="../source/{rule.source}.html">'
                     f"<code>{rule.source}</code></a>.</p>")
        parts.append("<h2>Example</h2>")
        if not examples:
            parts.append("<p>No recorded sample shows it yet: the cases above are made by hand.</p>")
        for name, report, finding in examples[:2]:
            parts.append(self.example(name, report, finding))
        parts.append("<h2>How to fix it</h2>")
        if rule.changes:
            parts.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in rule.changes) + "</ul>")
        # As the report fills it in, where there is one; else with its placeholders.
        filled = self.filled_code(examples)
        for framework, text in rule.code.items():
            parts.append(f"<h3>{framework}</h3>{code(filled.get(framework.lower(), text))}")
        if any("{" in text for text in rule.code.values()) and not filled:
            parts.append("<p>In place of the braces the report has the stage and the value.</p>")
        if not rule.code and not rule.changes:
            parts.append("<p>There is nothing to change: the finding says why.</p>")
        return "".join(parts)

    @staticmethod
    def filled_code(examples):
        for _, _, finding in examples:
            told = (finding.get("recommendation") or {}).get("code") or {}
            if any(told.values()):
                return {framework: text for framework, text in told.items() if text}
        return {}

    @staticmethod
    def example(name, report, finding):
        advice = finding.get("recommendation") or {}
        gain = advice.get("gain") or {}
        lines = [f'<p><a href="../gallery/{name}.html">{name}</a>, '
                 f'{escape(report["verdict"]["text"])}: {escape(finding["text"])}.</p>']
        evidence = [row["text"] if isinstance(row, dict) else row for row in finding["evidence"]]
        if evidence:
            lines.append("<ul>" + "".join(f"<li>{escape(text)}</li>" for text in evidence) + "</ul>")
        if advice.get("text"):
            price = ""
            if gain.get("predicted"):
                price = (f': predicted {gain["predicted"]:.2f}x '
                         f'({gain["low"]:.2f} to {gain["high"]:.2f})')
            lines.append(f'<p>Recommended: {escape(advice["text"])}{price}.</p>')
        if advice.get("patch"):
            lines.append(code(json.dumps(advice["patch"])))
        return "".join(lines)

    def write_fields(self, reports):
        """The page of the report's fields with a value of each; and of these the metrics."""
        page = "analyzer/report/FIELDS.md"
        values = samples.values(reports)
        unknown = samples.without_row(values, (self.root / page).read_text())
        if unknown:
            raise SystemExit(f"{page} does not describe {', '.join(sorted(unknown))}")
        title, body = self.rendered(page)
        metrics = []
        for line in (self.root / page).read_text().splitlines():
            row = re.fullmatch(r"\| `([^`]+)` \| ([^|]*) \| (?:yes )?\| ?(.*?) ?\|", line)
            if row and "| yes |" in line:
                metrics.append([path_code(row[1].replace("[]", "[NAME]")),
                                markdown.markdown(row[3])[3:-4], samples.shown(values, row[1])])
        self.write("metrics.html", "Metrics",
                   "<h1>Metrics</h1><p>What a <a href=\"analyzer/budget/index.html\">budget</a> can "
                   "check: a path to a number of the report. In place of NAME is the row that is "
                   "meant, as in <code>stages[decode].utilization</code>, in place of CATEGORY one of "
                   "<code>compute</code>, <code>communication</code>, <code>transfer</code>, "
                   "<code>launch</code>, <code>input_stall</code>, <code>sync</code> and "
                   "<code>other</code>. "
                   f'<a href="{self.place(page)}">All fields</a>.</p>'
                   + table(["metric", "meaning", "example"],
                           [[path, meaning, escape(value)] for path, meaning, value in metrics]))
        body = re.sub(r"<tr>\s*<th>field</th>(.*?)</tr>",
                      lambda at: f"<tr><th>field</th>{at[1]}<th>example</th></tr>", body, flags=re.S)
        body = re.sub(r"(<tr>\s*<td[^>]*><code>([^<]+)</code></td>.*?)</tr>",
                      lambda at: f"{at[1]}<td>{self.value(values, html.unescape(at[2]))}</td></tr>",
                      body, flags=re.S)
        body = re.sub(r"(<td[^>]*>)<code>([^<]+)</code>(?=</td>\s*<td>(?:text|number|list|object|true))",
                      lambda at: at[1] + path_code(html.unescape(at[2])), body)
        self.write(self.place(page), title, body)

    @staticmethod
    def value(values, path):
        text = samples.shown(values, path)
        return f"<code>{escape(text)}</code>" if text else ""

    def write_gallery(self, reports):
        def rows(of_findings):
            return [[f'<a href="{name}.html">{name}</a>', escape(report["verdict"]["text"]),
                     ", ".join(f'<a href="../findings/{id}.html">{id}</a>'
                               for id in dict.fromkeys(row["id"] for row in report["findings"]))]
                    for name, report in reports.items()
                    if samples.is_for_finding(self.root, name) == of_findings]
        head = ["report", "verdict", "findings"]
        pictures = "".join(
            f'<figure>{picture(panel, f"The panel {panel}")}<figcaption>{panel}</figcaption></figure>'
            for panel in samples.PANELS)
        self.write("gallery/index.html", "Gallery",
                   "<h1>Gallery</h1><h2>Reports</h2><p>The HTML report of each sample trace: one file, "
                   "without scripts.</p>" + table(head, rows(False))
                   + "<h3>One per finding</h3>" + table(head, rows(True)) + f"<h2>The window</h2><p>Its panels on <code>{samples.PICTURED}</code>, drawn by "
                   "<code>stallscope-gui --export-png</code>.</p>" + pictures)


def make(root, build, out):
    if out.exists() and not (out / "pages.html").exists() and os.listdir(out):
        raise SystemExit(f"tools/site: {out} is not a site of ours; choose another --out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    site = Site(root, build, out)
    reports = samples.reports(root, build, out / "gallery")
    samples.pictures(root, build, out / "gallery")
    site.write_pages()
    site.write_options()
    site.write_findings(reports)
    site.write_fields(reports)
    site.write_gallery(reports)
    site.write_sources()
    shutil.copy(HERE / "style.css", out / "style.css")
