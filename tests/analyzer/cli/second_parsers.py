"""Reads what stallscope wrote of a run with hostile names, with parsers that are not its own.

usage: second_parsers.py FOLDER

Every file of the folder is checked by its ending; the first fault ends the program with 1.
"""
import csv
import html.parser
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

# C0 but line feeds, DEL, C1, overrides and isolates of direction, separators of lines.
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
VOID_TAGS = {"meta", "link", "br"}


def plain(text):
    found = STEERING.search(text)
    assert found is None, f"{found.group()!r} in {text[max(found.start() - 40, 0):found.end() + 40]!r}"
    # A line feed of a name must not begin a line.
    assert not re.search(r"^\s*forged", text, re.M), "a name began a line"


def walk_json(tree, visit):
    visit(tree)
    for child in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        walk_json(child, visit)


def check_json(text):
    plain(text)
    strings = []
    walk_json(json.loads(text), lambda node: strings.append(node) if isinstance(node, str) else None)
    return strings


def check_sarif(text):
    check_json(text)

    def visit(node):
        message = node.get("message") if isinstance(node, dict) else None
        if isinstance(message, dict):
            assert "](" not in re.sub(r"\\.", "", message["text"], flags=re.S), message

    walk_json(json.loads(text), visit)


def check_jsonl(text):
    plain(text)
    for line in text.splitlines():
        assert isinstance(json.loads(line), dict), line


def check_csv(text):
    plain(re.sub("[\r\t]", "", text).replace("\nforged", ""))
    rows = list(csv.reader(text.splitlines(keepends=True), strict=True))
    assert len(rows) > 1
    for row in rows:
        assert len(row) == len(rows[0]), row
        for cell in row:
            if cell[:1] == "-":
                float(cell)
            assert cell[:1] not in ("=", "+", "@", "\t", "\r", "\n"), cell


def check_xml(text):
    plain(text)
    known = {"testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out"}
    root = xml.etree.ElementTree.fromstring(text.encode())
    tags = {element.tag for element in root.iter()}
    assert tags <= known, tags


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "img", "b1", "a"), tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name != "href" or value == "data:,", value
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl):
        assert decl == "doctype html", decl

    def unknown_decl(self, data):
        raise AssertionError(f"a section: {data}")


def check_html(text):
    plain(text)
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open, page.open


def check_markdown(text):
    plain(text)
    # What lies between fences is code.
    outside = re.sub(r"^(`{3,})[a-z]*\n.*?^\1$", "", text, flags=re.M | re.S)
    columns = 0
    for line in outside.splitlines():
        # Both ways in which readers look for the bars of a row.
        cells = {len(re.sub(r"\\.", "", line).split("|")), len(re.split(r"(?<!\\)\|", line))}
        assert len(cells) == 1, line
        if line.startswith("|"):
            assert columns in (0, *cells), line
            columns = cells.pop()
        else:
            columns = 0
        words = re.sub(r"\\.", "", line)
        words = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", words)
        assert "](" not in words and "![" not in words, line
        for tag in re.findall(r"<([^>]*)>?", words):
            assert tag in ("details", "/details", "summary", "/summary", "code", "/code"), line


CHECKS = {".json": check_json, ".sarif": check_sarif, ".jsonl": check_jsonl, ".csv": check_csv,
          ".xml": check_xml, ".html": check_html, ".md": check_markdown, ".txt": plain}

checked = 0
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        CHECKS[path.suffix](path.read_bytes().decode("utf-8"))
    except Exception as fault:
        sys.exit(f"{path.name}: {type(fault).__name__}: {fault}")
    checked += 1
print(f"{checked} files read")
