"""Locks that processes share, multiprocessing's: how long a fetch waits for one, and how long it holds it.

`with lock` reads the lock's `_semlock` in `__enter__` and in `__exit__`, and a call of `acquire` or
`release` begins with looking that up. Waits are recorded in every batch, holding in those that `ops.py`
samples. Where nothing is to be recorded, a lock is what it would be; while `with` waits, no frame of the
shim is on the stack.
"""
import functools
import sys
import types

from . import imports, ring, samples, session
from .watch import Field, guarded, uses

_TAKEN = 20_000  # ns: a lock that nobody else has costs less
_NEVER = object()

_enter = _exit = None  # code of SemLock's methods
_watched = False


def _used(lock, inner):
    code = sys._getframe(2).f_code
    if code is _enter:
        if samples.sampled() and inner.maxvalue == 1:
            samples.hold(lock, sys._getframe(3))
        loader = _waits(inner)
        if loader is not None:
            # C alone: what runs below is called once the lock is there.
            entered = functools.partial(_entered, loader, ring.now())
            return types.SimpleNamespace(
                __enter__=map(entered, iter(inner.__enter__, _NEVER)).__next__)
    elif code is _exit:
        samples.let_go(lock)
    return inner


def _acquired(lock, acquire):
    inner = lock.__dict__["_semlock"]
    if samples.current is None and not inner._is_zero():
        return acquire
    holds = samples.sampled() and inner.maxvalue == 1
    loader = _waits(inner)
    if loader is None and not holds:
        return acquire
    return functools.partial(_acquire, lock, acquire, loader, holds)


def _acquire(lock, acquire, loader, holds, *args, **kwargs):
    since = ring.now()
    try:
        result = acquire(*args, **kwargs)
    except BaseException as error:
        error.__traceback__ = error.__traceback__.tb_next
        raise
    if loader is not None:
        guarded(_entered, loader, since, result)
    if holds and result:
        guarded(samples.hold, lock, sys._getframe(1))
    return result


def _released(lock, release):
    if samples.current is not None:
        samples.let_go(lock)
    return release


def _waits(inner):
    """The loader for whose batch the calling thread would have to wait now."""
    if not inner._is_zero() or inner._is_mine():
        return None
    worker = sys.modules.get(__package__ + ".worker")
    data = sys.modules.get(__package__ + ".data")
    if worker is None or data is None:
        return None
    if worker.current is not None:
        return worker.current.loader if worker.current.fetches() else None
    owner = data.waiting()
    return owner.loader if owner is not None and not owner.loader.workers else None


def _entered(loader, since, result):
    guarded(_waited, loader, since)
    return result


def _waited(loader, since):
    time = ring.now()
    if time - since >= _TAKEN:
        ring.mine().put(time, ring.wait(ring.LOCK, loader.lock(), since, time))


def watch():
    """Where a data set's work is looked into: a process that leaves it to workers uses the locks of its
    queues with each batch, and need not hear of that."""
    global _watched
    if not _watched:
        _watched = True
        imports.call("multiprocessing.synchronize", _attach)


def _attach(module):
    global _enter, _exit
    cls = getattr(module, "SemLock", None)
    if cls is None or not all(uses(cls, name, "_semlock")
                              for name in ("__enter__", "__exit__", "_make_methods")):
        session.say("this Python's locks are not recognized: waiting for one that processes share counts "
                    "as the fetch's own")
        return
    _enter, _exit = cls.__enter__.__code__, cls.__exit__.__code__
    Field(cls, "_semlock", give=_used)
    Field(cls, "acquire", give=_acquired)
    Field(cls, "release", give=_released)
