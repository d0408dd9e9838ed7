#!/usr/bin/python3
"""Packs a build: a wheel, a tar and a Debian package, and their checksums.

    tools/packages/pack.py --build FOLDER --out FOLDER [wheel] [tar] [deb]

Equal builds give equal bytes: names are sorted, owners are dropped, and times are $SOURCE_DATE_EPOCH."""
import argparse
import base64
import gzip
import hashlib
import os
import re
import subprocess
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

import bundle

SOURCE = Path(__file__).resolve().parents[2]
LARGEST_WHEEL = 40_000_000
KINDS = ["wheel", "tar", "deb"]


def version():
    return re.search(r"^project\(stallscope VERSION ([0-9.]+)",
                     (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]


def epoch():
    """The time of every file; zip has none before 1980."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)


def files_of(tree):
    return sorted(path for path in tree.rglob("*") if not path.is_dir())


def mode_of(path):
    return 0o755 if os.access(path, os.X_OK) else 0o644


def write_tar(tree, out):
    """Runs wherever it is unpacked: the programs find their libraries by relative paths."""
    name = f"stallscope-{version()}-linux-{os.uname().machine}"
    path = out / f"{name}.tar.gz"
    # Not xz: a bare system has only gzip. The default header would have a name and a time.
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch()) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for source in files_of(tree):
            info = tarfile.TarInfo(f"{name}/{source.relative_to(tree)}")
            info.size, info.mode, info.mtime = source.stat().st_size, mode_of(source), epoch()
            with source.open("rb") as content:
                tar.addfile(info, content)
    return path


def without_local_links(markdown):
    """Links to files are their text, and pictures in files are left out."""
    markdown = re.sub(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n?", "", markdown, flags=re.M)
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)\s]*\)", r"\1", markdown)


def description():
    """The README for a package index, which has no file of the repository, and knows no address of it."""
    text = re.sub(r"^<!--.*-->\n", "", (SOURCE / "README.md").read_text(), flags=re.M)
    return without_local_links(text)


def metadata():
    return "\n".join([
        "Metadata-Version: 2.1", "Name: stallscope", f"Version: {version()}",
        "Summary: Finds out why training steps wait for data, and what to change",
        "License: Apache-2.0", "Requires-Python: >=3.8",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Topic :: Software Development :: Debuggers",
        "Description-Content-Type: text/markdown", "", description()])


def write_wheel(tree, out):
    """The tree as pip installs it into an environment. The programs are its scripts, unwrapped: a Python
    launcher would add its start time and come between a job and its signals."""
    stem = f"stallscope-{version()}"
    major, minor = bundle.glibc(tree)
    tag = f"py3-none-manylinux_{major}_{minor}_{os.uname().machine}"
    content = {}
    for file in files_of(tree):
        inside = file.relative_to(tree)
        if inside.parts[0] == "bin":
            name = f"{stem}.data/scripts/{inside.name}"
        else:
            name = f"{stem}.data/data/{inside}"
        content[name] = (file.read_bytes(), mode_of(file))
    # The module for jobs to import: the same file, where Python looks for it.
    module = tree / "share/stallscope/python/stallscope.py"
    content["stallscope.py"] = (module.read_bytes(), 0o644)
    info = f"{stem}.dist-info"
    content[f"{info}/METADATA"] = (metadata().encode(), 0o644)
    content[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: stallscope\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
        0o644)
    content[f"{info}/LICENSE"] = ((SOURCE / "LICENSE").read_bytes(), 0o644)
    rows = [f"{name},sha256={sha256(data)},{len(data)}" for name, (data, _) in content.items()]
    content[f"{info}/RECORD"] = ("\n".join([*rows, f"{info}/RECORD,,", ""]).encode(), 0o644)
    path = out / f"{stem}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (data, mode) in content.items():
            entry = zipfile.ZipInfo(name, time.gmtime(epoch())[:6])
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    if path.stat().st_size > LARGEST_WHEEL:
        raise SystemExit(f"{path} has {path.stat().st_size:,} bytes, more than {LARGEST_WHEEL:,}")
    return path


def sha256(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_deb(build, out):
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["cpack", "--config", build / "CPackConfig.cmake", "-B", scratch],
                       cwd=build, check=True, stdout=subprocess.DEVNULL)
        made, = Path(scratch).glob("*.deb")
        path = out / made.name
        path.write_bytes(made.read_bytes())
    return path


def pack(build, out, kinds):
    out.mkdir(parents=True, exist_ok=True)
    made = []
    if "deb" in kinds:
        made.append(write_deb(build, out))
    if {"wheel", "tar"} & set(kinds):
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch) / "stallscope"
            bundle.stage(build, tree)
            bundle.bundle(tree)
            if "wheel" in kinds:
                made.append(write_wheel(tree, out))
            if "tar" in kinds:
                made.append(write_tar(tree, out))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("kinds", nargs="*", metavar="wheel|tar|deb")
    arguments = parser.parse_args()
    unknown = set(arguments.kinds) - set(KINDS)
    if unknown:
        parser.error(f"unknown package {unknown.pop()!r}; choose from {', '.join(KINDS)}")
    made = pack(arguments.build.resolve(), arguments.out, arguments.kinds or KINDS)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
            for path in sorted(made)]
    (arguments.out / "SHA256SUMS").write_text("".join(sums))
    for path in sorted(made):
        print(f"{path.stat().st_size:>12,} bytes  {path}")


if __name__ == "__main__":
    main()
