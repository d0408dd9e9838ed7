"""The calls of a sample before Python 3.12: `sys.setprofile`, which makes every call dearer."""
import sys

from . import lines, op_names, pools, ring, samples, session
from .loaders import installed

LOSES_CHANGES = True  # of variables that another thread has changed meanwhile
_SHIM = __file__[:-len("profiled.py")]
_CALLS, _ROUNDS = 40, 5  # to find out what an event takes
_event_ns = None


def _profile(frame, event, arg):
    sample = samples.current
    if sample is None:
        return
    sample.events += 1
    stack = sample.stack
    sight = sample.sight
    code = frame.f_code
    if event == "call":
        caller = frame.f_back
        outer = caller.f_code if caller is not None else None
        waits = pools.op_of(frame) if code in sample.waits else None
        if waits is not None:
            sample.enter(waits, frame)
            sample.waits_for_pool(waits)
        elif code in sight.entries:
            op = op_names.known.get(id(code))
            if op is None:
                first = frame.f_locals.get(code.co_varnames[0] if code.co_argcount else "")
                name = sight.entries.name_of(code) or "%s.%s" % (type(first).__qualname__, code.co_name)
                op = op_names.learn(id(code), op_names.define(name, code, code, 0), code)
            sample.enter(op, frame)
        elif outer in sight.roots:
            _enter_frame(sample, frame, code, caller)
        elif outer in sight.own and (
                code in sight.own or
                frame.f_globals.get("__name__", "").partition(".")[0] in op_names.LIBRARIES):
            _enter_frame(sample, frame, code, caller)
    elif event == "return":
        over = code is sight.fetch  # by an exception: else the collate function came first
        if stack and stack[-1].mark is frame:
            sample.leave()
            over = sight.fetch is None and not stack  # the collate function, which may have failed
        if over:
            end()
    elif event == "c_call":
        if code in sight.roots:
            if op_names.trivial(arg) or (code in sight.inline and not op_names.counts(arg, None, sight)):
                return
        elif code not in sight.own or not op_names.counts(arg, None, sight):
            return
        at = op_names.job_call(code, sight)
        key = op_names.key_of(code, frame.f_lineno, arg.__qualname__, at)
        op = op_names.known.get(key)
        if op is None:
            op = op_names.learn(key, op_names.of(arg, code, frame.f_lineno, at), code, at)
        sample.enter(op, (frame, arg), True)
    elif stack and type(stack[-1].mark) is tuple and stack[-1].mark[0] is frame:
        sample.leave()  # c_return, c_exception


def _enter_frame(sample, frame, code, caller):
    """A Python function that counts as an op. Of a callable object, its class has the name."""
    obj = None
    if code.co_filename.startswith(_SHIM) or code in sample.sight.inline:
        return
    if code.co_name in ("__call__", "forward", "_call_impl", "_wrapped_call_impl", "__init__"):
        obj = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        if obj is not None and code.co_name != "__init__" and sample.sight.composed(obj):
            return
    at = op_names.job_call(caller.f_code, sample.sight)
    key = op_names.key_of(caller.f_code, caller.f_lineno, id(code) if obj is None else type(obj), at)
    op = op_names.known.get(key)
    if op is None:
        place = caller.f_code, caller.f_lineno, at
        if obj is not None and code.co_name == "__init__":
            op = op_names.of(type(obj), *place)
        elif obj is not None:
            op = op_names.of(obj, *place)
        else:
            op = op_names.define(_qualified(frame, code), code, *place)
        op_names.learn(key, op, caller.f_code, code, at)
    sample.enter(op, frame)


def _qualified(frame, code):
    if code.co_name in frame.f_globals and installed(code.co_filename):
        return "%s.%s" % (frame.f_globals.get("__name__", "").rpartition(".")[2], code.co_name)
    name = getattr(code, "co_qualname", None)  # Python 3.11
    if name is None:
        name = code.co_name
        if code.co_varnames[:1] == ("self",):
            name = "%s.%s" % (type(frame.f_locals.get("self")).__qualname__, name)
    return name


def begin(sight, timed):
    """A sample that the calling thread takes from now on; None if the job has a profiler of its own."""
    if sys.getprofile() is not None:
        session.say("the job has a profiler of its own: ops inside of a fetch are not recorded")
        return None
    sample = samples.Sample(sight)
    sample.event_ns = _time_of_event(sight)
    timing = lines.Lines() if timed else None
    if timing is not None and lines.trace(timing):
        sample.lines = timing
    sys.setprofile(_profiler)
    return sample


def _time_of_event(sight):
    """Of one that is of no interest, as most are: a loop in an op may call thousands of functions."""
    global _event_ns
    if _event_ns is None:
        samples.current = samples.Sample(sight)
        # The least: others may have had the core.
        took = min(_watching() for _ in range(_ROUNDS))
        samples.current = None
        _event_ns = max(0, took) // (2 * _CALLS)  # the call and its return
    return _event_ns


def _watching():
    """What watching adds to some calls."""
    began = ring.now()
    for _ in range(_CALLS):
        len("")
    between = ring.now()
    sys.setprofile(_profiler)
    for _ in range(_CALLS):
        len("")
    sys.setprofile(None)
    return ring.now() - between - (between - began)


def end(_=None):
    if sys.getprofile() is _profiler:
        sys.setprofile(None)
    lines.stop()


_profiler = samples.hook(_profile, end)
