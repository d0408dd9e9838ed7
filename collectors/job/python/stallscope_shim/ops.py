"""Names for what a data set does inside of a fetch.

The calls that `__getitem__` or `__iter__` makes are ops, and those of a Compose. In the data set's
own methods, inherited ones too, and in functions of its module, calls of one another and of
libraries that decode or read are; everything else is part of the function that calls it. Each call
is a span, around those of the ops inside of it.

Whole batches are sampled, so that watching costs about 0.3% of the time: with `sys.monitoring`
where there is one (Python 3.12), on these functions alone; else with `sys.setprofile`, which makes
calls dearer, on fewer batches.
"""
import sys

from . import lines, locks, op_names, ring, samples, session
from .codes import Codes
from .sight import CollateSight, StageSight, of as sight_of, shares
from .spans import stage_of

if hasattr(sys, "monitoring"):
    from . import monitored as calls
else:
    from . import profiled as calls

_BUDGET = 300  # watching may cost one part in so many of the time
_EARLY = 100  # the same for the first samples of a job, which may end soon
_FEW = 3
_KNOWN = 16  # samples of a pass: after twice as many, it may cost half as much, and so on
_LEAST = 10  # but never less than this fraction
_BURST = 5_000_000  # ns of watching that may be saved up: a slow batch right behind a fast one
_AGAIN = 1_000_000  # the same at the beginning of a later pass
_COLD = 4  # batches
_SPREAD = 4  # samples: the first ones are further and further apart, so that not all are in the warm-up
_WHOLE = 32  # batches


class Watcher:
    """Of one fetcher: decides which of its batches are looked into. The first ones are cold, and come
    before the trainer's steps are steady: in a job's first pass they are left out."""

    def __init__(self, generation, look=sight_of):
        self.first = not generation
        self.look = look
        self.sight = None  # what is known of the data set
        self.skipped = 1 if generation else _COLD
        self.off = session.settings().get("profile") == "off"
        locks.watch()
        self.credit = _AGAIN if generation else _BURST
        self.time = ring.now()
        self.later = 0  # no sample before
        self.running = None
        self.watched = False  # the last batch was
        self.usual = None  # CPU ns of one that is not
        self.written = False  # whether the last sample has shown ops
        self.samples = 0
        self.collating = None  # the Sight of the job's own collate function
        self.collate_fn = None

    def begin(self, fetcher, stage):
        self.watched = False
        if self.off:
            return
        if self.running is not None:
            self.end()
        time = ring.now()
        if time < self.later:
            return
        part = _BUDGET * min(max(1, self.samples // _KNOWN), _LEAST)
        if self.first and self.samples < _FEW:
            part = _EARLY
        self.credit = min(_BURST, self.credit + (time - self.time) // part)
        self.time = time
        if self.skipped:
            self.skipped -= 1
            return
        if self.credit <= 0:
            self.later = time + (1 - self.credit) * part
            return
        if self.sight is None:
            self.sight = self.look(fetcher)
            if calls.LOSES_CHANGES and shares(self.sight):
                self.off = True
                session.say("a function of the data set changes variables of another one: with this "
                            "Python, ops inside of a fetch are not seen")
                return
        self.watched = True
        self.before = self.credit
        self._take(self.sight, stage, time)
        self.samples += 1
        if self.first and self.samples <= _SPREAD:
            self.skipped = 1 << self.samples - 1

    def _take(self, sight, stage, time):
        self.stage = stage
        self.running = _begin(sight, lines.due(self.samples))
        self.credit -= ring.now() - time

    def collate(self, fetcher, stage):
        """The fetch of the batch is done. If it was watched, so is the job's own collate function."""
        if self.running is None:
            return
        self.samples -= 1  # it continues the same sample
        self.end()
        if self.collating is None or self.collate_fn is not fetcher.__dict__.get("collate_fn"):
            self.collate_fn = fetcher.__dict__.get("collate_fn")
            self.collating = CollateSight(self.collate_fn)
            if calls.LOSES_CHANGES and shares(self.collating):
                self.collating.entries = Codes()
        if self.collating.entries:
            self._take(self.collating, stage, ring.now())
        self.samples += 1

    def took(self, cpu):
        """What a batch has used: while it is watched, the interpreter itself may be several times as slow. The
        first samples of a pass, which may be short, are taken all the same."""
        if self.watched and self.usual is not None and self.samples > _SPREAD:
            self.credit = min(self.credit, self.before - max(0, cpu - self.usual))
        elif not self.watched:
            self.usual = cpu if self.usual is None else self.usual + (cpu - self.usual) // 8

    def held(self):
        """Ends the sample, and returns the words of its ops, in case others have to come first."""
        words = []
        self.end(lambda _, more: words.extend(more))
        return tuple(words)

    def end(self, put=None):
        sample, self.running = self.running, None
        self.written = False
        if sample is not None:
            time = ring.now()
            self.written = _end(sample, self.stage, put or ring.mine().put)
            # Between other work, with cold caches, these are several times what a loop shows.
            timed = 0 if sample.lines is None else sample.lines.events
            inside = (sample.events + timed) * 800 + min(sample.calls, samples.MOST) * 5000
            self.credit -= ring.now() - time + inside


class Entered:
    """Where a stage of the job's is entered: in a `with`, or when a function is `called`."""

    __slots__ = ("op", "code", "place", "called")

    def __init__(self, op, code, line, called):
        self.op = op.replace("<locals>.", "")
        self.code = code
        self.place = (session.absolute(code.co_filename), line)
        self.called = called


class StageWatcher(Watcher):
    """Of a stage that the job names, in one thread: of some of the times that it is entered."""

    def __init__(self, name):
        super().__init__(0, StageSight)
        self.name = name

    def begin(self, entered, loader):
        if self.running is not None:  # within itself
            return
        self.loader = loader
        super().begin(entered, None)
        if self.running is not None and not entered.called:
            self.running.enter(session.string(entered.op, *entered.place), (None, None, True))

    def end(self, put):
        if self.running is not None:
            self.stage = stage_of(self.loader, self.name)
            super().end(put)


class Whole:
    """A stage that is a single function of the job: one op, recorded for the first batches and for some
    of the later ones; not once a sample has looked into it, for what its calls take would be its own."""

    _looked_into = Codes()

    def __init__(self, code, name):
        seen = code is not None and session.settings().get("profile") != "off"
        self.op = op_names.define(name, code, code, 0) if seen else None
        self.code = code
        self.seen = 0

    def looked_into(self):
        self._looked_into.add(self.code)

    def words(self, stage, start, end, cpu):
        if self.op is None or self.code in self._looked_into:
            return ()
        self.seen += 1
        if self.seen > _WHOLE and self.seen % _WHOLE:
            return ()
        return ring.named(ring.OP, self.op, start, end, stage, cpu)


def collate_as_a_whole(collate):
    return Whole(*next(iter(CollateSight(collate).entries.items()), (None, "")))


def _begin(sight, timed):
    """A sample of the batch that this thread is about to fetch, with its lines `timed`; None if another
    thread has one."""
    if samples.current is not None:
        return None
    samples.current = calls.begin(sight, timed)
    return samples.current


def _end(sample, stage, put):
    if samples.current is sample:
        samples.current = None
    calls.end(sample)
    return sample.write(stage, put)


def _forked():
    sample, samples.current = samples.current, None
    if sample is not None:
        calls.end(sample)


session.fork_hooks.append(_forked)
