"""Reports and pictures of the sample traces, by the programs of a build."""
import json
import re
import subprocess

# The desktop program's panels that need no second run and no running job.
PANELS = ["overview", "findings", "stalls", "timeline", "pipeline", "steps", "spans", "run"]
PICTURED = "input_decode"
SIZES = {"overview": "1180x596"}  # as in the README: it has less to show


def run(*command, folder=None):
    return subprocess.run([str(word) for word in command], check=True, text=True, cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def reports(root, build, out):
    """Writes an HTML report of each sample; gives {name: its JSON}, first one per verdict and format,
    then one per finding."""
    out.mkdir(parents=True, exist_ok=True)
    folder = root / "sample_traces"
    traces = [*sorted([*folder.glob("*.sst"), *folder.glob("*.gz")]),
              *sorted((folder / "findings").glob("*.sst"))]
    found = {}
    for trace in traces:
        name = trace.name.split(".")[0]
        if name in found:
            raise SystemExit(f"two sample traces are named {name}")
        found[name] = report(root, build, trace, out.resolve() / f"{name}.html")
        # The simulation may find no gain in what the sample is there to show.
        if trace.parent != folder and name not in [row["id"] for row in found[name]["findings"]]:
            found[name] = report(root, build, trace, out.resolve() / f"{name}.html", "--no-price")
    return found


def report(root, build, trace, page, *options):
    """From the root: the site names no folder of the machine that makes it."""
    return json.loads(run(build / "bin/stallscope", "analyze", trace.relative_to(root), *options,
                          "--format", "json", "--format", "html", "-o", page, folder=root))


def is_for_finding(root, name):
    return (root / f"sample_traces/findings/{name}.sst").exists()


def pictures(root, build, out):
    out.mkdir(parents=True, exist_ok=True)
    trace = root / f"sample_traces/{PICTURED}.sst"
    for panel in PANELS:
        for theme in ("light", "dark"):
            run(build / "bin/stallscope-gui", "--export-png", panel, out / f"{panel}_{theme}.png",
                trace, "--theme", theme, "--size", SIZES.get(panel, "1280x800"))


def paths(tree, prefix=""):
    """Every field of a report: (path, an example). Rows of a list are one path."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from paths(value, f"{prefix}.{key}" if prefix else key)
    elif isinstance(tree, list):
        yield prefix, ""
        for row in tree:
            yield from paths(row, f"{prefix}[]")
    else:
        yield prefix, "" if tree is None else str(tree)


def values(reports):
    """{path: an example} over all reports. `run.spec` and patches are specs': their page has them."""
    found = {}
    for report in reports.values():
        for path, example in paths(report):
            opaque = re.match(r"(run\.spec|findings\[\]\.recommendation\.patch)\b", path)
            if opaque or path.endswith("[]"):
                path = opaque[0] if opaque else path[:-2]
            found[path] = found.get(path) or ("" if opaque else example)
    return found


def pattern(path):
    """A path of the fields' page: words in capitals are any name."""
    return re.sub(r"\b[A-Z]{4,}\b", r"[a-z_.]+", re.escape(path)) + r"\Z"


def without_row(values, page):
    rows = "|".join(pattern(row) for row in re.findall(r"^\| `([^`]+)` \|", page, re.M))
    return [path for path in values if not re.match(rows, path)]


def shown(values, path):
    """One value, short."""
    text = next((text for at, text in values.items() if text and re.match(pattern(path), at)), "")
    try:
        text = f"{float(text):.4g}" if "." in text else text
    except ValueError:
        pass
    return text if len(text) <= 40 else text[:37] + "..."
