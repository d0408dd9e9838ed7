"""Waits for the job's own pool, to which a data set gives its work.

    Future.result, ApplyResult.get, IMapIterator.next

In a sampled fetch, such a wait is an op that has the name and the place of the function which the pool
runs meanwhile: whoever waits only knows a future. `Pool.map` has the function on the stack; for other waits,
the frames of the pool's threads show which of them works for this future, or the manager of a
ProcessPoolExecutor what it was given. A pool of multiprocessing's processes keeps what it is given, which is
enough if that is one function. A wait that begins before a thread has taken the work has the name of what
others on its line have waited for.

The time of such an op is the pool's: on the CPU where the pool was on a core, or ready for one, else off it.
"""
import sys
from _thread import get_ident

from . import ring, session, steps
from .codes import Codes
from .loaders import installed
from .sight import called_codes
from .watch import own, surrounded

_WAITS = (("concurrent.futures._base", "Future", "result"),
          ("multiprocessing.pool", "ApplyResult", "get"), ("multiprocessing.pool", "IMapIterator", "next"))
_MOST_LOOKS = 100
_ALIKE = 3  # looks that have shown one function, and no other: it is what this line waits for

_GIVEN = "_stallscope_given"  # in a pool's dictionary: {id: code} of the functions that it is given
_MOST_WORKERS = 16  # whose times are read, which takes some 10 us each
_TURNS = 0.1  # how far from one core threads may be that take turns with the interpreter

_seen = {}  # (code, line) of the job's that waits → [looks, {code that the pool ran: op}]
_looks = 0
_waited = 0  # ns, of waits in which the workers' times were read
_computed = {}  # file of a worker's times → ns meanwhile


def attach(pool):
    """Of the module multiprocessing.pool."""
    for name in ("imap", "imap_unordered", "apply_async", "map_async", "starmap_async"):
        setattr(pool.Pool, name, surrounded(getattr(pool.Pool, name), _gives, None))


def _gives(pool, func, *_, **__):
    for code in called_codes(func)[:1]:
        own(pool).setdefault(_GIVEN, {})[id(code)] = code


def waits():
    """The codes that wait."""
    found = (_code_of(getattr(sys.modules.get(module), cls, None), name) for module, cls, name in _WAITS)
    return Codes([code for code in found if code is not None])


def op_of(frame):
    """The op of the wait that begins in this frame; None while the pool has not shown what it runs."""
    global _looks
    waiter = frame.f_locals.get("self")
    given = None
    while frame is not None and installed(frame.f_code.co_filename):
        # Pool.map, .starmap, .apply
        if frame.f_code.co_varnames[1:2] == ("func",) and (
                frame.f_globals.get("__name__") == "multiprocessing.pool"):
            given = frame.f_locals.get("func")
        frame = frame.f_back
    if frame is None:
        return None
    seen = _seen.setdefault((frame.f_code, frame.f_lineno), [0, {}])
    ops = seen[1]
    if _looks < _MOST_LOOKS:
        _looks += 1
        codes = (called_codes(given) if given is not None else
                 _alone_given_to(own(waiter).get("_pool")) or called_codes(_run_for(waiter)))
        if codes:
            seen[0] += 1
            return ops.get(codes[0]) or ops.setdefault(codes[0], _define(codes[0]))
    return next(iter(ops.values())) if len(ops) == 1 and seen[0] >= _ALIKE else None


def _define(code):
    name = getattr(code, "co_qualname", code.co_name).replace("<locals>.", "")
    return session.string("waiting for " + name, session.absolute(code.co_filename),
                          code.co_firstlineno)


def _alone_given_to(pool):
    """The code of the only function that the pool was given, as a list."""
    codes = list(own(pool).get(_GIVEN, {}).values())
    return codes if len(codes) == 1 else []


def _run_for(waiter):
    """What a pool runs for this future, or result; None if that is not known at present."""
    run = _code_of(getattr(sys.modules.get("concurrent.futures.thread"), "_WorkItem", None), "run")
    worker = _code_of(sys.modules.get("multiprocessing.pool"), "worker")
    job = own(waiter).get("_job")
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            code = frame.f_code
            if code is run and run is not None:
                item = frame.f_locals.get("self")
                if own(item).get("future") is waiter:
                    return own(item).get("fn")
            elif code is worker and worker is not None:
                if job is not None and frame.f_locals.get("job") == job:
                    return frame.f_locals.get("func")
            frame = frame.f_back
    return _given_to_processes(waiter)


def _given_to_processes(future):
    for thread in list(getattr(sys.modules.get("threading"), "_active", {}).values()):
        for item in list((own(thread).get("pending_work_items") or {}).values()):
            if own(item).get("future") is future:
                function = own(item).get("fn")
                chunk = getattr(function, "func", None)  # of executor.map, that calls the job's function
                return function.args[0] if getattr(chunk, "__name__", "") == "_process_chunk" else function
    return None


def begin():
    """What `end` needs; None where the system does not tell."""
    times = _times()
    return (ring.now(), times) if times else None


def end(begun):
    global _waited
    time, times = begun
    for worker, now in _times().items():
        _computed[worker] = _computed.get(worker, 0) + now - times.get(worker, now)
    _waited += ring.now() - time


def computed():
    """The part of the waits so far in which the pool's work was on a core, or ready for one: as that of the
    busiest worker, or all of it, if they take turns."""
    if not _waited:
        return 0
    parts = [ns / _waited for ns in _computed.values()]
    return 1 if abs(sum(parts) - 1) <= _TURNS else min(1, max(parts, default=0))


def _times():
    """{file: ns on a core, or ready for one}: of the caller's child processes, and of its threads beside this one
    and those that train."""
    threads = getattr(sys.modules.get("threading"), "_active", {})
    files = ["/proc/self/task/%d/schedstat" % thread.native_id for ident, thread in list(threads.items())
             if ident != get_ident() and ident not in steps.trainer.loops and thread.native_id]
    children = getattr(sys.modules.get("multiprocessing.process"), "_children", ())
    files += ["/proc/%d/schedstat" % child.pid for child in list(children)]
    times = {}
    for file in files[:_MOST_WORKERS]:
        try:
            with open(file, "rb", 0) as stat:
                on_core, ready, _ = stat.read().split()
            times[file] = int(on_core) + int(ready)
        except (OSError, ValueError):
            pass  # it has ended
    return times


def _code_of(holder, name):
    return getattr(getattr(holder, name, None), "__code__", None)


def _forked():
    global _looks, _waited
    _looks = _waited = 0
    _seen.clear()
    _computed.clear()


session.fork_hooks.append(_forked)
