#!/usr/bin/python3
"""Makes the site and follows every link of it: pages, anchors, pictures. Every rule has its page with
a reason, a case of its tests and an example; every metric is one that a budget can check."""
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

SOURCE = Path(os.environ["STALLSCOPE_SOURCE"])
BUILD = Path(os.environ["STALLSCOPE_BUILD"])
sys.path.insert(0, str(SOURCE / "tools/pages"))

try:
    import markdown  # noqa: F401
except ImportError:
    print("skipped: python3-markdown is not installed")
    sys.exit(77)
if subprocess.run(["git", "-c", "safe.directory=*", "ls-files"], cwd=SOURCE,
                  capture_output=True).returncode != 0:
    print("skipped: not a git checkout")
    sys.exit(77)

failed = False


def complain(text):
    global failed
    failed = True
    print(text, file=sys.stderr)


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src", "srcset"):
                self.links.append(value)
            if name == "id":
                self.anchors.add(value)


def check_links(out):
    pages = {path: Page(path) for path in out.rglob("*.html")}
    followed = 0
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            to, _, anchor = link.partition("#")
            target = (path.parent / to).resolve() if to else path
            followed += 1
            if not target.is_file():
                complain(f"{path.relative_to(out)}: {link} leads nowhere")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                complain(f"{path.relative_to(out)}: {link}: no such anchor")
    return followed


# What shows them is no recording of one process on a machine without a GPU.
WITHOUT_SAMPLE = {"idle-device", "shuffle-place", "slow-rank", "sync-points"}


def check_findings(out):
    import findings
    rules = findings.rules(SOURCE)
    if len(rules) < 40:
        complain(f"only {len(rules)} rules were read from analyzer/findings")
    for rule in rules:
        text = (out / f"findings/{rule.id}.html").read_text()
        if len(rule.why) < 15:
            complain(f"{rule.source}: its first line does not say what is wrong: {rule.why!r}")
        if not rule.cases:
            complain(f"{rule.id}: no case of its tests was read")
        if ("No recorded sample" in text) != (rule.id in WITHOUT_SAMPLE):
            complain(f"findings/{rule.id}.html has an example, or none: it should be the other way")
        if re.search(r"\bk[A-Z]\w+(?![^<]*\">)", re.sub(r"<pre>.*?</pre>", "", text, flags=re.S)):
            complain(f"findings/{rule.id}.html has the name of a constant where a reader expects words")
        for section in ("What is wrong", "How it is found", "Example", "How to fix it"):
            if f"<h2>{section}</h2>" not in text:
                complain(f"findings/{rule.id}.html lacks {section!r}")
    shown = [rule for rule in rules
             if "Recommended" in (out / f"findings/{rule.id}.html").read_text()]
    if len(shown) < 10:
        complain(f"only {len(shown)} findings have an example with a recommendation")


def check_options(out):
    text = (out / "options.html").read_text()
    for name in ("run", "analyze", "replay", "doctor"):
        if f'<h2 id="{name}">' not in text or f"Usage: stallscope {name}" not in text:
            complain(f"options.html lacks the command {name}")
    if "Usage: stallscope-gui" not in text:
        complain("options.html lacks the window")


def check_samples(out):
    for trace in (SOURCE / "sample_traces/findings").glob("*.sst"):
        page = (out / f"gallery/{trace.stem}.html").read_text()
        if not re.search(rf"<h3>(<span[^>]*>[^<]*</span>)?{trace.stem}\b", page):
            complain(f"the report of {trace.name} does not have the finding")


def check_metrics(out, scratch):
    rows = re.findall(r"<tr><td[^>]*><code>(.*?)</code></td><td[^>]*>(.*?)</td>",
                      (out / "metrics.html").read_text())
    if len(rows) < 80:
        complain(f"only {len(rows)} metrics")
    metrics = []
    for path, meaning in rows:
        if not meaning:
            complain(f"metrics.html: {path} has no meaning")
        path = html.unescape(path.replace("<wbr>", ""))
        metrics.append(path.replace("CATEGORY", "compute"))
    budget = Path(scratch) / "budget.json"
    budget.write_text(json.dumps({"schema": "stallscope.budget/1", "checks": [
        {"metric": metric, "max": 1 if metric.endswith(".fraction") else 1e30, "level": "warn"}
        for metric in metrics]}))
    checked = subprocess.run(
        [BUILD / "bin/stallscope", "analyze", SOURCE / "sample_traces/input_decode.sst", "--no-price",
         "--budget", budget], capture_output=True, text=True)
    if checked.returncode != 0:
        complain(f"a budget refuses a metric of the site: {checked.stderr}")


def check_placeholders(out):
    for path in out.glob("*.html"):
        for placeholder in ("@title@", "@nav@", "@up@", "@body@"):
            if placeholder in path.read_text():
                complain(f"{path.name} still has {placeholder}")


with tempfile.TemporaryDirectory() as scratch:
    site = Path(scratch).resolve() / "site"
    # It must not replace a folder with other contents.
    site.mkdir()
    (site / "mine").write_text("kept")
    refused = subprocess.run([SOURCE / "tools/site", "--build", BUILD, "--out", site],
                             capture_output=True, text=True)
    if refused.returncode == 0 or not (site / "mine").exists():
        complain("tools/site replaced a folder that is not a site")
    (site / "mine").unlink()
    subprocess.run([SOURCE / "tools/site", "--build", BUILD, "--out", site], check=True)
    links = check_links(site)
    if links < 1000:
        complain(f"only {links} links were followed")
    check_findings(site)
    check_options(site)
    check_samples(site)
    check_metrics(site, scratch)
    check_placeholders(site)
    print(f"{links} links followed")
sys.exit(failed)
