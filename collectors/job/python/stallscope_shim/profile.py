"""Windows of the framework's own profiler: a few steps after the warm-up, and a few later.

A window opens and closes between two steps, on the trainer's thread, where a hook calls `boundary`.
The profiler's file goes into the session's folder, and `stallscope run` joins it into the trace after
the job. Marks in the profile, named after the time of CLOCK_MONOTONIC at which they begin, match its
clock to the run's. Starting and stopping the profiler are spans of their own: steps that overlap them
count in no rate.

A process has at most one profiler. While the job uses one, ours has no window, and an open one ends
before the job's begins, so that the job's works as usual.
"""
import os
import sys

from . import ring, session
from .watch import pass_on

STEPS = 10  # of a window, at most
_FIRST = 5  # steps before the first window
_LATER = 6  # the second window opens after this many times the steps of the first
_LONGEST_NS = 5_000_000_000  # past this, a window of slow steps ends at the third
_SHARE = 20  # the second window waits until the first has cost at most 1/20 of the time since
_LEAST_FREE = 192 << 20  # bytes in the session's folder
_MOST_BYTES = 256 << 20  # of one file
MARK = "stallscope@"


class Profiler:
    """One framework's profiler. `start` and `stop` may raise; no other call overlaps them."""

    name = ""
    kind = ""
    hushed = ()  # words in the lines that its native code writes to stderr

    def busy(self):
        """True while the job uses it."""
        raise NotImplementedError

    def start(self, folder):
        raise NotImplementedError

    def stop(self, folder):
        """Returns the path of the file that it has written."""
        raise NotImplementedError

    def mark(self, text):
        """A context manager that puts a span of this name into the profile."""
        raise NotImplementedError


class Windows:
    """The windows of this process."""

    def __init__(self):
        self.makers = []  # return the profiler of a framework that trains, or None
        self.profiler = None
        self.first_at = None
        self.opened = 0
        self.next_step = _FIRST
        self.open = False
        self.began = 0  # the steps before the open window
        self.cost_ns = 0
        self.closed_at = 0
        self.folder = ""
        self.made_way = False  # to the job's own profiler, and this is said

    def use(self, make):
        """Only one framework is profiled: the first whose `make()` returns a profiler. It is called when
        the first window is due: only then is it known whether the job uses a device."""
        if make not in self.makers and not self.opened and wanted():
            self.makers.append(make)

    def boundary(self, steps):
        """Between two steps, of which `steps` are done. True if time has passed meanwhile."""
        if not self.makers:
            return False
        try:
            return self._boundary(steps)
        except Exception as error:
            pass_on(error)
            self.stand_back("%s: %s" % (type(error).__name__, str(error)[:200]))
            return True

    def _boundary(self, steps):
        if self.open:
            slow = steps - self.began >= 3 and ring.now() - self.opened_at > _LONGEST_NS
            if steps - self.began < STEPS and not slow:
                self._mark()
                return False
            self.close()
            return True
        if steps < self.next_step or self.opened >= 2 or not self._may():
            return False
        if self.profiler is None:
            self.profiler = self._made()
        if self.profiler is None:
            self.makers = []
            return False
        return self._open(steps)

    def _made(self):
        for make in self.makers:
            try:
                profiler = make()
            except Exception as error:
                pass_on(error)
                session.say("no windows of the framework's profiler: %s: %s" %
                            (type(error).__name__, error))
                continue
            if profiler is not None:
                return profiler
        return None

    def _may(self):
        return not self.opened or (ring.now() - self.closed_at) > _SHARE * self.cost_ns

    def _open(self, steps):
        if self.profiler.busy():
            self._make_way()
            self.next_step = steps + STEPS
            return False
        try:
            about = os.statvfs(session.folder)
            if about.f_bavail * about.f_frsize < _LEAST_FREE:
                self.stand_back("no room for its file in %s" % session.folder)
                return False
            self.folder = os.path.join(
                session.folder, ".%s.%d.profiling" % (session.key(), self.opened))
            os.mkdir(self.folder, 0o700)
        except OSError as error:
            self.stand_back(str(error))
            return False
        self.opened += 1
        self.began = steps
        time = ring.now()
        try:
            with Hush(self.profiler.hushed, self.folder):
                self.profiler.start(self.folder)
        except Exception as error:
            self.stand_back("%s: %s" % (type(error).__name__, str(error)[:200]))
            _remove(self.folder)
            return True
        self.open = True
        self.opened_at = ring.now()
        self.cost_ns = self.opened_at - time
        ring.mine().put(self.opened_at, ring.named(
            ring.ANNOTATION, session.string("stallscope: profiler start"), time, self.opened_at))
        self._mark()
        return True

    def _mark(self):
        try:
            with self.profiler.mark(MARK + "%d" % ring.now()):
                pass
        except Exception:
            pass  # one mark is enough

    def close(self):
        """The window ends: the profiler's file is handed over."""
        if not self.open:
            return
        try:
            self._close()
        except Exception as error:
            self.stand_back("%s: %s" % (type(error).__name__, str(error)[:200]))

    def _close(self):
        self._mark()
        self.open = False
        time = ring.now()
        path = None
        try:
            with Hush(self.profiler.hushed, self.folder):
                path = self.profiler.stop(self.folder)
        except Exception as error:
            self.stand_back("%s: %s" % (type(error).__name__, str(error)[:200]))
        done = ring.now()
        ring.mine().put(done, ring.named(
            ring.ANNOTATION, session.string("stallscope: profiler stop"), time, done))
        try:
            if path is not None:
                self._hand_over(path, time)
        except OSError as error:
            session.say("the data of %s is lost: %s" % (self.profiler.name, error))
        _remove(self.folder)
        self.closed_at = ring.now()
        self.cost_ns += self.closed_at - time
        self.next_step = max(self.began * _LATER, self.began + 5 * STEPS)

    def _hand_over(self, path, until):
        if os.stat(path).st_size > _MOST_BYTES:
            session.say("the file of %s is larger than %d MiB and was left out" %
                        (self.profiler.name, _MOST_BYTES >> 20))
            return
        name = "%s.%d.profile" % (session.key(), self.opened - 1)
        os.rename(path, os.path.join(session.folder, name))
        session.note("profile", {"file": name, "kind": self.profiler.kind,
                                 "from": self.opened_at, "to": until})

    def stand_back(self, why):
        """No more windows in this process."""
        profiler, self.profiler = self.profiler, None
        self.makers = []
        if profiler is not None:
            session.say("no more windows of %s: %s" % (profiler.name, why))

    def enough(self):
        """No window is open, and no more are wanted: something else is about to be measured."""
        self.profiler = None
        self.makers = []

    def job_profiles(self):
        """The job is about to start its own profiler."""
        if self.open:
            self._make_way()
            self.close()

    def _make_way(self):
        if not self.made_way:
            self.made_way = True
            session.say("no window of %s while the job itself uses it" % self.profiler.name)


def wanted(everything=False):
    """`everything`: the window would show only the CPU's ops, so it needs `--profile all`."""
    asked = session.settings().get("profile", "auto")
    return asked == "all" or (asked == "auto" and not everything)


windows = Windows()


def _forked():
    """A child has no part in its parent's window."""
    global windows
    windows = Windows()


session.fork_hooks.append(_forked)


def _remove(folder):
    try:
        for place, folders, files in os.walk(folder, topdown=False):
            for name in files:
                os.unlink(os.path.join(place, name))
            for name in folders:
                os.rmdir(os.path.join(place, name))
        os.rmdir(folder)
    except OSError:
        pass


class Hush:
    """Keeps the messages of a profiler's native code out of the job's stderr: lines go to a file, and
    those without one of its words are written to stderr afterward."""

    def __init__(self, words, folder):
        self.words = [word.encode() for word in words]
        self.path = os.path.join(folder, "stderr")
        self.kept = None

    def __enter__(self):
        if not self.words:
            return
        try:
            if sys.stderr is not None:
                sys.stderr.flush()
            self.kept = os.dup(2)
            to = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.dup2(to, 2)
            finally:
                os.close(to)
        except Exception:
            self._back()

    def _back(self):
        kept, self.kept = self.kept, None
        if kept is not None:
            os.dup2(kept, 2)
            os.close(kept)
            return True
        return False

    def __exit__(self, *_):
        try:
            if not self._back():
                return
            with open(self.path, "rb") as f:
                lines = f.read().splitlines(True)
            os.unlink(self.path)
            for line in lines:
                if not any(word in line for word in self.words):
                    os.write(2, line)
        except Exception:
            pass


class Gate:
    """Stands in for the lock that a framework holds while its profiler starts: if we do not take it,
    the job does."""

    def __init__(self, lock):
        self._lock = lock
        self.ours = False

    def _job(self):
        if not self.ours:
            self.ours = True  # our own stop also takes it
            try:
                windows.job_profiles()
            except Exception:
                pass
            self.ours = False

    def __enter__(self):
        self._job()
        return self._lock.__enter__()

    def __exit__(self, *args):
        return self._lock.__exit__(*args)

    def acquire(self, *args, **kwargs):
        self._job()
        return self._lock.acquire(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._lock, name)


def found(folder, ending):
    """The file that a profiler has written, wherever it is."""
    for place, _, files in os.walk(folder):
        for name in files:
            if name.endswith(ending):
                return os.path.join(place, name)
    raise OSError("the profiler wrote no file")
