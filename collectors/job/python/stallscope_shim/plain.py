"""Loops that no DataLoader feeds: iterators of the job's own and of other libraries.

A watched iterator stands in the call chain, unlike most of what `watch.py` does: there is no class of the
library's to look into. It hands out the same batches, passes for the iterator in all else, and leaves
no frame in a traceback (from Python 3.11 on).

    __next__ → the step before ends; fetch begins
               → stages that the job names, within fetch, or in its other threads and processes
             ← fetch ends, or was a wait for those threads; the batch is handed out
"""
import functools
import os
import sys
import weakref
from _thread import _local

from . import batch_size, loaders, ops, ring, session, steps
from .spans import Spans, stage_of
from .watch import Instead, Method, guarded, pass_on

KEY = "_stallscope_plain"  # in the __dict__ of processes: the loader that their stages belong to
_STAGES = (("fetch", "map"), ("loader", "prefetch"))

_sources = {}  # (file, line, name) → Loader
_latest = None  # the one that the job's own threads work for
_elsewhere = False  # its stages run in other threads, too


class _Here(_local):
    """Of the calling thread."""

    active = None  # the watched iterator that makes a batch, or the thread's _Maker
    spans = None
    maker = None
    stages = None  # {name: StageWatcher}

    def __init__(self):
        self.roles = {}  # package → what the thread is for it


here = _Here()


def _forked():
    global _latest, _elsewhere
    here.active = here.spans = here.maker = here.stages = None
    here.roles.clear()
    _sources.clear()
    _passes.clear()
    _latest = None
    _elsewhere = False


session.fork_hooks.append(_forked)


def stage_watcher(name):
    """Of the calling thread. The stages around it, which are looked into, leave the next time to it."""
    if here.stages is None:
        here.stages = {}
    watcher = here.stages.get(name)
    if watcher is None:
        watcher = here.stages[name] = ops.StageWatcher(name)
    for other in here.stages.values():
        if other.running is not None and other is not watcher:
            other.skipped = max(1, other.skipped)
    return watcher


def making():
    """The watched iterator whose batch the calling thread makes, if any."""
    return None if here.active is here.maker else here.active


steps.making = making


# Batches.


class Watched(Instead):
    """An iterator over batches that a trainer asks for."""

    def __init__(self, iterator, loader, samples=None, data=None):
        Instead.__init__(self, iterator)
        self._stallscope_pass = _Pass(loader, samples, iterator if data is None else data)

    def __iter__(self):
        return self

    def __next__(self):
        own = self._stallscope_pass
        guarded(own.requested)
        try:
            batch = next(self._stallscope_original)
        except BaseException as error:
            own.ended()
            error.__traceback__ = error.__traceback__.tb_next
            raise
        guarded(own.received, batch)
        return batch


class _Pass:
    """One iterator over a loader."""

    def __init__(self, loader, samples, data):
        self.loader = loader
        self.samples = samples
        self.dataset = data
        self.ops = ops.Watcher(loader.passes)
        self.base = loader.id << 48 | (loader.passes & 0xFFFF) << 32
        loader.passes += 1
        self.feed = steps.Feed(loader)
        self.count = 0
        self.began = None
        self.inner = ring.NONE  # the last batch of a DataLoader that the last one was made of
        self.waited = bool(loader.workers)  # the last fetch was a wait: the next one may be, too
        self.spans = Spans()

    @property
    def item(self):
        return self.base | self.count

    def requested(self):
        self.began = None
        if here.active is not None or _in_worker():
            return  # it is a part of another batch
        here.active = self
        # Made of batches of a DataLoader with workers, whose own events come in between.
        around = self.loader.workers and self.inner != ring.NONE
        self.inner = ring.NONE
        self.began, self.cpu = steps.trainer.request()
        self.at, self.at_cpu = self.began, self.cpu  # where this piece of the fetch begins
        self.spans.resume(self.began, self.cpu)
        # Else the job itself says what is what, or others do it.
        if not (self.loader.named or self.waited or around):
            self.ops.begin(self, self.loader.fetch)

    def fetch(self):
        """Stands for a DataLoader's fetcher, whose end takes a profiler off."""

    def inner_begins(self, time, cpu):
        if self.at is not None:
            ring.later(
                self.spans.words(self.at, self._stage_words) +
                ring.work(self.loader.fetch, self.item, self.at, time, cpu - self.at_cpu))
        self.at = None

    def inner_ends(self, item, time, cpu):
        self.inner = item
        self.at, self.at_cpu = time, cpu

    def ended(self):
        """No batch: the data is at its end, or an exception came out."""
        if here.active is self:
            here.active = None
            self.ops.end()

    def received(self, batch):
        if self.began is None:
            return
        here.active = None
        words = self.ops.held()
        loader, item = self.loader, self.item
        if not loader.workers and not self.count & (self.count - 1):
            guarded(_look_for_workers, loader)
        for watcher in here.stages.values() if here.stages and self.spans.open else ():
            watcher.end(self.spans.add)  # of a stage in which a generator yields
        time, cpu = ring.now(), ring.cpu()
        self.spans.pause(time, cpu)
        fed = (_elsewhere or loader.workers) and self.inner == ring.NONE
        self.ops.took(cpu - self.cpu)
        # One that works for it, too, may have to wait for the interpreter or a core for longer.
        self.waited = fed and cpu - self.cpu < (time - self.began) // 4
        if self.waited:
            words = ()  # what it watched was the wait
        words += self.spans.words(self.at or self.began, self._stage_words)
        if self.waited:
            words += ring.wait(ring.EMPTY, loader.queue, self.began, time)
        elif self.at is not None:
            words += ring.work(loader.fetch, item, self.at, time, cpu - self.at_cpu)
        samples = self._samples(batch)
        words += ring.batch(loader.fetch, item, samples, time, self.inner)
        words += ring.release(loader.loader, item, time, time)
        self.count += 1
        steps.trainer.receive(self.feed, item, samples, time, cpu)
        ring.later(words)
        if loader.chain is not None:
            guarded(loader.chain.add, batch, True)

    def _samples(self, batch):
        if self.samples is None:
            return batch_size.samples(batch, True)
        return int(self.samples(batch) if callable(self.samples) else self.samples)

    def _stage_words(self, name, start, end, cpu):
        return ring.work(stage_of(self.loader, name), self.item, start, end, cpu)


def source(place, kind, dataset, settings=(), workers=0):
    """The Loader of an iterator that is no DataLoader's: one per line that iterates."""
    global _latest
    steps.prepare()
    key = (place and (place["file"], place["line"]), kind, dataset)
    loader = _sources.get(key)
    if loader is None:
        loader = _loader_of(kind=kind, dataset=dataset, where=place,
                            settings=dict(settings, workers=workers))
        loader.workers = workers
        if workers:
            session.redefine("stage", loader.fetch, name="fetch", kind="map", loader=loader.id,
                             workers=workers, ordered=True, inputs=[])
        _sources[key] = loaders.adopt(loader, place)
    _latest = loader
    return loader


def _loader_of(**line):
    loader = loaders.Loader(0, 0, True, False, stages=_STAGES, **line)
    loader.named = {}  # the job's own stages
    return loader


def pass_over(loader):
    """For those who tell it when a batch is asked for, and when it has come."""
    return _Pass(loader, None, None)


def watch(iterator, data, place, dataset, settings=(), samples=None):
    """For hooks: an iterator over `data`, watched; as it is where something else is recorded."""
    if here.active is not None or _in_worker():
        return iterator
    kind = loaders.class_name(data)
    return Watched(iterator, source(place, kind, dataset, settings), samples, data)


HANDS_OUT, AHEAD = 1, 2  # batches to the loop; or in a thread or process of the library's own


def watch_class(cls, describe, role=lambda iterator: HANDS_OUT):
    """For hooks: what all iterators of `cls` hand out, and what they do ahead of that, by the `role` of
    an iterator in the calling thread; None for neither. They stay the objects that they are: their
    library looks at their class. `describe(iterator)`: (place, kind, data set, settings, data)."""
    function = vars(cls)["__next__"]

    @functools.wraps(function)
    def __next__(iterator):
        if here.active is not None or _in_worker():
            return function(iterator)
        part = role(iterator)
        if part == AHEAD:
            return ahead(iterator, function, iterator)
        own = _pass_of(iterator, describe) if part == HANDS_OUT else None
        if own is None:
            return function(iterator)
        guarded(own.requested)
        try:
            batch = function(iterator)
        except BaseException as error:
            own.ended()
            error.__traceback__ = error.__traceback__.tb_next
            raise
        guarded(own.received, batch)
        return batch

    cls.__next__ = __next__


_passes = weakref.WeakKeyDictionary()  # iterator → _Pass, or None where it cannot be watched


def _pass_of(iterator, describe):
    try:
        if iterator not in _passes:
            _passes[iterator] = None
            place, kind, dataset, settings, data = describe(iterator)
            known = dict(settings)
            workers = known.get("num_workers") or known.get("threads") or known.get("workers") or 0
            _passes[iterator] = _Pass(source(place, kind, dataset, settings, workers), None, data)
        return _passes[iterator]
    except Exception as error:
        pass_on(error)
        session.say("the batches of %s are not recorded: %s: %s" %
                    (type(iterator).__qualname__, type(error).__name__, error))
        return None


# What is made ahead of the loop, without a name of the job's.

_SHORT = 100_000  # ns: the sum of such work is written as one span, where the last of it ends
_SPREAD = 5_000_000  # ns, from the begin of its first piece: those that come later are not looked into


class _Maker:
    """A thread that makes batches, or elements of them, ahead of the loop."""

    def __init__(self):
        self.loader = self.at = self.dataset = None
        # The first one of a process, which has yet to learn its loader, makes whole batches.
        self.ops = ops.Watcher(0 if _latest is None else 1)
        self.spans = Spans()
        self.short = self.short_cpu = 0  # ns of short work that is not written yet
        self.since = self.until = 0  # its first and last time

    def fetch(self):
        """As a pass's."""

    def begin(self, data):
        if self.short:
            self.at, self.cpu = ring.now(), ring.cpu()
            if self.at - self.since < _SPREAD:
                here.active = self
                return
        self.at = None
        loader = self.loader = loader_of_thread()
        if loader is None:
            return
        here.active = self
        if self.dataset is None:
            self.dataset = data
        self.at, self.cpu = ring.now(), ring.cpu()
        self.ops.begin(self, loader.fetch)

    def end(self):
        here.active = None
        if self.at is None:
            return
        sampled = self.ops.running is not None
        if sampled:
            self.ops.end()
        time, cpu = ring.now(), ring.cpu()
        wall, used = time - self.at, cpu - self.cpu
        if sampled or self.ops.usual is None:
            self.ops.took(used)
        words = ()
        if wall < _SHORT and not sampled and not self.spans.sums:
            if not self.short:
                self.since = self.at
            self.short += wall
            self.short_cpu += used
            self.until = time
            if time - self.since < _SPREAD:
                return
        else:
            words = self.spans.words(self.at, self._stage_words) + self._work(self.at, time, used)
        if self.short:
            words = self._work(self.until - self.short, self.until, self.short_cpu) + words
            self.short = self.short_cpu = 0
        ring.mine().put(time, words)

    def _work(self, start, end, cpu):
        return ring.work(self.loader.fetch, ring.NONE, start, end, cpu)

    def _stage_words(self, name, start, end, cpu):
        return ring.work(stage_of(self.loader, name), ring.NONE, start, end, cpu)


def ahead(data, function, *args, **kwargs):
    """`function(...)`, which makes a batch or an element of `data` ahead of the loop."""
    maker = here.maker
    if maker is None:
        maker = here.maker = _Maker()
    if here.active is not None:
        return function(*args, **kwargs)  # a part of another one
    guarded(maker.begin, data)
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next
        raise
    finally:
        guarded(maker.end)


def _look_for_workers(loader):
    """Processes that the job has started by itself, and that name stages: the loop waits for them.
    Only their own files tell."""
    module = sys.modules.get("multiprocessing.process")
    pids = [child.pid for child in tuple(getattr(module, "_children", ()))
            if child.__dict__.get(KEY, (0, None))[1] == loader.id]
    if not pids:
        return
    owner = ('"owner": "%s"' % session.key()).encode()
    files = [f for f in os.listdir(session.folder) if f.endswith(".names")]
    workers = sum(
        any(f.startswith("%d." % pid) and owner in session.content(os.path.join(session.folder, f))
            for f in files)
        for pid in pids)
    if workers:
        loader.workers = workers
        loader.line["settings"] = dict(loader.line.get("settings", ()), workers=workers)
        session.redefine("loader", loader.id, **loader.line)


_WORKER = __package__ + ".worker"


def _in_worker():
    worker = sys.modules.get(_WORKER)
    return worker is not None and worker.current is not None


# Threads and processes of the job's own.


def loader_of_thread():
    """Of a thread that makes batches beside the trainer, or of a process that does."""
    global _latest, _elsewhere
    if _latest is None:
        multiprocessing = sys.modules.get("multiprocessing.process")
        process = multiprocessing and multiprocessing.current_process()
        known = getattr(process, "__dict__", {}).get(KEY)
        if known is None:
            return None
        owner, number, name = known
        session.describe(name)
        _latest = _loader_of(owner=owner, number=number)
    if not _elsewhere or not getattr(here, "named", False):
        _elsewhere = here.named = True
        ring.name_thread(stage=_latest.loader)
    return _latest


def _process_starts(process):
    """Which loader its stages belong to: the last one, or the next, if there is none yet."""
    if KEY not in process.__dict__:
        number = _latest.id if _latest is not None else session.next_number("loader")
        process.__dict__[KEY] = (session.key(), number, process.name)


def _attach():
    from multiprocessing.process import BaseProcess

    Method(BaseProcess, "start", _process_starts)


_attach()
