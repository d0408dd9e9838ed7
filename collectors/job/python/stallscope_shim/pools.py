"""Waits for the job's own pool of threads, to which a data set gives its work.

    Future.result, ApplyResult.get, IMapIterator.next

In a sampled fetch, such a wait is an op that has the name and the place of the function which the pool
runs meanwhile: whoever waits only knows a future. Nothing is attached to a pool: `Pool.map` has the function
on the stack; for other waits, the frames of the pool's threads are looked at when one begins, until they have
shown it. Of a pool of processes, only what `Pool.map` and the like run is known.
"""
import sys

from . import session
from .loaders import installed
from .sight import called_codes

_WAITS = (("concurrent.futures._base", "Future", "result"),
          ("multiprocessing.pool", "ApplyResult", "get"), ("multiprocessing.pool", "IMapIterator", "next"))
_WORKERS = (("concurrent.futures.thread", "_worker"), ("multiprocessing.pool", "worker"))
_MOST_LOOKS = 100
_ALIKE = 3  # looks that show the same function: another one of the pool's may just be idle

_known = {}  # (code, line) of the job's that waits → op
_seen = {}  # likewise → what each look has shown
_looks = 0


def waits():
    """The codes that wait."""
    found = (_code_of(getattr(sys.modules.get(module), cls, None), name) for module, cls, name in _WAITS)
    return frozenset(code for code in found if code is not None)


def op_of(frame):
    """The op of the wait that begins in this frame; None while the pool has not shown what it runs."""
    global _looks
    given = ()
    while frame is not None and installed(frame.f_code.co_filename):
        # Pool.map, .starmap, .apply
        if frame.f_code.co_varnames[1:2] == ("func",) and (
                frame.f_globals.get("__name__") == "multiprocessing.pool"):
            given = called_codes(frame.f_locals.get("func"))[:1]
        frame = frame.f_back
    if frame is None:
        return None
    place = frame.f_code, frame.f_lineno
    op = _known.get(place)
    if op is None and _looks < _MOST_LOOKS:
        _looks += 1
        shown = _seen.setdefault(place, [])
        shown += _ALIKE * given or list(_running())
        if len(shown) >= _ALIKE and len(set(shown)) == 1:
            code = shown[0]
            op = _known[place] = session.string(
                "waiting for " + getattr(code, "co_qualname", code.co_name).replace("<locals>.", ""),
                session.absolute(code.co_filename), code.co_firstlineno)
    return op


def _running():
    """The functions of the job's that threads of pools have called."""
    workers = [_code_of(sys.modules.get(module), name) for module, name in _WORKERS]
    found = set()
    for frame in sys._current_frames().values():
        called = None
        while frame is not None and frame.f_code not in workers:
            if not installed(frame.f_code.co_filename):
                called = frame.f_code
            frame = frame.f_back
        if frame is not None and called is not None:
            found.add(called)
    return found


def _code_of(holder, name):
    return getattr(getattr(holder, name, None), "__code__", None)


def _forked():
    global _looks
    _looks = 0
    _known.clear()
    _seen.clear()


session.fork_hooks.append(_forked)
