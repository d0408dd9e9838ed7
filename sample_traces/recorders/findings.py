#!/usr/bin/env python3
"""Records sample_traces/findings/ID.sst: for each finding a run that has it.

    sample_traces/recorders/findings.py [--build build/release] [--python PYTHON] [ID...]

Without an ID it records those that are not there yet; a sample that is there is never replaced.
findings.json has the specs and jobs. Some are mistakes that tests/checklist/planted.json plants, with
fewer steps. Jobs that need PyTorch or TensorFlow are recorded if PYTHON has it.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces/findings"
DATA = {
    "images": ["--images", "16", "--size", "200x180", "--shards", "1"],
    "shards": ["--images", "64", "--size", "200x180", "--shards", "4"],
    "large": ["--images", "16", "--size", "1600x1200", "--shards", "1"],
    "csv": ["--images", "64", "--size", "96x96", "--format", "csv"],
    "texts": ["--images", "200", "--text", "16", "--shards", "1"],
}


def run(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def spec_of(entry):
    """With the finding's name, for the report's first line."""
    if "planted" in entry:
        rows = json.loads((ROOT / "tests/checklist/planted.json").read_text())
        row, = [row for row in rows if row["name"] == entry["planted"]]
        spec = json.loads(json.dumps(row["spec"]).replace("IMAGES/", "images/"))
        spec["trainer"]["steps"] = entry["steps"]
    else:
        spec = entry["spec"]
    return {**spec, "name": entry["id"]}


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode == 0


def record(entry, python):
    trace = f"{entry['id']}.sst"
    if "job" in entry:
        shutil.copy(Path(__file__).parent / entry["job"], entry["job"])
        run("stallscope", "run", "--quiet", "-o", trace, "--", python, entry["job"])
    else:
        spec = Path(f"{entry['id']}.json")
        spec.write_text(json.dumps(spec_of(entry)))
        run("stallscope", "record", str(spec), "-o", trace, "--quiet")
    for price in ([], ["--no-price"]):
        report = json.loads(run("stallscope", "analyze", trace, "--format", "json", *price))
        if entry["id"] in [finding["id"] for finding in report["findings"]]:
            shutil.copy(trace, SAMPLES / trace)
            return f"{report['verdict']['text']}, {os.path.getsize(trace):,} bytes"
    return "not found, not kept: record it again on a quieter machine"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", metavar="FOLDER")
    parser.add_argument("--python", default="python3")
    parser.add_argument("id", nargs="*", metavar="ID")
    arguments = parser.parse_args()
    entries = json.loads((Path(__file__).parent / "findings.json").read_text())
    unknown = set(arguments.id) - {entry["id"] for entry in entries}
    if unknown:
        parser.error(f"findings.json has no {sorted(unknown)[0]}")
    os.environ["PATH"] = f"{arguments.build.resolve() / 'bin'}:{os.environ['PATH']}"
    SAMPLES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, options in DATA.items():
            run("stallscope", "generate", name, "--classes", "3", *options)
        for entry in entries:
            if arguments.id and entry["id"] not in arguments.id:
                continue
            if (SAMPLES / f"{entry['id']}.sst").exists():
                if arguments.id:
                    print(f"{entry['id']}: is there already", file=sys.stderr)
            elif "needs" in entry and not has(arguments.python, entry["needs"]):
                print(f"{entry['id']}: skipped, {arguments.python} has no {entry['needs']}")
            else:
                print(f"{entry['id']}: {record(entry, arguments.python)}", flush=True)


if __name__ == "__main__":
    main()
