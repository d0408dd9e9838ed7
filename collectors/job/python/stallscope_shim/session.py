"""This process's part of the session: who it is, and the file that names what its rings refer to.

No descriptor is kept open: a job that closes all of its descriptors, and opens its own under the
same numbers, must not find our lines in its files. Any thread may call; a forked child starts over.
"""
import os
import sys
import time
from _thread import RLock

try:
    from _json import encode_basestring_ascii as _quote
except ImportError:
    from json.encoder import py_encode_basestring_ascii as _quote

# Bound now: a job may replace what is in `os` (file system fakes do).
_open, _write, _read, _close, _getpid = os.open, os.write, os.read, os.close, os.getpid

folder = None  # of the session
cwd = ""  # when the process started: relative file names of code begin there
started = 0.0  # when that was
fork_hooks = []  # called in a forked child, in order
_lock = RLock()
_state = None
_settings = None
_LINE_LIMIT = 60000


class _Names:
    """The names file of this process. Broken for good after its first error."""

    def __init__(self):
        self.pid = _getpid()
        self.broken = False
        self.counts = {}
        self.strings = {}
        self.said = set()
        self.key = ""
        try:
            self.key = "%d.%d" % (self.pid, _start_time())
            self.path = os.path.join(folder, self.key + ".names")
            self._resume()
        except (OSError, ValueError, IndexError):
            self.broken = True

    def _resume(self):
        """After an exec the file of this process is there already: go on behind its ids."""
        try:
            old = content(self.path)
        except OSError:
            return
        for kind in ("loader", "queue", "stage", "counter", "track"):
            self.counts[kind] = old.count(b'\n{"' + kind.encode() + b'":')
        self.counts["string"] = old.count(b'\n{"string":') + old.count(b'\n{"op":')

    def write(self, kind, value):
        if self.broken:
            return
        line = ('{"%s": %s}\n' % (kind, encode(value))).encode("ascii", "replace")
        if len(line) > _LINE_LIMIT:
            return
        try:
            fd = _open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                _write(fd, line)
            finally:
                _close(fd)
        except OSError:
            self.broken = True

    def add(self, ids, kind, /, **fields):
        """Writes a definition. Only then is its id taken: a signal handler of the job's may raise before."""
        number = self.counts.get(ids, 0)
        self.write(kind, dict(id=number, **fields))
        self.counts[ids] = number + 1
        return number


def start(session_folder):
    """Called once per interpreter. Writes down that this Python has the shim."""
    global folder, cwd, started
    folder = session_folder
    started = time.time()
    try:
        cwd = os.getcwd()
    except OSError:
        cwd = ""
    os.register_at_fork(after_in_child=_forked)
    describe()


def key():
    """Of this process in file names: pid and start time."""
    return _names().key


def broken():
    return _names().broken


def describe(name=None):
    """Writes the process line; `name` is what a user would call the process."""
    try:
        arguments = content("/proc/self/cmdline").decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        arguments = []
    line = {
        "pid": _getpid(),
        "parent": os.getppid(),
        "name": name or _process_name(arguments),
        "python": "%d.%d.%d" % sys.version_info[:3],
        "argv": _masked(arguments)[:64],
    }
    rank = _rank()
    if rank is not None:
        line["rank"] = rank
        line["ranks_of_host"] = _ranks_of_host()
    with _lock:
        _names().write("process", line)


def _rank():
    """What the launcher of several ranks calls this process; None: nothing."""
    return _first_number("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def _ranks_of_host():
    """How many the launcher has started here; 0: unknown."""
    found = _first_number("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
    return _tasks_of_node() if found is None else found


def _tasks_of_node():
    """Of a Slurm step, whose nodes have "8(x2),1" tasks."""
    node = _first_number("SLURM_NODEID") or 0
    for part in os.environ.get("SLURM_STEP_TASKS_PER_NODE", "").split(","):
        tasks, _, times = part.partition("(x")
        times = times.rstrip(")") or "1"
        if not (tasks.isdigit() and times.isdigit()):
            return 0
        if node < int(times):
            return int(tasks)
        node -= int(times)
    return 0


def _first_number(*names):
    for name in names:
        value = os.environ.get(name, "")
        if value.isascii() and value.isdigit():
            return int(value)
    return None


def define(kind, /, **fields):
    """Writes a line with a new id of `kind`, and returns the id."""
    with _lock:
        return _names().add(kind, kind, **fields)


def next_number(kind):
    """The id that the next definition of `kind` will have."""
    with _lock:
        return _names().counts.get(kind, 0)


def redefine(kind, number, /, **fields):
    with _lock:
        _names().write(kind, dict(id=number, **fields))


def string(text, file=None, line=0):
    """The id of a text; of an op, where it has a place."""
    with _lock:
        names = _names()
        place = (text, file, line)
        number = names.strings.get(place)
        if number is None:
            if file is None:
                number = names.add("string", "string", text=text[:1000])
            else:
                number = names.add("string", "op", name=text[:200], file=file, line=line)
            names.strings[place] = number
        return number


def note(kind, value):
    """A line that is neither a definition nor about an id."""
    with _lock:
        _names().write(kind, value)


def say(text):
    """One sentence about what is not seen; once per process."""
    with _lock:
        names = _names()
        if text not in names.said and len(names.said) < 50:
            names.said.add(text)
            names.write("said", text)


def settings():
    """What the user asked for; {} if nothing."""
    global _settings
    if _settings is None:
        import json

        _settings = {}
        try:
            found = json.loads(content(os.path.join(folder, "settings.json")).decode("utf-8"))
            if isinstance(found, dict):
                _settings = found
        except (OSError, ValueError):
            pass
    return _settings


def absolute(file):
    """The path of a code object's file, without the ".." of a script that was started by it."""
    return file if file.startswith("<") else os.path.normpath(os.path.join(cwd, file))


def _names():
    global _state
    if _state is None:
        _state = _Names()
        if _getpid() != _first_pid and not _state.counts:
            describe()
    return _state


def _forked():
    """In a forked child: forget the parent's files, which stay as they are."""
    global _state, _lock
    _lock = RLock()  # another thread may have held it
    _state = None
    for hook in fork_hooks:
        try:
            hook()
        except Exception:
            pass


_first_pid = _getpid()


def content(path):
    fd = _open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while True:
            part = _read(fd, 1 << 16)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        _close(fd)


def _start_time():
    return int(content("/proc/self/stat").rpartition(b")")[2].split()[19])


def _process_name(arguments):
    for before, argument in zip(arguments, arguments[1:]):
        if before in ("-W", "-X"):
            continue
        if before == "-c":
            module = argument.split()[1:2] if argument.startswith("from multiprocessing") else []
            return module[0] if module else "python -c"
        if before == "-m" or not argument.startswith("-"):
            return os.path.basename(argument)[:60]
    return os.path.basename(sys.executable or "python")


_SECRETS = ("token", "secret", "passw", "credential", "_key", "-key", "apikey", "auth")


def _masked(arguments):
    masked = []
    hide = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        secret = any(word in name.lower() for word in _SECRETS)
        if hide and not argument.startswith("-"):
            argument = "***"
        elif secret and equals:
            argument = name + "=***"
        hide = secret and not equals and argument.startswith("-")
        masked.append(argument[:2000])
    return masked


def encode(value):
    """JSON without importing json, which costs 3 ms."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return "%d" % value
    if isinstance(value, float) and value - value == 0:
        return repr(float(value))
    if isinstance(value, dict):
        return "{%s}" % ", ".join(
            "%s: %s" % (_text(k), encode(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(encode(v) for v in value)
    return _text(value)


def _text(value):
    # Lone surrogates (undecodable arguments, file names) are no JSON for strict readers.
    return _quote(str(value).encode("utf-8", "backslashreplace").decode("utf-8"))
