"""Reports and pictures of the sample traces, by the programs of a build."""
import json
import subprocess

# The desktop program's panels that need no second run and no running job.
PANELS = ["overview", "findings", "stalls", "timeline", "pipeline", "steps", "spans", "run"]
PICTURED = "input_decode"


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def reports(root, build, out):
    """Writes an HTML report of each sample; returns {name: its JSON}."""
    out.mkdir(parents=True, exist_ok=True)
    found = {}
    folder = root / "sample_traces"
    for trace in sorted([*folder.glob("*.sst"), *folder.glob("*.gz")]):
        name = trace.name.split(".")[0]
        text = run(build / "bin/stallscope", "analyze", trace, "--format", "json",
                   "--format", "html", "-o", out / f"{name}.html")
        found[name] = json.loads(text)
    return found


def pictures(root, build, out):
    out.mkdir(parents=True, exist_ok=True)
    trace = root / f"sample_traces/{PICTURED}.sst"
    for panel in PANELS:
        for theme in ("light", "dark"):
            run(build / "bin/stallscope-gui", "--export-png", panel, out / f"{panel}_{theme}.png",
                trace, "--theme", theme, "--size", "1280x800")


def paths(tree, prefix=""):
    """Every field of a report: (path, kind, example). All rows of a list share a path."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from paths(value, f"{prefix}.{key}" if prefix else key)
    elif isinstance(tree, list):
        yield prefix, "list", ""
        for row in tree:
            yield from paths(row, f"{prefix}[]")
    else:
        kinds = {bool: "true or false", int: "number", float: "number", str: "text"}
        yield prefix, kinds.get(type(tree), ""), "" if tree is None else str(tree)


def fields(reports):
    """{path: (kind, example)} over all reports. `run.spec` is the user's own; its page describes it."""
    found = {}
    for report in reports.values():
        for path, kind, example in paths(report):
            if path.startswith("run.spec."):
                continue
            before = found.get(path, ("", ""))
            found[path] = (before[0] or kind, before[1] or example)
    return found
