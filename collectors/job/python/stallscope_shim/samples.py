"""One batch that is looked into: the ops under way, those that have ended, and what is written of them.

A process takes one sample at a time, in one thread. `monitored.py` or `profiled.py` tells which
calls are ops; a lock that other processes share is one while it is held.
"""
from _thread import get_ident

from . import op_names, pools, ring, session, watch

_SHORT = 20_000  # ns: shorter calls are a part of the one around them, if they are few
_CHEAP = 5_000  # ns of CPU, watching included: a native function that takes less is no op of its own
MOST = 600  # calls per batch that are spans of their own
_TIMED_WAITS = 4  # for a pool, whose workers' times are read
_AS_EVENTS = 100  # what that takes, at most
_DISTORTS = 20  # timing lines may take at most 1/20 of a batch whose ops are shown

current = None  # the sample that is being taken in this process


class _Call:
    """An op under way. `mark`: what its end is known by."""

    __slots__ = ("op", "mark", "native", "depth", "time", "cpu", "inside", "cpu_inside", "events",
                 "events_inside", "pool")

    def __init__(self, op, mark, native, events):
        self.op = op
        self.pool = None  # for `pools.end`
        self.mark = mark
        self.native = native
        self.depth = 1
        self.inside = self.cpu_inside = self.events_inside = 0  # of the ops inside, in ns
        self.events = events  # of the sample, before this call
        # A thread is often preempted where the kernel reads its CPU clock: that is within the op.
        self.time = ring.now()
        self.cpu = ring.cpu()


class Sample:
    """One batch: the ops under way, innermost last, and those that have ended."""

    def __init__(self, sight):
        self.sight = sight
        self.waits = pools.waits()
        self.thread = get_ident()
        self.stack = []
        self.long = []  # calls that have ended and are not short: (op, start, end, CPU ns, own ns)
        self.sums = {}  # op → [own ns, own CPU ns, own events], of all calls that have ended
        self.natives = {}  # op that is no Python function → [calls, the op around the last one]
        self.pooled = {}  # op that waits for a pool → its waits
        self.held = {}  # op of a lock → ns, those of the ops inside included
        self.first = None  # when the first call began
        self.calls = 0
        self.events = 0
        self.event_ns = 0  # what watching takes per event; 0 where it sees only what counts
        self.lines = None  # a lines.Lines
        self.began = self.ended = ring.now()

    def enter(self, op, mark, native=False):
        self.stack.append(_Call(op, mark, native, self.events))

    def waits_for_pool(self, op):
        """The innermost call does."""
        call = self.stack[-1]
        call.op = op
        if self.pooled.setdefault(op, 0) < _TIMED_WAITS:
            call.pool = pools.begin()
            self.events += _AS_EVENTS
            call.events, call.time = self.events, ring.now()
        self.pooled[op] += 1

    def leave(self):
        call = self.stack.pop()
        cpu = ring.cpu() - call.cpu
        time = ring.now()
        wall = time - call.time
        self.ended = time
        events = self.events - call.events
        if self.stack:
            outer = self.stack[-1]
            outer.events_inside += events
            outer.inside += wall
            outer.cpu_inside += cpu
        if call.pool is not None:
            pools.end(call.pool)
        own = wall - call.inside
        self.calls += 1
        if type(call.mark) is tuple and call.mark[0] is _LOCK:
            self.held[call.op] = self.held.get(call.op, 0) + wall
        if self.first is None or call.time < self.first:
            self.first = call.time
        if wall >= _SHORT and len(self.long) < MOST:
            self.long.append((call.op, call.time, time, cpu, own))
        sums = self.sums.setdefault(call.op, [0, 0, 0])
        sums[0] += own
        sums[1] += cpu - call.cpu_inside
        sums[2] += events - call.events_inside
        if call.native:
            native = self.natives.setdefault(call.op, [0, None])
            native[0] += 1
            native[1] = self.stack[-1].op if self.stack else None

    def write(self, stage, put):
        """True if there are ops."""
        while self.stack:
            self.leave()
        self._give_times_of_pools()
        if self.lines is not None:
            self.lines.keep()
            if self.lines.spent * _DISTORTS > ring.now() - self.began:
                name = session.string("stallscope: timing of lines")
                put(self.ended, ring.named(ring.ANNOTATION, name, self.began, self.ended))
                return False
        own = sum(wall for wall, _, _ in self.sums.values())
        watching = sum(events for _, _, events in self.sums.values()) * self.event_ns
        if own - sum(c[4] for c in self.long) <= own // 10 and watching <= own // 10:
            for op, start, end, cpu, _ in self.long:
                put(end, ring.named(ring.OP, op, start, end, stage, cpu))
        else:
            # Many short ones: one span per op with its own time, one behind the other.
            self._fold()
            self._leave_out_watching()
            time = self.first
            for op, (wall, cpu, _) in self.sums.items():
                if op not in self.held:
                    put(time + wall, ring.named(ring.OP, op, time, time + wall, stage, max(cpu, 0)))
                    time += wall
            for op, wall in self.held.items():  # around those inside
                put(self.first + wall, ring.named(ring.OP, op, self.first, self.first + wall, stage))
        return bool(self.sums)

    def _give_times_of_pools(self):
        """To the ops that wait for one, and as a part of those around them."""
        part = pools.computed() if self.pooled else 0
        if not part:
            return
        for op in self.pooled:
            if op in self.sums:
                self.sums[op][1] = int(self.sums[op][0] * part)
        waits = [(start, end) for op, start, end, _, _ in self.long if op in self.pooled]
        for i, (op, start, end, cpu, own) in enumerate(self.long):
            cpu += sum(int((b - a) * part) for a, b in waits if start <= a and b <= end)
            self.long[i] = op, start, end, min(cpu, end - start), own

    def _fold(self):
        """Gives what cheap native functions took to their callers: nobody can make `dict.get` cheaper, but
        its caller may do without the loop."""
        for op, (calls, around) in self.natives.items():
            wall, cpu, events = self.sums[op]
            # It may have been preempted; a call that waits is no cheap one.
            cheap = cpu < calls * _CHEAP and wall < 8 * calls * _CHEAP
            if cheap and around in self.sums and around != op:
                self.sums[around][0] += wall
                self.sums[around][1] += cpu
                self.sums[around][2] += events
                del self.sums[op]

    def _leave_out_watching(self):
        """Takes from each op what watching its calls took. In all they last as long as they did: the ops
        are parts of the time that the fetch took while it was watched."""
        without = {op: max(0, wall - events * self.event_ns)
                   for op, (wall, _, events) in self.sums.items()}
        whole = sum(wall for wall, _, _ in self.sums.values())
        left = sum(without.values())
        if left == 0 or left == whole:
            return
        for op, sums in self.sums.items():
            wall = without[op] * whole // left
            cpu = max(0, sums[1] - sums[2] * self.event_ns) * whole // left
            sums[:2] = wall, min(cpu, wall)


_LOCK = object()  # in the mark of a lock that is held


def sampled():
    """The calling thread makes a batch that is looked into."""
    return current is not None and current.thread == get_ident()


def hold(lock, frame):
    """It takes a lock that other processes share, in the line where `frame` is."""
    key = (id(frame.f_code), frame.f_lineno, type(lock))
    op = op_names.known.get(key)
    if op is None:
        op = op_names.learn(key, session.string(
            "multiprocessing.%s held" % type(lock).__name__,
            session.absolute(frame.f_code.co_filename), frame.f_lineno), frame.f_code)
    current.enter(op, (_LOCK, id(lock), True))


def let_go(lock):
    sample = current
    if sample is None or sample.thread != get_ident():
        return
    if not any(_is_of(lock, call.mark) for call in sample.stack):
        return
    while sample.stack:
        mark = sample.stack[-1].mark
        sample.leave()
        if _is_of(lock, mark):
            return


def _is_of(lock, mark):
    return type(mark) is tuple and mark[0] is _LOCK and mark[1] == id(lock)


def hook(callback, stop=lambda: None):
    """The callback of an interpreter's hook. After an error it sees no more samples."""
    def end():
        global current
        current = None
        stop()

    return watch.hook(callback, "what a fetch calls", end)
