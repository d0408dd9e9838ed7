"""A folder with both programs and everything that they need except the system's C library.

    stage(build, prefix)   installs a build into `prefix`, as `cmake --install` does
    bundle(prefix)         adds the shared libraries, and makes the programs find them from anywhere

The tree looks like any installation, bin/ lib/ share/, so the wheel and the tar are the same files
and the programs find each other, their samples and modules as they do under /usr.

Libraries are in two folders. Those in lib/stallscope/ are always used. Those in its folder `fallback`
are used only if the system has none: a display's drivers need the system's own X and GL, and a system
with a newer C library also has the newer C++ runtime. So the search path of each file lists our folder,
then the system's, then the fallback. A launcher that sets LD_LIBRARY_PATH would pass it on to the
user's own job."""
import os
import re
import shutil
import subprocess
from pathlib import Path

PROGRAMS = ["stallscope", "stallscope-gui"]
LIBRARIES = Path("lib/stallscope")
FALLBACK = "fallback"
LICENSES = Path("share/doc/stallscope/licenses")
# Debian has the text of each common license once; a copyright file names it by its place there.
COMMON_LICENSES = Path("/usr/share/common-licenses")

# Parts of the C library: they belong to the machine's kernel and loader.
SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|mvec))\.so")
# Taken from the system if it has them.
PREFER_SYSTEM = re.compile(
    r"^lib(stdc\+\+|gcc_s|X11|xcb|Xau|Xdmcp|bsd|md|GL|GLX|GLdispatch|OpenGL|EGL)\.so")
SYSTEM_FOLDERS = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64",
                  "/usr/lib"]


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def stage(build, prefix):
    for component in ("programs", "desktop"):
        run("cmake", "--install", build, "--prefix", prefix, "--component", component, "--strip")


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", file))


def loaded(program):
    """The libraries that the loader would load for a program: {soname: path}."""
    found = {}
    for line in run("ldd", program).splitlines():
        name, arrow, path = line.strip().partition(" => ")
        if arrow:
            if path.startswith("not found"):
                raise SystemExit(f"{program} needs {name}, which is not installed")
            found[name] = Path(path.rsplit(" (", 1)[0])
    return found


def packages_of(libraries):
    """The Debian packages that own the libraries. dpkg knows each by one of its paths: /lib may be a link
    to /usr/lib."""
    names = {}
    for library in libraries:
        real = str(library.resolve())
        names[library] = {str(library), real, real.replace("/usr/lib/", "/lib/", 1)}
    asked = subprocess.run(["dpkg-query", "-S", *sorted(set().union(*names.values()))], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    owners = {}
    for line in asked.splitlines():
        package, _, path = line.partition(": ")
        owners[path] = package.split(":")[0]
    found = set()
    for library, paths in names.items():
        owner = next((owners[path] for path in paths if path in owners), None)
        if owner is None:
            raise SystemExit(f"no Debian package owns {library}: its license is unknown")
        found.add(owner)
    return found


def bundle(prefix):
    prefix = Path(prefix)
    ours = prefix / LIBRARIES
    (ours / FALLBACK).mkdir(parents=True, exist_ok=True)
    libraries = []
    for program in PROGRAMS:
        for name, path in loaded(prefix / "bin" / program).items():
            if SYSTEM.match(name):
                continue
            target = ours / (Path(FALLBACK) / name if PREFER_SYSTEM.match(name) else name)
            if not target.exists():
                shutil.copy(path, target)
                os.chmod(target, 0o644)
                libraries.append(path)
    for file in elf_files(prefix):
        to_ours = os.path.relpath(ours, file.parent)
        origin = "$ORIGIN" if to_ours == "." else f"$ORIGIN/{to_ours}"
        run("patchelf", "--set-rpath",
            ":".join([origin, *SYSTEM_FOLDERS, f"{origin}/{FALLBACK}"]), file)
    licenses = prefix / LICENSES
    licenses.mkdir(parents=True, exist_ok=True)
    for package in packages_of(libraries):
        shutil.copy(f"/usr/share/doc/{package}/copyright", licenses / f"{package}.txt")
    (licenses / "common").mkdir(exist_ok=True)
    for name in common_licenses(licenses):
        shutil.copy(COMMON_LICENSES / name, licenses / "common" / f"{name}.txt")


def common_licenses(folder):
    """The names of those that the copyright files of a folder refer to."""
    found = set()
    for file in folder.glob("*.txt"):
        found |= set(re.findall(rf"{COMMON_LICENSES}/([A-Z]\w*(?:-[0-9]+(?:\.[0-9]+)*)?)",
                                file.read_text(errors="replace")))
    return sorted(name for name in found if (COMMON_LICENSES / name).is_file())


def elf_files(prefix):
    prefix = Path(prefix)
    return ([prefix / "bin" / name for name in PROGRAMS]
            + sorted((prefix / LIBRARIES).rglob("*.so*")))


def glibc(prefix):
    """The oldest C library that runs the tree: (2, 35). Fallbacks do not count: a machine with a C++
    runtime does not load ours."""
    versions = [(2, 17)]
    for file in elf_files(prefix):
        if file.parent.name != FALLBACK:
            versions += [tuple(map(int, found.split(".")))
                         for found in re.findall(r"\bGLIBC_([0-9.]+)", run("readelf", "-VW", file))]
    return max(versions)[:2]
