"""Reports and pictures of the sample traces, by the programs of a build."""
import json
import subprocess

# The desktop program's panels that need no second run and no running job.
PANELS = ["overview", "findings", "stalls", "timeline", "pipeline", "steps", "spans", "run"]
PICTURED = "input_decode"


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
                trace, "--theme", theme, "--size", "1280x800")


def paths(tree, prefix=""):
    """Every field of a report: (path, kind, an example). Rows of a list are one path."""
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
    """{path: (kind, example)} over all reports. `run.spec` is the user's own: its page has it."""
    found = {}
    for report in reports.values():
        for path, kind, example in paths(report):
            if path.startswith("run.spec."):
                continue
            before = found.get(path, ("", ""))
            found[path] = (before[0] or kind, before[1] or example)
    return found
