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
import types
from _thread import get_ident

from . import lines, ring, session
from .loaders import installed
from .sight import CollateSight, Sight, shares
from .watch import pass_on

_BUDGET = 300  # watching may cost one part in so many of the time
_EARLY = 100  # the same for the first samples of a job, which may end soon
_FEW = 3
_KNOWN = 16  # samples of a pass: after twice as many, it may cost half as much, and so on
_LEAST = 10  # but never less than this fraction
_BURST = 5_000_000  # ns of watching that may be saved up: a slow batch right behind a fast one
_AGAIN = 1_000_000  # the same at the beginning of a later pass
_COLD = 4  # batches
_SPREAD = 4  # samples: the first ones are further and further apart, so that not all are in the warm-up
_SHORT = 20_000  # ns: shorter calls are a part of the one around them, if they are few
_MOST = 600  # calls per batch that are spans of their own
_WHOLE = 32  # batches
_DISTORTS = 20  # timing lines may take at most 1/20 of a batch whose ops are shown
_LIBRARIES = frozenset(
    "fcntl PIL cv2 torchvision torchaudio torchcodec turbojpeg imageio skimage decord av soundfile librosa "
    "h5py zarr lmdb pyarrow pandas tifffile rasterio nibabel pydicom albumentations kornia "
    "requests urllib3 urllib boto3 botocore s3fs gcsfs fsspec aiohttp transformers tokenizers "
    "webdataset datasets sqlite3 zipfile tarfile gzip lzma bz2 zlib".split())
_TRIVIAL = frozenset((len, isinstance, range, getattr, hasattr, super, int, float, type, id, iter))
_FUNCTION = types.FunctionType
_SHIM = __file__[:-len("ops.py")]


class Watcher:
    """Of one fetcher: decides which of its batches are looked into. The first ones are cold, and come
    before the trainer's steps are steady: in a job's first pass they are left out."""

    def __init__(self, generation):
        self.first = not generation
        self.sight = None  # what is known of the data set
        self.skipped = 1 if generation else _COLD
        self.off = session.settings().get("profile") == "off"
        self.credit = _AGAIN if generation else _BURST
        self.time = ring.now()
        self.running = None
        self.samples = 0
        self.collating = None  # the Sight of the job's own collate function
        self.collate_fn = None

    def begin(self, fetcher, stage):
        if self.off:
            return
        if self.running is not None:
            self.end()
        time = ring.now()
        part = _BUDGET * min(max(1, self.samples // _KNOWN), _LEAST)
        if self.first and self.samples < _FEW:
            part = _EARLY
        self.credit = min(_BURST, self.credit + (time - self.time) // part)
        self.time = time
        if self.skipped:
            self.skipped -= 1
            return
        if self.credit <= 0:
            return
        if self.sight is None:
            self.sight = Sight(fetcher)
            if not _monitored and shares(self.sight):
                self.off = True
                session.say("a function of the data set changes variables of another one: with this "
                            "Python, ops inside of a fetch are not seen")
                return
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
            if not _monitored and shares(self.collating):
                self.collating.entries = {}
        if self.collating.entries:
            self._take(self.collating, stage, ring.now())
        self.samples += 1

    def held(self):
        """Ends the sample, and returns the words of its ops, in case others have to come first."""
        words = []
        self.end(lambda _, more: words.extend(more))
        return tuple(words)

    def end(self, put=None):
        sample, self.running = self.running, None
        if sample is not None:
            time = ring.now()
            _end(sample, self.stage, put or ring.mine().put)
            # Between other work, with cold caches, these are several times what a loop shows.
            timed = 0 if sample.lines is None else sample.lines.events
            inside = (sample.events + timed) * 800 + min(sample.calls, _MOST) * 5000
            self.credit -= ring.now() - time + inside


class Whole:
    """A stage that is a single function of the job: one op, recorded for the first batches and for some
    of the later ones."""

    def __init__(self, code, name):
        seen = code is not None and session.settings().get("profile") != "off"
        self.op = _op(name, code, code, 0) if seen else None
        self.seen = 0

    def words(self, stage, start, end, cpu):
        if self.op is None:
            return ()
        self.seen += 1
        if self.seen > _WHOLE and self.seen % _WHOLE:
            return ()
        return ring.named(ring.OP, self.op, start, end, stage, cpu)


def collate_as_a_whole(collate):
    code, name = next(iter(CollateSight(collate).entries.items()), (None, ""))
    return Whole(code, name)


class _Call:
    """An op under way. `mark`: what its end is known by."""

    __slots__ = ("op", "mark", "depth", "time", "cpu", "inside", "cpu_inside")

    def __init__(self, op, mark):
        self.op = op
        self.mark = mark
        self.depth = 1
        self.inside = self.cpu_inside = 0  # ns of the ops inside
        # A thread is often preempted where the kernel reads its CPU clock: that is within the op.
        self.time = ring.now()
        self.cpu = ring.cpu()


class _Sample:
    """One batch: the ops under way, innermost last, and those that have ended."""

    def __init__(self, sight):
        self.sight = sight
        self.thread = get_ident()
        self.stack = []
        self.long = []  # calls that have ended and are not short: (op, start, end, CPU ns, own ns)
        self.sums = {}  # op → [own ns, own CPU ns], of all calls that have ended
        self.held = {}  # op of a lock → ns, those of the ops inside included
        self.first = None  # when the first call began
        self.calls = 0
        self.events = 0
        self.lines = None  # a lines.Lines
        self.began = ring.now()

    def enter(self, op, mark):
        self.stack.append(_Call(op, mark))

    def leave(self):
        call = self.stack.pop()
        cpu = ring.cpu() - call.cpu
        time = ring.now()
        wall = time - call.time
        if self.stack:
            outer = self.stack[-1]
            outer.inside += wall
            outer.cpu_inside += cpu
        own = wall - call.inside
        self.calls += 1
        if type(call.mark) is tuple and call.mark[0] is _LOCK:
            self.held[call.op] = self.held.get(call.op, 0) + wall
        if self.first is None or call.time < self.first:
            self.first = call.time
        if wall >= _SHORT and len(self.long) < _MOST:
            self.long.append((call.op, call.time, time, cpu, own))
        sums = self.sums.setdefault(call.op, [0, 0])
        sums[0] += own
        sums[1] += cpu - call.cpu_inside

    def write(self, stage, put):
        while self.stack:
            self.leave()
        if self.lines is not None:
            self.lines.keep()
            if self.lines.spent * _DISTORTS > ring.now() - self.began:
                return
        own = sum(wall for wall, _ in self.sums.values())
        if own - sum(c[4] for c in self.long) <= own // 10:
            for op, start, end, cpu, _ in self.long:
                put(end, ring.named(ring.OP, op, start, end, stage, cpu))
        else:
            # Many short ones: one span per op with its own time, one behind the other.
            time = self.first
            for op, (wall, cpu) in self.sums.items():
                if op not in self.held:
                    put(time, ring.named(ring.OP, op, time, time + wall, stage, max(cpu, 0)))
                    time += wall
            for op, wall in self.held.items():  # around those inside
                put(time, ring.named(ring.OP, op, self.first, self.first + wall, stage))


_NATIVE = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
_current = None  # the sample that is being taken in this process
_names = {}


def _name(callee, caller, line):
    """The id of the op, by what is called and where."""
    kind = type(callee)
    code = None
    if kind is types.MethodType:
        code = getattr(callee.__func__, "__code__", None)
        name = getattr(callee.__func__, "__qualname__", str(kind))
    elif kind is _FUNCTION:
        code, name = callee.__code__, callee.__qualname__
        if "." not in name and installed(code.co_filename):
            name = callee.__module__.rpartition(".")[2] + "." + name
    elif isinstance(callee, type):
        name = callee.__qualname__
        code = getattr(callee.__dict__.get("__init__"), "__code__", None)
    elif kind in _NATIVE or kind.__name__ == "cython_function_or_method":
        name = callee.__qualname__
        holder = getattr(callee, "__module__", None) or getattr(
            getattr(callee, "__self__", None), "__name__", None)
        if name.startswith("_VariableFunctions"):
            name = "torch." + callee.__name__
        elif isinstance(holder, str) and "." not in name and holder != "builtins":
            name = holder + "." + name
    else:  # an instance: a transform
        name = kind.__qualname__
        for method in ("forward", "__call__"):
            function = kind.__dict__.get(method)
            code = code or getattr(function, "__code__", None)
    return _op(name, code, caller, line)


def _op(name, code, caller, line):
    name = name.replace("<locals>.", "")
    if code is not None and (not installed(code.co_filename) or installed(caller.co_filename)):
        file, line = code.co_filename, code.co_firstlineno
    else:
        file = caller.co_filename
    return session.string(name, session.absolute(file), line)


def _counts(callee, code, sight):
    """Inside of the data set's own functions: is this call an op?"""
    if code is not None and (code in sight.own or code in sight.roots):
        return True
    module = getattr(callee, "__module__", None) or type(callee).__module__
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


_LOCK = object()  # in the mark of a lock that is held


def sampled():
    """The calling thread makes a batch that is looked into."""
    return _current is not None and _current.thread == get_ident()


def hold(lock, frame):
    """It takes a lock that other processes share, in the line where `frame` is."""
    key = (frame.f_code, frame.f_lineno, type(lock))
    op = _names.get(key)
    if op is None:
        op = _names[key] = session.string("multiprocessing.%s held" % type(lock).__name__,
                                          session.absolute(frame.f_code.co_filename), frame.f_lineno)
    _current.enter(op, (_LOCK, id(lock), True))


def let_go(lock):
    sample = _current
    if sample is None or sample.thread != get_ident():
        return
    if not any(_is_of(lock, call.mark) for call in sample.stack):
        return
    while sample.stack:
        mark = sample.stack[-1].mark
        sample.leave()
        if _is_of(lock, mark):
            return


def _is_of(lock, mark):
    return type(mark) is tuple and mark[0] is _LOCK and mark[1] == id(lock)


def _trivial(callee):
    # An object of the job's may hash and compare by code of its own.
    return type(callee) in (type, types.BuiltinFunctionType) and callee in _TRIVIAL


def _code_of(callee):
    """Of a plain function or method: its end is not reported with the call."""
    if type(callee) is types.MethodType:
        callee = callee.__func__
    return callee.__code__ if type(callee) is _FUNCTION else None


# Python 3.12 and later.

_monitored = hasattr(sys, "monitoring")
_TOOL = 4
_tool_taken = None


def _on_call(code, offset, callee, _):
    sample = _current
    if sample is None or sample.thread != get_ident():
        return
    sample.events += 1
    sight = sample.sight
    stack = sample.stack
    if stack and stack[-1].mark[1] is code:
        sample.leave()  # it was called from here, and has returned without a word
    inner = _code_of(callee)
    module = getattr(callee, "__module__", None) or type(callee).__module__
    if isinstance(module, str) and module.startswith(__package__):
        return sys.monitoring.DISABLE  # a stage that the job names
    if _trivial(callee) or (code not in sight.roots and not _counts(callee, inner, sight)):
        return sys.monitoring.DISABLE  # this call, until the next sample: it may be in a hot loop
    if inner is None and sight.composed(callee):
        for each in sight.roots:
            _watch(each, sample)
        return
    key = (code, offset, inner or _key(callee))
    op = _names.get(key)
    if op is None:
        line = next((n for a, b, n in code.co_lines() if a <= offset < b), 0) or 0
        op = _names[key] = _name(callee, code, line)
    if inner is not None and inner not in sight.own and inner not in sight.roots:
        events = sys.monitoring.events
        if inner not in _extra:
            _extra.add(inner)
            _set_events(inner, sample, events.PY_START | events.PY_RETURN)
    sample.enter(op, (inner, code, False))


def _key(callee):
    kind = type(callee)
    if kind in (types.BuiltinFunctionType, types.MethodDescriptorType) or isinstance(callee, type):
        return callee.__qualname__
    return kind


def _on_return_of_other(code, offset, callee, _):
    sample = _current
    if sample is not None and sample.thread == get_ident():
        stack = sample.stack
        if stack and stack[-1].mark[0] is None and stack[-1].mark[1] is code:
            sample.leave()


def _on_start(code, offset):
    sample = _current
    if sample is None or sample.thread != get_ident():
        return
    sample.events += 1
    if sample.lines is not None and lines.wanted(code):
        sample.lines.start(code)
    stack = sample.stack
    if stack and stack[-1].mark[0] is code:
        call = stack[-1]
        if call.mark[2]:
            call.depth += 1  # it calls itself
        else:
            call.mark = (code, call.mark[1], True)
    elif code in sample.sight.entries:
        key = (code, None, None)
        op = _names.get(key)
        if op is None:
            name = sample.sight.entries[code] or getattr(code, "co_qualname", code.co_name)
            op = _names[key] = _op(name, code, code, 0)
        sample.enter(op, (code, None, True))


def _on_end(code, offset, _):
    sample = _current
    if sample is None or sample.thread != get_ident():
        return
    if sample.lines is not None and lines.wanted(code):
        sample.lines.end(code)
    stack = sample.stack
    while stack and stack[-1].mark[1] is code and stack[-1].mark[0] is not code:
        sample.leave()  # what this function has called
    if stack and stack[-1].mark[0] is code:
        stack[-1].depth -= 1
        if stack[-1].depth <= 0:
            sample.leave()


def _on_line(code, number):
    sample = _current
    if sample is None or sample.lines is None or sample.thread != get_ident():
        return
    if sample.lines.line(code, number):
        for each in sample.sight.roots | sample.sight.own | _extra:
            events = sys.monitoring.get_local_events(_TOOL, each)
            sys.monitoring.set_local_events(_TOOL, each, events & ~sys.monitoring.events.LINE)


_extra = set()


def _watch(code, sample):
    events = sys.monitoring.events
    _set_events(code, sample, events.CALL | events.PY_START | events.PY_RETURN | events.PY_YIELD |
                events.PY_RESUME)


def _set_events(code, sample, events):
    if sample.lines is not None and not sample.lines.full and lines.wanted(code):
        events |= sys.monitoring.events.LINE
    sys.monitoring.set_local_events(_TOOL, code, events)


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
        monitoring.register_callback(_TOOL, event, _guard(callback))
    return True


# Before 3.12.


def _profile(frame, event, arg):
    sample = _current
    if sample is None:
        return
    sample.events += 1
    stack = sample.stack
    sight = sample.sight
    code = frame.f_code
    if event == "call":
        caller = frame.f_back
        outer = caller.f_code if caller is not None else None
        if code in sight.entries:
            key = (code, None, None)
            op = _names.get(key)
            if op is None:
                first = frame.f_locals.get("self")
                name = sight.entries[code] or "%s.%s" % (type(first).__qualname__, code.co_name)
                op = _names[key] = _op(name, code, code, 0)
            sample.enter(op, frame)
        elif outer in sight.roots:
            _enter_frame(sample, frame, code, caller)
        elif outer in sight.own and (
                code in sight.own or
                frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES):
            _enter_frame(sample, frame, code, caller)
    elif event == "return":
        over = code is sight.fetch  # by an exception: else the collate function came first
        if stack and stack[-1].mark is frame:
            sample.leave()
            over = sight.fetch is None and not stack  # the collate function, which may have failed
        if over:
            _stop_profile()
            lines.stop()
    elif event == "c_call":
        if code in sight.roots:
            if _trivial(arg):
                return
        elif code not in sight.own or not _counts(arg, None, sight):
            return
        key = (code, frame.f_lineno, arg.__qualname__)
        op = _names.get(key)
        if op is None:
            op = _names[key] = _name(arg, code, frame.f_lineno)
        sample.enter(op, (frame, arg))
    elif stack and type(stack[-1].mark) is tuple and stack[-1].mark[0] is frame:
        sample.leave()  # c_return, c_exception


def _enter_frame(sample, frame, code, caller):
    """A Python function that counts as an op. Of a callable object, its class has the name."""
    obj = None
    if code.co_filename.startswith(_SHIM):
        return
    if code.co_name in ("__call__", "forward", "_call_impl", "_wrapped_call_impl", "__init__"):
        obj = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
        if obj is not None and code.co_name != "__init__" and sample.sight.composed(obj):
            return
    key = (caller.f_code, caller.f_lineno, code if obj is None else type(obj))
    op = _names.get(key)
    if op is None:
        if obj is not None and code.co_name == "__init__":
            op = _name(type(obj), caller.f_code, caller.f_lineno)
        elif obj is not None:
            op = _name(obj, caller.f_code, caller.f_lineno)
        else:
            op = _op(_qualified(frame, code), code, caller.f_code, caller.f_lineno)
        _names[key] = op
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


def _stop_profile():
    if sys.getprofile() is _profiler:
        sys.setprofile(None)


# Both.


def _guard(callback):
    def guarded(*args):
        global _current
        try:
            return callback(*args)
        except Exception as error:
            pass_on(error)
            _current = None
            if not _monitored:
                _stop_profile()
                lines.stop()
            session.say("ops inside of a fetch are no longer recorded: %s: %s" %
                        (type(error).__name__, error))

    return guarded


_profiler = _guard(_profile)


def _begin(sight, timed):
    """A sample of the batch that this thread is about to fetch, with its lines `timed`; None if another
    thread has one."""
    global _current, _tool_taken
    if _current is not None:
        return None
    if _monitored:
        if _tool_taken is None:
            _tool_taken = _take_tool()
        if not _tool_taken:
            return None
        sample = _Sample(sight)
        sample.lines = lines.Lines() if timed else None
        for code in sight.roots | sight.own:
            _watch(code, sample)
        _current = sample
    else:
        if sys.getprofile() is not None:
            session.say("the job has a profiler of its own: ops inside of a fetch are not recorded")
            return None
        _current = sample = _Sample(sight)
        timing = lines.Lines() if timed else None
        if timing is not None and lines.trace(timing):
            sample.lines = timing
        sys.setprofile(_profiler)
    return sample


def _end(sample, stage, put):
    global _current
    if _current is sample:
        _current = None
    if _monitored:
        for code in sample.sight.roots | sample.sight.own | _extra:
            sys.monitoring.set_local_events(_TOOL, code, 0)
        _extra.clear()
    else:
        _stop_profile()
        lines.stop()
    sample.write(stage, put)


def _forked():
    global _current, _tool_taken
    if _monitored and _current is not None:
        _end(_current, 0, lambda *_: None)
    elif _current is not None:
        _stop_profile()
    _current = None
    _names.clear()


session.fork_hooks.append(_forked)
