"""What the module `stallscope` does in a recording: the batches, stages and steps that a job names.

A stage counts where it is entered: while a DataLoader fetches, as an op of that; while the trainer
works, as an op of the trainer; else as a stage of the loop that `plain.py` watches.
"""
import functools
import inspect
import operator
import sys
from _thread import get_ident

from . import loaders, ops, plain, ring, session, steps
from .sight import CollateSight
from .spans import Spans, stage_of
from .watch import Instead, guarded, pass_on


def loader(batches, name=None, samples=None, workers=0):
    """As the module `stallscope` documents it."""
    try:
        return _loader(batches, name, samples, workers)
    except Exception as error:
        pass_on(error)
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
        return plain.Watched(batches, plain.source(place, kind, dataset, workers=workers), samples)
    return _Loop(batches, place, kind, dataset, samples, workers)


class _Loop(Instead):
    """An iterable: each pass over it is watched."""

    def __init__(self, batches, *source):
        Instead.__init__(self, batches)
        self._stallscope_source = source

    def __iter__(self):
        place, kind, dataset, samples, workers = self._stallscope_source
        iterator = iter(self._stallscope_original)
        try:
            loader = plain.source(place, kind, dataset, workers=workers)
            return plain.Watched(iterator, loader, samples)
        except Exception as error:
            pass_on(error)
            session.say("stallscope.loader failed: %s: %s" % (type(error).__name__, error))
            return iterator


class stage:
    """As the module `stallscope` documents it. May be entered by several threads at a time."""

    __slots__ = ("name", "entered", "function")

    def __init__(self, name, function=None):
        self.name = str(name)[:200]
        self.entered = {}  # thread → where it has entered this
        self.function = function  # the Entered of what this decorates

    def __enter__(self):
        guarded(self._enter)
        return self

    def _enter(self):
        here = _spans_here()
        self.entered.setdefault(get_ident(), []).append(here)
        if here is None:
            return
        spans, _, _, loader = here
        at = self.function or _entered(self.name, sys._getframe(3))
        cpu = ring.cpu()
        spans.enter(self.name, ring.now(), cpu)
        if at is not None and loader is None:
            _places.setdefault(self.name, at.place)
        elif at is not None:
            plain.stage_watcher(self.name).begin(at, loader)

    def __exit__(self, *_):
        guarded(self._leave)

    def _leave(self):
        here = self.entered[get_ident()].pop()
        if here is None:
            return
        spans, write, wait, loader = here
        if loader is not None:
            plain.stage_watcher(self.name).end(spans.add)
        began = spans.open[0][1] if spans.open else None
        time = ring.now()
        spans.leave(time, ring.cpu())
        if write is None or spans.open or began is None:
            return
        words = spans.words(began, write)
        if wait:
            ring.later(words)
        else:
            ring.mine().put(time, words)

    def __reduce__(self):
        return stage, (self.name,)

    def __call__(self, function):
        name = self.name
        at = _called(function)
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(self(function.__func__))
        if isinstance(function, type) or inspect.iscoroutinefunction(function) or (
                inspect.isasyncgenfunction(function)):
            session.say("the stage %s is not recorded: only functions, generators and other callables "
                        "have an end that is seen" % name)
            return function
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args, **kwargs):
                return _Generator(function(*args, **kwargs), name, at)

            return generate
        if not inspect.isfunction(function):
            return _Staged(function, name, at)

        @functools.wraps(function)
        def call(*args, **kwargs):
            with stage(name, at):
                return function(*args, **kwargs)

        return call


stage.__module__ = "stallscope"  # what is pickled in a recording is readable without


class _Staged(Instead):
    """A callable of the job's that is no plain function: a transform, a bound method, a partial."""

    def __init__(self, function, name, at):
        Instead.__init__(self, function)
        self._stallscope_stage = name, at

    def __call__(self, *args, **kwargs):
        with stage(*self._stallscope_stage):
            return self._stallscope_original(*args, **kwargs)

    def __reduce_ex__(self, _):
        return (operator.methodcaller("__call__", self._stallscope_original),
                (stage(self._stallscope_stage[0]),))


class _Generator(Instead):
    """A generator of the job's, each of whose elements is made in a stage."""

    def __init__(self, generator, name, at):
        Instead.__init__(self, generator)
        self._stallscope_stage = name, at

    def __iter__(self):
        return self

    def __next__(self):
        with stage(*self._stallscope_stage):
            return next(self._stallscope_original)


def step():
    """As the module `stallscope` documents it."""
    guarded(steps.trainer.optimizer_step)


# Where a stage is entered.

_SHIM = __file__[:-len("api.py")]
_sites = {}  # (name, id of a code, line) → Entered, which keeps the code: hashing that reads all of it
_places = {}  # name of a stage that is an op → its file and line


def _entered(name, frame):
    if frame.f_code.co_filename.startswith(_SHIM):
        return None  # it decorates what is not Python's, or not the job's
    key = (name, id(frame.f_code), frame.f_lineno)
    at = _sites.get(key)
    if at is None:
        at = _sites[key] = ops.Entered(name, frame.f_code, frame.f_lineno, False)
    return at


def _called(function):
    """What a decorated function is when it is called; None for one that is not Python's."""
    if isinstance(function, (staticmethod, classmethod)):
        return None
    code, name = next(iter(CollateSight(function).entries.items()), (None, ""))
    return code and ops.Entered(name, code, code.co_firstlineno, True)


# Where a stage counts.


def _op_of(stage):
    def write(name, start, end, cpu):
        op = session.string(name, *_places.get(name, ()))
        return ring.named(ring.OP, op, start, end, stage, cpu)

    return write


def _spans_here():
    """(spans of the calling thread, how they are written where no batch does it, whether that can
    wait for what the thread writes next, the loader of which it is a stage, if it is one); None where
    nothing of it would be seen."""
    batch = plain.here.active
    if batch is not None:
        return batch.spans, None, True, batch.loader
    spans = plain.here.spans
    if spans is None:
        spans = plain.here.spans = Spans()
    stage = _fetching()
    if stage is not None:
        return spans, _op_of(stage), True, None
    if loaders.trains():
        return (spans, _op_of(loaders.trainer), True, None) if steps.trainer.current else None
    loader = plain.loader_of_thread()
    if loader is None:
        return None
    return spans, lambda name, start, end, cpu: ring.work(
        stage_of(loader, name), ring.NONE, start, end, cpu), False, loader


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
