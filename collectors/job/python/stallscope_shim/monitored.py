"""The calls of a sample on Python 3.12 and later: `sys.monitoring`, on the watched functions alone."""
import sys
import types
from _thread import get_ident

from . import lines, op_names, pools, samples, session
from .codes import Codes

LOSES_CHANGES = False
_OURS = (__package__, "stallscope")
_TOOL = 4
_tool_taken = None


def _on_call(code, offset, callee, _):
    sample = samples.current
    if sample is None or sample.thread != get_ident():
        return
    sample.events += 1
    sight = sample.sight
    stack = sample.stack
    if stack and stack[-1].mark[1] is code:
        sample.leave()  # it was called from here, and has returned without a word
    inner = op_names.code_of(callee)
    module = getattr(callee, "__module__", None) or type(callee).__module__
    if isinstance(module, str) and module.partition(".")[0] in _OURS:
        return sys.monitoring.DISABLE  # a stage that the job names
    every = code in sight.roots and not (op_names.native(callee) and code in sight.inline)
    if op_names.trivial(callee) or not (every or op_names.counts(callee, inner, sight)):
        return sys.monitoring.DISABLE  # this call, until the next sample: it may be in a hot loop
    if inner is None and sight.composed(callee):
        for each in sight.roots:
            if each not in sight.inline:
                _watch(each, sample)
        return
    at = op_names.job_call(code, sight)
    key = op_names.key_of(code, offset, _key(callee) if inner is None else id(inner), at)
    op = op_names.known.get(key)
    if op is None:
        line = next((n for a, b, n in code.co_lines() if a <= offset < b), 0) or 0
        op = op_names.learn(key, op_names.of(callee, code, line, at), code, inner, at)
    if inner is not None and inner not in sight.own and inner not in sight.roots:
        events = sys.monitoring.events
        if inner not in _extra:
            _extra.add(inner)
            _set_events(inner, sample, events.PY_START | events.PY_RETURN)
    sample.enter(op, (inner, code, False), op_names.native(callee))


def _key(callee):
    kind = type(callee)
    if kind in (types.BuiltinFunctionType, types.MethodDescriptorType) or isinstance(callee, type):
        return callee.__qualname__
    return kind


def _on_return_of_other(code, offset, callee, _):
    sample = samples.current
    if sample is not None and sample.thread == get_ident():
        stack = sample.stack
        if stack and stack[-1].mark[1] is code and (stack[-1].mark[0] is None or not stack[-1].mark[2]):
            sample.leave()  # of lru_cache, which had the result


def _on_start(code, offset):
    sample = samples.current
    if sample is None or sample.thread != get_ident():
        return
    sample.events += 1
    if sample.lines is not None and lines.wanted(code):
        sample.lines.start(code)
    stack = sample.stack
    waits = pools.op_of(_frame_of(code)) if code in sample.waits else None
    if stack and stack[-1].mark[0] is code:
        call = stack[-1]
        if call.mark[2]:
            call.depth += 1  # it calls itself
        else:
            call.mark = (code, call.mark[1], True)
    elif waits is not None:
        sample.enter(waits, (code, None, True))
    elif code in sample.sight.entries:
        op = op_names.known.get(id(code))
        if op is None:
            name = sample.sight.entries.name_of(code) or getattr(code, "co_qualname", code.co_name)
            op = op_names.learn(id(code), op_names.define(name, code, code, 0), code)
        sample.enter(op, (code, None, True))
    if waits is not None:
        sample.waits_for_pool(waits)


def _frame_of(code):
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame


def _on_end(code, offset, _):
    sample = samples.current
    if sample is None or sample.thread != get_ident():
        return
    if sample.lines is not None and lines.wanted(code):
        sample.lines.end(code)
    stack = sample.stack
    while stack and stack[-1].mark[1] is code and stack[-1].mark[0] is not code:
        sample.leave()  # what this function has called
    while stack and stack[-1].mark[0] in sample.waits and stack[-1].mark[0] is not code:
        sample.leave()  # an exception has ended the wait
    if stack and stack[-1].mark[0] is code:
        stack[-1].depth -= 1
        if stack[-1].depth <= 0:
            sample.leave()


def _on_line(code, number):
    sample = samples.current
    if sample is None or sample.lines is None or sample.thread != get_ident():
        return
    if sample.lines.line(code, number):
        for each in _watched_by(sample):
            events = sys.monitoring.get_local_events(_TOOL, each)
            sys.monitoring.set_local_events(_TOOL, each, events & ~sys.monitoring.events.LINE)


_extra = Codes()


def _watched_by(sample):
    for codes in (sample.sight.roots, sample.sight.own, _extra):
        yield from codes


def _watch(code, sample):
    events = sys.monitoring.events
    _set_events(code, sample, events.CALL | events.PY_START | events.PY_RETURN | events.PY_YIELD |
                events.PY_RESUME)


def _set_events(code, sample, events):
    if sample.lines is not None and not sample.lines.full and lines.wanted(code):
        events |= sys.monitoring.events.LINE
    sys.monitoring.set_local_events(_TOOL, code, events)


def begin(sight, timed):
    """A sample that the calling thread takes from now on; None if another tool is in the way."""
    global _tool_taken
    if _tool_taken is None:
        _tool_taken = _take_tool()
    if not _tool_taken:
        return None
    sample = samples.Sample(sight)
    sample.lines = lines.Lines() if timed else None
    for code in _watched_by(sample):
        if code not in sight.inline:
            _watch(code, sample)
    for code in sight.inline:  # a generator's elements would be two events each
        sys.monitoring.set_local_events(_TOOL, code, sys.monitoring.events.CALL)
    for code in sample.waits:
        if code not in sight.roots and code not in sight.own:
            _extra.add(code)
            _set_events(code, sample, sys.monitoring.events.PY_START | sys.monitoring.events.PY_RETURN)
    return sample


def end(sample):
    for code in _watched_by(sample):
        sys.monitoring.set_local_events(_TOOL, code, 0)
    _extra.clear()


def _take_tool():
    monitoring = sys.monitoring
    if monitoring.get_tool(_TOOL) is not None:
        session.say("another tool uses sys.monitoring: ops inside of a fetch are not recorded")
        return False
    monitoring.use_tool_id(_TOOL, "stallscope")
    events = monitoring.events
    for event, callback in (
            (events.CALL, _on_call), (events.C_RETURN, _on_return_of_other),
            (events.C_RAISE, _on_return_of_other), (events.PY_START, _on_start),
            (events.PY_RESUME, _on_start), (events.PY_RETURN, _on_end),
            (events.PY_YIELD, _on_end), (events.LINE, _on_line)):
        monitoring.register_callback(_TOOL, event, samples.hook(callback))
    return True
