"""Times the lines of the job's own functions, in some of the batches that `ops.py` looks into.

A line lasts until the next one of its function begins, including the calls that it makes and
excluding the cost of watching. Lines are timed by the thread that runs them: a sampling thread would
wait for the interpreter lock and see only the lines that release it. A hot loop has too many lines:
after a while it runs untimed, and its remaining time is divided among the lines that ran last.
"""
import sys
from collections import deque

from . import ring, session
from .codes import Known
from .loaders import installed
from .watch import pass_on

_MOST = 1500  # timed lines per sample
_LAST = 64  # of these, the last ones, which represent the rest
_DISPATCH = 250  # ns for the interpreter to call the shim, not covered by the shim's own clock
_MOST_LINES = 200  # of a function
_EVERY_NS = 1_000_000_000
_SHIM = __file__[:-len("lines.py")]

_wanted = Known()  # whether it is the job's own
_table = {}  # id of a code → (that code, {line: [ns, times]}), since it was last written
_samples = 0
_written = 0
_busy = None  # before Python 3.12: the sample that traces


def wanted(code):
    known = _wanted.get(code)
    if known is None:
        file = code.co_filename
        known = _wanted.put(code, not (file.startswith(("<", _SHIM)) or installed(file)))
    return known


def due(samples):
    """Whether the sample with this number times its lines. Most do not: it distorts the other
    times."""
    return samples % 2 == 1 and (samples < 32 or samples % 8 == 1)


class Lines:
    """The lines of one sample. The caller catches all errors."""

    def __init__(self):
        self.frames = []  # [code, line, since, spent then], innermost last
        self.events = 0
        self.spent = 0  # ns spent on watching
        self.last = deque(maxlen=_LAST)
        self.full = False
        self.ignored = 0  # functions begun since then
        self.times = {}  # as in _table

    def start(self, code):
        if self.full:
            self.ignored += 1
            return
        self.events += 1
        self.frames.append([code, 0, ring.now(), self.spent])
        self.spent += _DISPATCH

    def line(self, code, number):
        """True once there are too many of them."""
        if self.full:
            return True
        time = ring.now()
        frames = self.frames
        while frames and frames[-1][0] is not code:
            frames.pop()  # an exception ended it
        if frames:
            frame = frames[-1]
            self._charge(frame, time)
        else:  # it ran when the sample began
            frame = [code, 0, 0, 0]
            frames.append(frame)
        self.last.append((code, number))
        self.events += 1
        self.full = self.events >= _MOST
        frame[1] = number
        frame[2] = after = ring.now()
        self.spent += after - time + _DISPATCH
        frame[3] = self.spent
        return self.full

    def end(self, code):
        if self.full and self.ignored:
            self.ignored -= 1
            return
        time = ring.now()
        frames = self.frames
        while frames and frames[-1][0] is not code:
            frames.pop()
        if not frames:
            return
        frame = frames.pop()
        loop = [key for key in self.last if key[0] is code] if self.full else ()
        if loop and not (frames and frames[-1][0] is code):
            self._share(frame, time, loop)
            self.last.clear()
        else:
            self._charge(frame, time)
        self.spent += ring.now() - time + _DISPATCH

    def _charge(self, frame, time):
        if frame[1]:
            _add(self.times, frame[0], frame[1], time - frame[2] - (self.spent - frame[3]), 1)

    def _share(self, frame, time, loop):
        left = time - frame[2] - (self.spent - frame[3])
        for code, line in loop:
            _add(self.times, code, line, left // len(loop), 0)

    def keep(self):
        """Adds the sample to the earlier ones."""
        global _samples, _written
        for code, lines in self.times.values():
            for line, (ns, times) in lines.items():
                _add(_table, code, line, ns, times)
        _samples += 1
        time = ring.now()
        # Written often: a short job has few samples, and a killed one loses those of the last second.
        if _samples & (_samples - 1) == 0 or time - _written >= _EVERY_NS:
            _written = time
            _write()


def _add(table, code, line, ns, times):
    lines = table.get(id(code))
    if lines is None:
        lines = table[id(code)] = code, {}
    sums = lines[1].setdefault(line, [0, 0])
    sums[0] += max(ns, 0)
    sums[1] += times


def _write():
    for code, lines in list(_table.values()):  # other threads add to it
        slowest = sorted(lines.items(), key=lambda item: -item[1][0])[:_MOST_LINES]
        session.note("lines", {
            "file": session.absolute(code.co_filename), "first": code.co_firstlineno,
            "lines": [[line, ns, times] for line, (ns, times) in slowest]})
    _table.clear()


# Before Python 3.12.


def trace(lines):
    """Times the calling thread's lines; False if the job traces them itself."""
    global _busy
    if sys.gettrace() is not None:
        return False
    _busy = lines
    sys.settrace(_called)
    return True


def stop():
    global _busy
    _busy = None
    if sys.gettrace() is _called:
        sys.settrace(None)


def _called(frame, event, arg):
    try:
        lines = _busy
        if lines is None or lines.full or not wanted(frame.f_code):
            return None
        lines.start(frame.f_code)
        return _traced
    except Exception as error:
        pass_on(error)
        stop()


def _traced(frame, event, arg):
    """For a frame that began while lines were timed; a generator's may go on long after that."""
    try:
        lines = _busy
        if lines is None:
            frame.f_trace = None
            return None
        if event == "line":
            if lines.line(frame.f_code, frame.f_lineno):
                frame.f_trace_lines = False  # still reports its end
        elif event == "return":
            lines.end(frame.f_code)
        return _traced
    except Exception as error:
        pass_on(error)
        stop()


def _forked():
    stop()
    _table.clear()


session.fork_hooks.append(_forked)
