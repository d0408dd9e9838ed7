"""Reads one run's report in all six forms, and `info`, and compares what they say.

usage: same_figures.py STALLSCOPE TRACE [OPTION...]

The options go to `analyze`. Verdict, confidence, breakdown, blame, findings with their order and
gains, throughput, tables, trust and counts must agree wherever they stand. Prints each
contradiction; ends with 1 if there is one.
"""
import html
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

FORMS = {"text": "r.txt", "json": "r.json", "markdown": "r.md", "html": "r.html", "junit": "r.xml",
         "sarif": "r.sarif"}
faults = []


def expect(held, what):
    if not held:
        faults.append(what)


def same(a, b, what):
    if a != b and isinstance(a, str) and isinstance(b, str):
        at = next((i for i, pair in enumerate(zip(a, b)) if pair[0] != pair[1]), min(len(a), len(b)))
        a, b = a[max(at - 30, 0):at + 60], b[max(at - 30, 0):at + 60]
        expect(False, f"{what}: ...{a!r} is not ...{b!r}")
    else:
        expect(a == b, f"{what}: {a!r} is not {b!r}")


def shows(text, value, what):
    """`text` is how `value` reads: three significant digits, perhaps with a separator."""
    number = float(text.replace(",", ""))
    digits = text.partition(".")[2]
    step = 10.0 ** -len(digits) if digits else 1.0
    if not digits and abs(number) >= 1000:
        step = 10.0 ** (len(str(int(abs(number)))) - 3)
    expect(abs(number - value) <= step * 0.51 + 1e-9 * abs(value), f"{what}: {text} of {value}")


def plain(markdown):
    text = re.sub(r"\\(.)", r"\1", markdown)
    return html.unescape(text)


class Page(html.parser.HTMLParser):
    """The parts of a report's page by their elements, and its tables by their sections."""

    def __init__(self, text):
        super().__init__()
        self.texts = {}
        self.tables = {}
        self.section = ""
        self.open = []
        self.rows = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("meta", "link", "br", "rect", "line", "path", "circle", "polyline"):
            return
        self.open.append([tag, dict(attrs).get("class", ""), ""])
        if tag == "tr":
            self.tables.setdefault(self.section, []).append([])

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_data(self, data):
        for element in self.open:
            element[2] += data

    def handle_endtag(self, tag):
        while self.open:
            name, kind, text = self.open.pop()
            self.texts.setdefault(f"{name}.{kind}" if kind else name, []).append(text)
            if name == "h2":
                self.section = text
            if name in ("td", "th"):
                self.tables[self.section][-1].append(text)
            if name == tag:
                break

    def all(self, name):
        return self.texts.get(name, [])


def text_sections(text):
    """The lines below each heading of the text report."""
    sections, title = {}, ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            title = line
        sections.setdefault(title, []).append(line)
    return sections


def cells(line):
    return [cell for cell in re.split(r" {2,}", line.strip()) if cell]


def check_verdict(report, text, markdown, page, junit, sarif, budget):
    verdict = report["verdict"]
    expect(verdict["text"] in text.splitlines(), "text: the verdict has no line")
    same(plain(markdown.splitlines()[0]), "## " + verdict["text"], "markdown: verdict")
    same(page.all("h1"), [verdict["text"]], "html: verdict")
    same(sarif["properties"]["verdict"], verdict["text"], "sarif: verdict")
    if not budget:
        cases = [c.get("name") for c in junit.iter("testcase")
                 if c.get("classname") == "stallscope.verdict"]
        same(cases, [verdict["text"]], "junit: verdict")
    if verdict["bound"] != "inconclusive":
        note = f"confidence {verdict['confidence'] * 100:.0f}%"
        for form, whole in (("text", text), ("markdown", markdown), ("html", " ".join(page.all("p")))):
            expect(note in whole, f"{form}: no {note!r}")


def check_breakdown(report, text, markdown, page):
    known = {name.replace("_", " "): total for name, total in report["breakdown"].items() if total}
    window = report["window"]["end_ns"] - report["window"]["start_ns"]
    if known and len(known) == len(report["breakdown"]) and report["window"]["steps"]:
        same(sum(total["ns"] for total in known.values()), window, "json: breakdown and window")
    rows = re.findall(r"^  \S  (\S[a-z ]*?)(?: \(emulated\))? {2,}.*? ([\d.]+)% +(?:([\d.]+) to ([\d.]+)|-)$",
                      text, re.M)
    same([row[0] for row in rows], list(known), "text: categories")
    table = re.findall(r"^\| ([a-z ]+?)(?: \\?\(emulated\\?\))? \| ([\d.]+)% \| (?:([\d.]+) to ([\d.]+)|-) \|",
                       markdown, re.M)
    legend = [re.fullmatch(r"([a-z ]+?)(?: \(emulated\))? ([\d.]+)%(?: \(([\d.]+) to ([\d.]+)\))?", item)
              for item in page.all("li") if re.match(r"[a-z ]+(?: \(emulated\))? [\d.]+%(?: \(|$)", item)]
    keys = [match.groups() for match in legend if match]
    same([key[0] for key in keys], list(known), "html: categories")
    for form, found in (("text", rows), ("markdown", table), ("html", keys)):
        for name, share, low, high in found:
            expect(name in known, f"{form}: {name} is no category")
            for shown, key in ((share, "fraction"), (low, "low"), (high, "high")):
                if not shown:
                    expect(known[name][key] is None, f"{form}: {name} has no {key}")
                    continue
                shows(shown, known[name][key] * 100, f"{form}: {name} {key}")
    shown = {row[0] for row in table}
    for name, total in known.items():
        expect(name in shown or total["ns"] == 0, f"markdown: {name} is missing")


def check_blame(report, text, markdown, page):
    title = "What the stall waited for"
    rows = [(row["stage"], row["cause"], row["fraction"]) for row in report["stall_blame"]]
    same(sum(row["ns"] for row in report["stall_blame"]),
         (report["breakdown"]["input_stall"] or {"ns": 0})["ns"], "json: blame and stall")
    found = {"html": [tuple(row) for row in page.tables.get(title, [])[1:]]}
    lines = [cells(line) for line in text_sections(text).get(title, [])[2:]]
    found["text"] = [tuple(line) for line in lines if len(line) == 4]
    found["markdown"] = [
        (plain(stage.strip("` ")), cause, time, share) for stage, cause, time, share in
        re.findall(r"^\| (`.*`) \| (\w+) \| ([^|]+) \| ([\d.]+%) \|$", markdown, re.M)]
    for form, table in found.items():
        expect(bool(table) == bool(rows), f"{form}: blame is missing")
        for row, (stage, cause, fraction) in zip(table, rows):
            name = row[0].rstrip("…")
            expect(stage.startswith(name) or form == "markdown", f"{form}: blame of {row[0]}, not {stage}")
            same(row[1], cause, f"{form}: cause of {stage}")
            shows(row[3].rstrip("%"), fraction * 100, f"{form}: blame of {stage}")


def gain_of(finding):
    recommendation = finding["recommendation"]
    return recommendation and recommendation["gain"]


def check_gain(form, where, finding):
    gain = gain_of(finding)
    found = re.search(r"([\d.,]+)x \(([\d.,]+) to ([\d.,]+)\)", where)
    if gain is None or gain["predicted"] is None:
        expect(found is None, f"{form}: {finding['id']} has a gain, {found and found.group()}")
        return
    expect(found is not None, f"{form}: {finding['id']} has no gain")
    if found is None:
        return
    for shown, key in zip(found.groups(), ("predicted", "low", "high")):
        shows(shown, gain[key], f"{form}: {finding['id']} {key}")
    measured = re.search(r"measured ([\d.,]+)x", where)
    same(measured is not None, gain["measured"] is not None, f"{form}: {finding['id']} measured")
    if measured and gain["measured"] is not None:
        shows(measured.group(1), gain["measured"], f"{form}: {finding['id']} measured")


def check_findings(report, text, markdown, page, junit, sarif, budget):
    findings = report["findings"]
    kinds = [(finding["severity"], finding["id"]) for finding in findings]
    section = "\n".join(text_sections(text).get("Findings", []))
    heads = list(re.finditer(r"^  \d+\. (\w+): ([\w-]+)", section, re.M))
    same([head.groups() for head in heads], kinds, "text: findings")
    for i, (head, finding) in enumerate(zip(heads, findings)):
        end = heads[i + 1].start() if i + 1 < len(heads) else len(section)
        check_gain("text", "".join(re.findall(r"^        gain .*(?:\n {10}.*)*", section[head.end():end], re.M)),
                   finding)
    marks = list(re.finditer(r"^\*\*([^*\n]+)\*\* \((\w+)", markdown, re.M))
    marks = [mark for mark in marks if mark.group(2) in ("info", "low", "medium", "high")]
    same([(mark.group(2), plain(mark.group(1))) for mark in marks], kinds[:5], "markdown: findings")
    for i, (mark, finding) in enumerate(zip(marks, findings)):
        end = marks[i + 1].start() if i + 1 < len(marks) else len(markdown)
        line = re.search(r"^→ .*$", markdown[mark.end():end], re.M)
        check_gain("markdown", "".join(re.findall(r"\*\*(.*?)\*\*", line.group())) if line else "", finding)
    cards = page.all("div.finding")
    same([re.match(r"(info|low|medium|high)([\w-]+)", card).groups() for card in cards], kinds,
         "html: findings")
    gains = iter(page.all("span.gain"))
    for finding in findings:
        gain = gain_of(finding)
        if gain and gain["predicted"] is not None:
            check_gain("html", next(gains, ""), finding)
    graver = [finding for finding in findings if finding["severity"] != "info"]
    results = [result for result in sarif["results"] if result["ruleId"] != "budget"]
    same([result["ruleId"] for result in results], [finding["id"] for finding in graver],
         "sarif: findings")
    levels = {"high": "warning" if budget else "error", "medium": "warning", "low": "note"}
    for result, finding in zip(results, graver):
        same(result["level"], levels[finding["severity"]], f"sarif: level of {finding['id']}")
        same(result["properties"]["share"], finding["share"], f"sarif: share of {finding['id']}")
        said = re.search(r"gain [\d.,]+x.*", result["message"]["text"])
        check_gain("sarif", said.group() if said else "", finding)
    if not budget:
        cases = [c.get("name") for c in junit.iter("testcase")
                 if c.get("classname") == "stallscope.findings"]
        same(cases, [f["id"] for f in findings if f["severity"] == "high"], "junit: findings")


def check_facts(report, text, markdown, page):
    tiles = {}
    for tile in page.all("div.tile"):
        found = re.match(r"([\d.,]+) ?(\S*?)(throughput|step time, median)", tile)
        if found:
            tiles[found.group(3)] = found.group(1)
    lines = dict(re.findall(r"^  (throughput|step time, median) {2,}([\d.,]+)", text, re.M))
    bold = {name: figure for figure, name in
            re.findall(r"\*\*([\d.,]+) [^*]*\*\* (throughput|step time, median)", markdown)}
    values = {}
    if report["throughput"]:
        values["throughput"] = report["throughput"]["samples_per_s"]
    if report["step_time_ms"]:
        values["step time, median"] = report["step_time_ms"]["p50"]
    for form, facts in (("text", lines), ("markdown", bold), ("html", tiles)):
        same(sorted(facts), sorted(values), f"{form}: facts")
        for name, shown in facts.items():
            if name in values:
                shows(shown, values[name], f"{form}: {name}")


def check_tables(text, page):
    """Each figure of a text table stands in the page's table below the same heading."""
    for title, lines in text_sections(text).items():
        there = {cell for row in page.tables.get(title, []) for cell in row}
        if not there or title == "Findings":
            continue
        for line in lines[2:]:
            for cell in cells(line):
                # A name that is too long for its column is in pieces, one below the other.
                held = cell in there or any(cell.rstrip("…") in name for name in there if len(name) > 26)
                figure = re.fullmatch(r"-?[\d.,]+(?: ?[%\w/]+)?", cell)
                expect(held or not figure, f"{title}: {cell!r} is not in the page")


def check_trust(report, text, markdown, page, sarif, info, info_text):
    line = report["trust"]["line"]
    same(text.splitlines()[0], line[:len(text.splitlines()[0])], "text: trust")
    same(info["trust"], line, "info: trust")
    same(sarif["properties"]["trust"], line, "sarif: trust")
    expect(line in plain(markdown), "markdown: trust")
    expect(any(line == span for span in page.all("span.trust") + page.all("span.trust lost")),
           "html: trust")
    for key in ("spans", "dropped", "damaged_bytes", "complete"):
        same(report["trust"][key], info[key], f"json and info: {key}")
    same(report["run"]["format"], info["format"], "json and info: format")
    same(report["run"]["digest"], info["digest"], "json and info: digest")
    same(report["run"]["device"]["kind"], info["device"]["kind"], "json and info: device")
    expect(info["steps"] >= report["window"]["steps"] + report["window"]["warmup_steps_excluded"],
           "info: fewer steps than the report")
    on_tracks = [track["spans"] for track in info["track_list"]]
    expect(sum(on_tracks) <= info["spans"], "info: more spans on the tracks than there are")
    devices = report["devices"]
    work = sum(d["kernels"] + sum(c["count"] for c in d["copies"]) for d in devices)
    expect(work <= info["spans"], "json: more device work than info has spans")
    section = text_sections(info_text).get("Tracks", [])
    rows = [cells(row) for row in section[2:] if len(cells(row)) >= 3]
    counts = [row[-2] for row in rows][:len(on_tracks)]
    same(counts, [f"{count:,}" for count in on_tracks][:len(counts)], "info: spans in text and JSON")
    emulated = report["run"]["device"]["kind"] == "emulated"
    same(bool(report["trust"]["assumed"]), emulated, "json: what is assumed")
    if emulated:
        for form, whole in (("text", text), ("markdown", markdown), ("html", " ".join(page.all("p")))):
            expect("the device is emulated" in " ".join(whole.split()), f"{form}: emulated is not marked")


def main():
    program, trace, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        files = {form: pathlib.Path(folder) / name for form, name in FORMS.items()}
        asked = [word for form, file in files.items() for word in ("--format", form, "-o", str(file))]
        done = subprocess.run([program, "analyze", trace, *options, *asked], capture_output=True, text=True)
        if done.returncode not in (0, 1, 4):
            sys.exit(f"analyze exits {done.returncode}: {done.stderr}")
        forms = {form: file.read_text() for form, file in files.items()}
    text, markdown = forms["text"], forms["markdown"]
    report = json.loads(forms["json"])
    page = Page(forms["html"])
    junit = xml.etree.ElementTree.fromstring(forms["junit"].encode())
    sarif = json.loads(forms["sarif"])["runs"][0]
    told = [subprocess.run([program, "info", trace, "--format", form], capture_output=True, text=True).stdout
            for form in ("json", "text")]
    info = json.loads(told[0])
    budget = "budget" in report
    check_verdict(report, text, markdown, page, junit, sarif, budget)
    check_breakdown(report, text, markdown, page)
    check_blame(report, text, markdown, page)
    check_findings(report, text, markdown, page, junit, sarif, budget)
    check_facts(report, text, markdown, page)
    check_tables(text, page)
    check_trust(report, text, markdown, page, sarif, info, told[1])
    same(junit.find("testsuite").find("system-out").text, text, "junit: its text")
    for fault in faults:
        print(f"{pathlib.Path(trace).name}: {fault}")
    sys.exit(1 if faults else 0)


main()
