"""Loops that no DataLoader feeds: the module `stallscope`, and iterators of other libraries.

A watched iterator stands in the call chain, unlike what `watch.py` does: there is no class of the
library's to look into. It hands out the same batches, passes on every attribute, and leaves no frame
in a traceback (from Python 3.11 on).

    __next__ → the step before ends; fetch begins
               → stages that the job names, within fetch, or in its other threads and processes
             ← fetch ends, or was a wait for those threads; the batch is handed out

A stage of the job's counts where it is entered: while a DataLoader fetches, as an op of that; while
the trainer works, as an op of the trainer; else as a stage of its own.
"""
import functools
import inspect
import os
import sys
import weakref
from _thread import _local, get_ident

from . import loaders, ops, ring, session, steps
from .watch import Method, guarded

KEY = "_stallscope_plain"  # in the __dict__ of processes: the loader that their stages belong to
_STAGES = (("fetch", "map"), ("loader", "prefetch"))
_MOST = 64  # spans of stages per batch; more of them are added up

_sources = {}  # (file, line, name) → Loader
_latest = None  # the one that the job's own threads work for
_elsewhere = False  # its stages run in other threads, too


class _Here(_local):
    """Of the calling thread."""

    active = None  # the watched iterator that makes a batch, or the thread's _Maker
    spans = None
    maker = None


_here = _Here()


def _forked():
    global _latest, _elsewhere
    _here.active = _here.spans = _here.maker = None
    _sources.clear()
    _passes.clear()
    _latest = None
    _elsewhere = False


session.fork_hooks.append(_forked)


def making():
    """The watched iterator whose batch the calling thread makes, if any."""
    return None if _here.active is _here.maker else _here.active


# Batches.


class Watched:
    """An iterator over batches that a trainer asks for."""

    def __init__(self, iterator, loader, samples=None, data=None):
        self._stallscope_iterator = iterator
        self._stallscope_pass = _Pass(loader, samples, iterator if data is None else data)

    def __iter__(self):
        return self

    def __next__(self):
        own = self._stallscope_pass
        guarded(own.requested)
        try:
            batch = next(self._stallscope_iterator)
        except BaseException as error:
            own.ended()
            error.__traceback__ = error.__traceback__.tb_next
            raise
        guarded(own.received, batch)
        return batch

    def __getattr__(self, name):
        return getattr(self._stallscope_iterator, name)


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
        self.spans = _Spans()

    @property
    def item(self):
        return self.base | self.count

    def requested(self):
        self.began = None
        if _here.active is not None or _in_worker():
            return  # it is a part of another batch
        _here.active = self
        self.inner = ring.NONE  # the last batch of a DataLoader that this one is made of
        self.began, self.cpu = steps.trainer.request()
        self.at, self.at_cpu = self.began, self.cpu  # where this piece of the fetch begins
        self.spans.resume(self.began, self.cpu)
        # Else the job itself says what is what, or others do it.
        if not (self.loader.named or self.loader.workers or _elsewhere):
            self.ops.begin(self, self.loader.fetch)

    def fetch(self):
        """Stands for a DataLoader's fetcher, whose end takes a profiler off."""

    def inner_begins(self, time, cpu):
        if self.at is not None:
            ring.mine().later(
                self.spans.words(self.at, self._stage_words) +
                ring.work(self.loader.fetch, self.item, self.at, time, cpu - self.at_cpu))
        self.at = None

    def inner_ends(self, item, time, cpu):
        self.inner = item
        self.at, self.at_cpu = time, cpu

    def ended(self):
        """No batch: the data is at its end, or an exception came out."""
        if _here.active is self:
            _here.active = None
            self.ops.end()

    def received(self, batch):
        if self.began is None:
            return
        _here.active = None
        self.ops.end()
        loader, item = self.loader, self.item
        if not loader.workers and not self.count & (self.count - 1):
            guarded(_look_for_workers, loader)
        time, cpu = ring.now(), ring.cpu()
        self.spans.pause(time, cpu)
        words = self.spans.words(self.at or self.began, self._stage_words)
        fed = (_elsewhere or loader.workers) and self.inner == ring.NONE
        if fed and cpu - self.cpu < (time - self.began) // 2:
            words += ring.wait(ring.EMPTY, loader.queue, self.began, time)
        elif self.at is not None:
            words += ring.work(loader.fetch, item, self.at, time, cpu - self.at_cpu)
        samples = self._samples(batch)
        words += ring.batch(loader.fetch, item, samples, time, self.inner)
        words += ring.release(loader.loader, item, time, time)
        self.count += 1
        steps.trainer.receive(self.feed, item, samples, time, cpu)
        ring.mine().later(words)
        if loader.chain is not None:
            guarded(loader.chain.add, batch, True)

    def _samples(self, batch):
        if self.samples is None:
            return steps.samples(batch, True)
        return int(self.samples(batch) if callable(self.samples) else self.samples)

    def _stage_words(self, name, start, end, cpu):
        return ring.work(_stage_of(self.loader, name), self.item, start, end, cpu)


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


def watch(iterator, data, place, dataset, settings=(), samples=None):
    """For hooks: an iterator over `data`, watched; as it is where something else is recorded."""
    if _here.active is not None or _in_worker():
        return iterator
    kind = loaders.class_name(data)
    return Watched(iterator, source(place, kind, dataset, settings), samples, data)


HANDS_OUT, AHEAD = 1, 2  # batches to the loop; or in a thread or process of the library's own


def watch_class(cls, describe, role=lambda iterator: HANDS_OUT):
    """For hooks: what all iterators of `cls` hand out, and what they do ahead of that, by the `role` of
    an iterator in the calling thread; None for neither. They stay the objects that they are: their library looks at their
    class. `describe(iterator)`: (place, kind, data set, settings, data)."""
    function = vars(cls)["__next__"]

    @functools.wraps(function)
    def __next__(iterator):
        if _here.active is not None or _in_worker():
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
            workers = dict(settings).get("processes") or dict(settings).get("threads") or 0
            _passes[iterator] = _Pass(source(place, kind, dataset, settings, workers), None, data)
        return _passes[iterator]
    except Exception as error:
        session.say("the batches of %s are not recorded: %s: %s" %
                    (type(iterator).__qualname__, type(error).__name__, error))
        return None


# What is made ahead of the loop, without a name of the job's.

_NEAR = 100_000  # ns: work that is shorter, and as near to the next, is one span with that
_LONG = 5_000_000


class _Maker:
    """A thread that makes batches, or elements of them, ahead of the loop."""

    def __init__(self):
        self.loader = self.at = self.dataset = None
        self.ops = ops.Watcher(1)
        self.spans = _Spans()
        self.pending = None  # [start, end, CPU ns] of short work

    def fetch(self):
        """As a pass's."""

    def begin(self, data):
        self.at = None
        loader = self.loader = _loader_of_thread()
        if loader is None:
            return
        _here.active = self
        if self.dataset is None:
            self.dataset = data
        self.at, self.cpu = ring.now(), ring.cpu()
        self.ops.begin(self, loader.fetch)

    def end(self):
        _here.active = None
        if self.at is None:
            return
        self.ops.end()
        time, cpu = ring.now(), ring.cpu()
        start, cpu = self.at, cpu - self.cpu
        words = self.spans.words(start, self._stage_words)
        pending = self.pending
        if pending is not None and (words or start - pending[1] > _NEAR or
                                    time - pending[0] > _LONG):
            words = self._work(*pending) + words
            self.pending = pending = None
        if pending is not None:
            pending[1] = time
            pending[2] += cpu
        elif time - start < _NEAR and not words:
            self.pending = [start, time, cpu]
        else:
            words += self._work(start, time, cpu)
        if words:
            ring.mine().put(time, words)

    def _work(self, start, end, cpu):
        return ring.work(self.loader.fetch, ring.NONE, start, end, cpu)

    def _stage_words(self, name, start, end, cpu):
        return ring.work(_stage_of(self.loader, name), ring.NONE, start, end, cpu)


def ahead(data, function, *args, **kwargs):
    """`function(...)`, which makes a batch or an element of `data` ahead of the loop."""
    maker = _here.maker
    if maker is None:
        maker = _here.maker = _Maker()
    if _here.active is not None:
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


def _in_worker():
    worker = sys.modules.get(__package__ + ".worker")
    return worker is not None and worker.current is not None


# The job's own stages.


class _Spans:
    """The stages under way, innermost last, and those that have ended: of a thread or a batch."""

    def __init__(self):
        self.open = []  # [name, since or None while paused, CPU then, ns inside, CPU ns inside]
        self.ended = []  # (name, start, end, CPU ns)
        self.sums = {}  # name → [own ns, own CPU ns]

    def enter(self, name, time, cpu):
        self.open.append([name, time, cpu, 0, 0])

    def leave(self, time, cpu):
        if self.open:
            self._end(len(self.open) - 1, time, cpu)
            self.open.pop()

    def _end(self, index, time, cpu):
        name, since, before, inside, inside_cpu = self.open[index]
        if since is None:
            return
        wall, used = time - since, cpu - before
        if index:
            self.open[index - 1][3] += wall
            self.open[index - 1][4] += used
        if len(self.ended) < _MOST:
            self.ended.append((name, since, time, used))
        own = self.sums.setdefault(name, [0, 0])
        own[0] += wall - inside
        own[1] += used - inside_cpu

    def pause(self, time, cpu):
        """A generator has yielded within a stage: that goes on with the next request."""
        for index in range(len(self.open) - 1, -1, -1):
            self._end(index, time, cpu)
            self.open[index][1] = None

    def resume(self, time, cpu):
        for entry in self.open:
            if entry[1] is None:
                entry[1:] = [time, cpu, 0, 0]

    def words(self, begin, write):
        """What has ended since the last time, as words; many spans as one per stage."""
        if not self.sums:
            return ()
        ended, sums = self.ended, self.sums
        self.ended, self.sums = [], {}
        words = ()
        if len(ended) < _MOST:
            for name, start, end, cpu in ended:
                words += write(name, start, end, cpu)
            return words
        for name, (wall, cpu) in sums.items():
            words += write(name, begin, begin + wall, cpu)
            begin += wall
        return words


def _stage_of(loader, name):
    """The id of a stage that the job has named; the stages follow one another as they came up."""
    number = loader.named.get(name)
    if number is None:
        workers = max(1, loader.workers)
        number = loader.named[name] = session.define(
            "stage", name=name, kind="map", loader=loader.id, workers=workers, ordered=True,
            inputs=list(loader.named.values())[-1:])
        session.redefine("stage", loader.fetch, name="fetch", kind="map", loader=loader.id,
                         workers=1, ordered=True, inputs=[number])
    return number


def _op_of(stage):
    def write(name, start, end, cpu):
        return ring.named(ring.OP, session.string(name), start, end, stage, cpu)

    return write


def _spans_here():
    """(spans of the calling thread, how they are written where no batch does it, whether that can
    wait for what the thread writes next); None where nothing of it would be seen."""
    if _here.active is not None:
        return _here.active.spans, None, True
    spans = _here.spans
    if spans is None:
        spans = _here.spans = _Spans()
    stage = _fetching()
    if stage is not None:
        return spans, _op_of(stage), True
    if loaders.trains():
        return (spans, _op_of(loaders.trainer_stage()), True) if steps.trainer.current else None
    loader = _loader_of_thread()
    if loader is None:
        return None
    return spans, lambda name, start, end, cpu: ring.work(
        _stage_of(loader, name), ring.NONE, start, end, cpu), False


def _fetching():
    """The stage of a DataLoader that the calling thread works for."""
    worker = sys.modules.get(__package__ + ".worker")
    if worker is None:
        return None
    if worker.current is not None:
        state = worker.current.state
        if state is None or state.at is None:
            return None
        loader = worker.current.loader
        return loader.fetch if state.collate_at is None else loader.collate
    data = sys.modules.get(__package__ + ".data")
    owner = data.waiting() if data is not None else None
    return owner.loader.fetch if owner is not None and not owner.loader.workers else None


def _loader_of_thread():
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
    if not _elsewhere or not getattr(_here, "named", False):
        _elsewhere = _here.named = True
        ring.name_thread(stage=_latest.loader)
    return _latest


def _process_starts(process):
    """Which loader its stages belong to: the last one, or the next, if there is none yet."""
    if KEY not in process.__dict__:
        number = _latest.id if _latest is not None else session.next_number("loader")
        process.__dict__[KEY] = (session.key(), number, process.name)


# The module.


def loader(batches, name=None, samples=None, workers=0):
    """As the module `stallscope` documents it."""
    try:
        return _loader(batches, name, samples, workers)
    except Exception as error:
        session.say("stallscope.loader failed: %s: %s" % (type(error).__name__, error))
        return batches


def _loader(batches, name, samples, workers):
    torch = sys.modules.get("torch.utils.data.dataloader")
    if torch is not None and isinstance(batches, (torch.DataLoader, torch._BaseDataLoaderIter)):
        return batches  # it is seen as what it is
    iterates = hasattr(batches, "__next__")
    dataset = name or loaders.class_name(batches)
    if name is None and inspect.isgenerator(batches):
        dataset = batches.__qualname__
    kind = "generator" if inspect.isgenerator(batches) else "iterable"
    place = loaders.place_of(batches)
    if iterates:
        return Watched(batches, source(place, kind, dataset, workers=workers), samples)
    return _Loop(batches, place, kind, dataset, samples, workers)


class _Loop:
    """An iterable: each pass over it is watched."""

    def __init__(self, batches, place, kind, dataset, samples, workers):
        self._stallscope_batches = batches
        self._stallscope_source = (place, kind, dataset, samples, workers)

    def __iter__(self):
        place, kind, dataset, samples, workers = self._stallscope_source
        iterator = iter(self._stallscope_batches)
        try:
            return Watched(iterator, source(place, kind, dataset, workers=workers), samples)
        except Exception as error:
            session.say("stallscope.loader failed: %s: %s" % (type(error).__name__, error))
            return iterator

    def __len__(self):
        return len(self._stallscope_batches)

    def __getitem__(self, index):
        return self._stallscope_batches[index]

    def __getattr__(self, name):
        return getattr(self._stallscope_batches, name)


class stage:
    """As the module `stallscope` documents it. May be entered by several threads at a time."""

    __slots__ = ("name", "entered")

    def __init__(self, name):
        self.name = str(name)[:200]
        self.entered = {}  # thread → where it has entered this

    def __enter__(self):
        guarded(self._enter)
        return self

    def _enter(self):
        here = _spans_here()
        self.entered.setdefault(get_ident(), []).append(here)
        if here is not None:
            cpu = ring.cpu()
            here[0].enter(self.name, ring.now(), cpu)

    def __exit__(self, *_):
        guarded(self._leave)

    def _leave(self):
        here = self.entered[get_ident()].pop()
        if here is None:
            return
        spans, write, wait = here
        began = spans.open[0][1] if spans.open else None
        time = ring.now()
        spans.leave(time, ring.cpu())
        if write is None or spans.open or began is None:
            return
        words = spans.words(began, write)
        if wait:
            ring.mine().later(words)
        else:
            ring.mine().put(time, words)

    def __call__(self, function):
        name = self.name
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args, **kwargs):
                return _Generator(name, function(*args, **kwargs))

            return generate

        @functools.wraps(function)
        def call(*args, **kwargs):
            with stage(name):
                return function(*args, **kwargs)

        return call


class _Generator:
    """A generator of the job's, each of whose elements is made in a stage."""

    def __init__(self, name, generator):
        self._stallscope_name, self._stallscope_generator = name, generator

    def __iter__(self):
        return self

    def __next__(self):
        with stage(self._stallscope_name):
            return next(self._stallscope_generator)

    def __getattr__(self, name):
        return getattr(self._stallscope_generator, name)


def step():
    """As the module `stallscope` documents it."""
    guarded(steps.trainer.optimizer_step)


def _attach():
    from multiprocessing.process import BaseProcess

    Method(BaseProcess, "start", _process_starts)


_attach()
