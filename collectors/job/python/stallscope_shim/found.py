"""Loops over iterators that nothing else watches: over a generator of the job's, say, with JAX.

They are found by what the job calls about once per step: an optimizer's step, or a wait for an array.
The loop around that call is the innermost `for` that runs Python code to get the next element, or the
innermost loop that calls `next`. From then on two lines of it are watched, the one that asks for a batch
and the one behind it, with `sys.monitoring` (Python 3.12); and what that code hands out. The job's
variables are not read: before Python 3.13 that would keep all of them alive.
"""
import dis
import functools
import inspect
import sys
from _thread import get_ident

from . import loaders, ops, plain, session, steps
from .sight import StageSight
from .watch import Method, guarded, hook

_TOOL = 3
_TRIES = 50  # calls without a loop to be seen; then it is let be

_NONE = object()

_candidates = {}  # code → [_Loop], innermost first
_tries = 0
_hooks = []  # what is taken off once the loop is found


class _Loop:
    """A loop in the job's code, from one instruction to another, that asks for a batch in `line`."""

    def __init__(self, code, head, end, line):
        self.code = code
        self.head, self.end = head, end
        self.line = line
        self.thread = get_ident()
        self.behind = set()  # lines that have followed
        self.maker = None  # the frame of what makes the batch, while that is looked for; then its code
        self.watched = None  # the pass over the iterator
        self.looks = False
        self.asked = False
        self.batch = _NONE  # what was handed out, until it is counted

    def around(self, frame):
        return self.head <= frame.f_lasti < self.end


def _loops_around(code, at):
    """The loops of this code that the instruction at `at` is in, innermost first."""
    listed = list(dis.get_instructions(code))
    found = [_Loop(code, each.offset, each.argval, each.positions.lineno) for each in listed
             if each.opname == "FOR_ITER" and each.offset <= at < each.argval]
    ranges = [(each.argval, each.offset) for each in listed if "JUMP_BACKWARD" in each.opname and
              each.argval <= at <= each.offset]
    for each in listed:
        around = [(head, end) for head, end in ranges if head <= each.offset <= end]
        if each.argval == "next" and each.opname in ("LOAD_GLOBAL", "LOAD_NAME") and around:
            found.append(_Loop(code, *max(around), each.positions.lineno))
    return sorted(found, key=lambda loop: -loop.head)


def hint():
    """The job has just called what it calls about once per step, in a process where nothing has handed
    out a batch."""
    if steps.trainer.latest is not None:
        _stand_back()
    elif _tries < _TRIES and not _candidates and hasattr(sys, "monitoring"):
        _look()


def _look():
    global _tries
    _tries += 1
    frame = loaders.job_frame()
    while frame is not None:
        code = frame.f_code
        if not loaders.installed(code.co_filename):
            loops = _loops_around(code, frame.f_lasti)
            if loops:
                _candidates[code] = loops
        frame = frame.f_back
    if _candidates and not _watch():
        _candidates.clear()
        _tries = _TRIES
    if _tries == _TRIES:
        _stand_back()


# Of sys.monitoring.


def _watch():
    monitoring = sys.monitoring
    if monitoring.get_tool(_TOOL) is not None:
        return False
    events = monitoring.events
    monitoring.use_tool_id(_TOOL, "stallscope loops")
    for event, callback in (
            (events.LINE, _on_line), (events.PY_START, _on_code), (events.PY_RESUME, _on_code),
            (events.PY_YIELD, _on_result), (events.PY_RETURN, _on_result),
            (events.PY_UNWIND, _on_unwind)):
        monitoring.register_callback(_TOOL, event, hook(callback, "a loop", _let_be))
    for code in _candidates:
        monitoring.set_local_events(_TOOL, code, events.LINE)
    return True


def _let_be():
    monitoring = sys.monitoring
    monitoring.set_events(_TOOL, 0)
    for code, loops in list(_candidates.items()):
        monitoring.set_local_events(_TOOL, code, 0)
        for loop in loops:
            if loop.watched is not None:
                monitoring.set_local_events(_TOOL, loop.maker, 0)
    _candidates.clear()
    monitoring.free_tool_id(_TOOL)


def _on_line(code, line):
    frame = sys._getframe(2)
    kept = False
    for loop in tuple(_candidates.get(code, ())):
        if loop.thread != get_ident():
            return None
        if line == loop.line:
            _asks(loop, frame)
        elif loop.asked or loop.looks:
            loop.behind.add(line)
            _goes_on(loop, frame)
        kept = kept or line == loop.line or line in loop.behind
    return None if kept else sys.monitoring.DISABLE


def _on_code(code, _):
    """Python code begins or goes on, while the loop asks for the first time."""
    frame = sys._getframe(2)
    for loops in _candidates.values():
        for loop in loops:
            if not loop.looks or loop.thread != get_ident():
                continue
            maker, outer = loop.maker, frame.f_back
            if maker is None and outer is not None and outer.f_code is loop.code or (
                    maker is not None and outer is maker and loaders.installed(maker.f_code.co_filename)
                    and _hands_out(code)):  # a progress bar's
                loop.maker = frame


def _hands_out(code):
    return code.co_flags & inspect.CO_GENERATOR or code.co_name == "__next__"


def _on_result(code, _, batch):
    for loops in _candidates.values():
        for loop in loops:
            if loop.asked and loop.thread == get_ident():
                loop.batch = batch


def _on_unwind(code, *_):
    for loop in _candidates.get(code, ()):
        if loop.asked and loop.thread == get_ident():
            loop.asked = False
            loop.watched.ended()


# A loop.


def _asks(loop, frame):
    if loop.watched is not None:
        if not loop.around(frame):  # it begins again
            _begin(loop)
        loop.batch = _NONE
        loop.asked = True
        loop.watched.requested()
    elif loop.around(frame):
        if steps.trainer.latest is not None:
            _let_be()  # a loader has come up meanwhile
            return
        loop.looks = True
        events = sys.monitoring.events
        sys.monitoring.set_events(_TOOL, events.PY_START | events.PY_RESUME)


def _goes_on(loop, frame):
    if loop.asked:
        loop.asked = False
        batch, loop.batch = loop.batch, _NONE
        if batch is not _NONE and loop.around(frame):
            loop.watched.received(batch)
        else:
            loop.watched.ended()
        return
    loop.looks = False
    sys.monitoring.set_events(_TOOL, 0)
    maker, loop.maker = loop.maker, None
    if maker is not None and _hands_out(maker.f_code):
        _choose(loop, maker.f_code)
        return
    # What it runs over is at hand already, or not Python's.
    _candidates[loop.code].remove(loop)
    if not any(_candidates.values()):
        _let_be()


def _choose(loop, maker):
    """The loop over the batches: the others are no longer candidates."""
    for code in list(_candidates):
        if code is not loop.code:
            sys.monitoring.set_local_events(_TOOL, code, 0)
            del _candidates[code]
    _candidates[loop.code] = [loop]
    _stand_back()
    loop.maker = maker
    generates = maker.co_flags & inspect.CO_GENERATOR
    events = sys.monitoring.events
    sys.monitoring.set_local_events(_TOOL, maker, events.PY_YIELD if generates else events.PY_RETURN)
    sys.monitoring.set_events(_TOOL, events.PY_UNWIND)  # there is no such event of one function
    name = maker.co_qualname.replace("<locals>.", "")
    loop.sight = StageSight(ops.Entered(name, maker, maker.co_firstlineno, True))
    loop.loader = plain.source(
        {"file": session.absolute(loop.code.co_filename), "line": loop.line},
        "generator" if generates else "iterable", name if generates else name.rpartition(".")[0])
    _begin(loop)


def _begin(loop):
    loop.watched = plain.pass_over(loop.loader)
    loop.watched.ops.sight = loop.sight


# What the job calls about once per step.


def _stand_back():
    while _hooks:
        _hooks.pop()()


def _hook(cls, name):
    method = Method(cls, name, lambda _: hint())
    _hooks.append(lambda: setattr(cls, name, method.original))


def attach_arrays(module):
    """`module` is jax._src.array."""
    for name in ("block_until_ready", "__float__", "item"):
        if hasattr(sys, "monitoring") and name in module.ArrayImpl.__dict__:
            _hook(module.ArrayImpl, name)


def attach_waits(module):
    """`module` is jax._src.api, which waits for the arrays of a tree at once."""
    library = getattr(module, "xc", None)
    wait = getattr(library, "batched_block_until_ready", None)
    if wait is None or not hasattr(sys, "monitoring"):
        return

    @functools.wraps(wait)
    def batched_block_until_ready(arrays):
        guarded(hint)
        return wait(arrays)

    library.batched_block_until_ready = batched_block_until_ready
    _hooks.append(lambda: setattr(library, "batched_block_until_ready", wait))


session.fork_hooks.append(_candidates.clear)
