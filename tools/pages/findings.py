"""Reads what the sources of analyzer/findings say about their rules: it is written nowhere else."""
import re
from dataclasses import dataclass, field

FRAMEWORKS = {"tf_data": "tf.data", "pytorch": "PyTorch", "dali": "DALI", "grain": "grain"}


@dataclass
class Rule:
    id: str
    source: str                      # path in the checkout
    rows: str                        # of the checklist: "4", "13 and 18", ""
    why: str                         # the problem, in a sentence
    code: dict = field(default_factory=dict)        # framework -> the change in its terms
    thresholds: list = field(default_factory=list)  # (name, in words, value, reason)
    changes: list = field(default_factory=list)     # what it recommends, in words
    cases: list = field(default_factory=list)       # (it is reported, it is not), from its tests


def comment(lines):
    """The text of the // lines at the beginning of a list of lines."""
    text = []
    for line in lines:
        if not line.startswith("//"):
            break
        text.append(line[2:].strip())
    return " ".join(text)


def in_words(name):
    """kSmallFileBytes -> small file"""
    return re.sub(r" (?:bytes|ns)$", "", re.sub(r"(?<!^)(?=[A-Z])", " ", name[1:]).lower())


def worth(name, value, known):
    """A constant's expression as a number with its unit."""
    text = re.sub(r"\bk\w+", lambda at: f"({known[at[0]]})" if at[0] in known else at[0],
                  value.replace("'", ""))
    text = re.sub(r"\w+\{(\d+)\}", r"\1", text)
    if text.startswith("{"):
        low, middle, high = text.strip("{}").split(", ")
        return f"{middle} ({low} to {high})"
    if not re.fullmatch(r"[\d.e+*/<() -]+", text):
        return text
    number = eval(text)  # digits and operators of a source of this checkout
    if name.endswith("Bytes"):
        unit = next(power for power in (2, 1, 0) if number >= 1024 ** power)
        return f"{number / 1024 ** unit:g} {('bytes', 'KiB', 'MiB')[unit]}"
    if name.endswith("Ns"):
        return f"{number / 1e6:g} ms" if number >= 1e6 else f"{number / 1e3:g} us"
    return f"{number:g}"


def thresholds(text):
    """{name: (in words, value, reason)}; one comment may stand above several constants."""
    read = constants(text)
    values = {name: value for name, (value, _) in read.items()}
    named = lambda reason: re.sub(r"\bk[A-Z]\w+", lambda at: f'"{in_words(at[0])}"', reason)
    return {name: (in_words(name), worth(name, value, values), named(reason))
            for name, (value, reason) in read.items()}


def constants(text):
    """{name: (value, reason)}"""
    found, reason = {}, []
    for line in text.splitlines():
        constant = re.match(r"constexpr \w+(?:<.*>)? (k\w+) = (.*);", line)
        if line.startswith("// ---"):
            reason = []
        elif line.startswith("//"):
            reason = [*reason, line] if reason and reason[-1].startswith("//") else [line]
        elif constant:
            found[constant[1]] = (constant[2], comment([r for r in reason if r.startswith("//")]))
            reason = [*reason, ""] if reason else reason
        elif not line.strip():
            reason = []
    return found


def advice(text):
    """The raw strings of a rule's advice, by framework."""
    found = {}
    block = text[text.rfind("extern const Rule kRule"):]
    for key, name in FRAMEWORKS.items():
        string = re.search(rf'\.{key} =\s*R"py\((.*?)\)py"', block, re.S)
        if string:
            found[name] = string[1]
    return found


def arguments(text):
    """What is between the commas of a brace that `text` begins with; nothing of what it nests."""
    found, depth, at = [""], 0, 0
    while at < len(text):
        string = re.match(r'"(?:[^"\\]|\\.)*"', text[at:])
        letter = string[0] if string else text[at]
        at += len(letter)
        if not string and letter in ")}]":
            depth -= 1
            if depth == 0:
                return [part.strip() for part in found]
        if depth == 1 and letter == ",":
            found.append("")
        elif depth >= 1:
            found[-1] += letter
        if not string and letter in "({[":
            depth += 1
    return []


def literal(text):
    """The text of adjacent C++ strings."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def changes(text):
    """What a rule recommends, with dots where it has a name or a number."""
    found = []
    for at in re.finditer(r"\bRecommend(?:Unpriced)?(?=\()", text):
        strings = [literal(adjacent) for adjacent in re.findall(
            r'(?:"(?:[^"\\]|\\.)*"\s*)+', arguments(text[at.end():])[1])]
        # One that is put together from pieces of words reads as nothing.
        if any(re.search(r"\w\{\}|\{\}\w", string) for string in strings):
            continue
        for string in strings:
            words = re.sub(r"(\{[^}]*\})+", "...", string).rstrip(": ")
            if len(words) > 15 and words not in found:
                found.append(words)
    return found


def cases(root):
    """{id: [(it is reported, it is not)]}: the rules' own tests, each with its nearest miss."""
    found = {}
    for path in sorted((root / "tests/analyzer/findings").glob("*_scenarios.cpp")):
        text = path.read_text()
        for at in re.finditer(r'\{"[a-z-]+",\s*"', text):
            row = arguments(text[at.start():])
            if len(row) == 5:
                found.setdefault(literal(row[0]), []).append((literal(row[1]), literal(row[3])))
    return found


def capital(text):
    return text[:1].upper() + text[1:]


def rules(root):
    folder = root / "analyzer/findings"
    known = thresholds((folder / "thresholds.h").read_text())
    tried = cases(root)
    listed = re.findall(r"rules/(\w+)\.cpp", (folder / "CMakeLists.txt").read_text())
    made = []
    for name in listed:
        if name in ("rule", "all_rules"):
            continue
        path = folder / f"rules/{name}.cpp"
        text = path.read_text()
        about = comment(text.splitlines())
        rows = re.match(r"Rows? ([\d and,]+): ", about)
        why = about[rows.end():] if rows else re.sub(r"^No row of its own: ", "", about)
        id = re.search(r'\.id = "([^"]+)"', text)[1]
        made.append(Rule(
            id=id, source=str(path.relative_to(root)),
            rows=rows[1] if rows else "", why=capital(why), code=advice(text),
            thresholds=[(word, *known[word]) for word in known
                        if re.search(rf"\b{word}\b", text) and not word.endswith("Shown")],
            changes=changes(text), cases=tried.get(id, [])))
    return made


def techniques(root):
    """{"4": "workers and order"}: the rows of the checklist, as the room's page lists them."""
    page = (root / "analyzer/findings/README.md").read_text()
    text = re.search(r"Rows are techniques:(.*?)\.\n", page, re.S)[1].replace("\n", " ")
    return dict(re.findall(r"(\d+) ([^,]+)(?:,|$)", text))
