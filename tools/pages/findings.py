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
    thresholds: list = field(default_factory=list)  # (name, value, reason)


def comment(lines):
    """The text of the // lines at the beginning of a list of lines."""
    text = []
    for line in lines:
        if not line.startswith("//"):
            break
        text.append(line[2:].strip())
    return " ".join(text)


def thresholds(text):
    """{name: (value, reason)}; one comment may cover several constants."""
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


def capital(text):
    return text[:1].upper() + text[1:]


def rules(root):
    folder = root / "analyzer/findings"
    known = thresholds((folder / "thresholds.h").read_text())
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
        made.append(Rule(
            id=re.search(r'\.id = "([^"]+)"', text)[1], source=str(path.relative_to(root)),
            rows=rows[1] if rows else "", why=capital(why), code=advice(text),
            thresholds=[(word, *known[word]) for word in known
                        if re.search(rf"\b{word}\b", text)]))
    return made


def techniques(root):
    """{"4": "workers and order"}: the rows of the checklist, as the room's page lists them."""
    page = (root / "analyzer/findings/README.md").read_text()
    text = re.search(r"Rows are techniques:(.*?)\.\n", page, re.S)[1].replace("\n", " ")
    return dict(re.findall(r"(\d+) ([^,]+)(?:,|$)", text))
