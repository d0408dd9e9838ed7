"""Identity, settings and stages of the job's DataLoaders.

A loader is known by where the job constructs it: one that is constructed again for each epoch, in the
same way, is the same loader. The process that iterates over it owns it; its workers get its identity,
and call its batches by the same numbers.
"""
import functools
import os
import sys
import types
import weakref

from . import call_site, ring, session
from .watch import field, pass_on, wrapped

_KNOBS = ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "batch_size",
          "multiprocessing_context", "in_order")
_WORKERS_ONLY = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout",
                 "in_order")
_STAGES = (("sampler", "source"), ("fetch", "map"), ("collate", "batch"),
           ("transport", "transport"), ("pin", "pin"), ("loader", "prefetch"))

_SHIM = os.path.dirname(__file__)
_NAMED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.GeneratorType)

_places = {}  # id of a DataLoader → (weak reference, place, the lines that led there)
_loaders = {}  # id of a DataLoader → (weak reference, Loader)
_again = {}  # how a DataLoader was constructed → (weak reference to the last one, Loader)
_constructed = 0
_OFTEN = 10
met = set()  # the knobs of the user's settings that some call has taken
trainer = None  # the stage
_feeds = []  # stages in front of the trainer
_torch_folder = ""
_frameworks = []  # imported, but not recorded yet


def _forked():
    global trainer
    _loaders.clear()
    _again.clear()
    trainer = None
    del _feeds[:]


session.fork_hooks.append(_forked)


class Loader:
    """What this process calls a loader: ids of itself, its stages and its queues."""

    profiled = False

    def __init__(self, workers, capacity, ordered, pinned, stages=_STAGES, **line):
        self.workers, self.capacity, self.ordered, self.pinned = workers, capacity, ordered, pinned
        self.line = line
        self.share = self.last_share = 1  # batches per step of the optimizer
        self.id = session.define("loader", **line)
        self.passes = 0  # iterators so far
        self.left = 0  # of these, before their end
        self.chain = None  # of the digest, in the process that iterates
        self.queue = session.define("queue", name="loader", capacity=capacity, loader=self.id,
                                    lock=False)
        self.shared_lock = None
        self.send_lock = self.queue
        if workers and stages is _STAGES:
            self.send_lock = session.define(
                "queue", name="send lock", capacity=1, loader=self.id, lock=True)
        before = []
        for name, kind in stages:
            if (name == "transport" and not workers) or (name == "pin" and not pinned):
                continue
            parallel = max(1, workers) if name in ("fetch", "collate", "transport") else 1
            stage = session.define(
                "stage", name=name, kind=kind, loader=self.id, workers=parallel, ordered=ordered,
                inputs=before, **({"queue": self.queue} if name == "loader" else {}))
            setattr(self, name, stage)
            before = [stage]

    def lock(self):
        """Stands for the locks of the job's that its workers share."""
        if self.shared_lock is None:
            self.shared_lock = session.define(
                "queue", name="shared lock", capacity=1, loader=self.id, lock=True)
        return self.shared_lock

    def accumulated(self, batches):
        """An optimizer has stepped on this many of the loader's batches; the same number twice in a
        row counts as a habit."""
        if batches != self.share and batches == self.last_share:
            self.share = batches
            self._learn(gradient_accumulation=batches)
        self.last_share = batches

    def left_early(self):
        """A pass has ended before the loader did, as one of next(iter(loader)) does."""
        self.left += 1
        if self.left == _OFTEN:
            self._learn(left_early=True)

    def made_again(self):
        """The job has constructed it again, for another pass."""
        if not self.line.get("settings", {}).get("made_again"):
            self._learn(made_again=True)

    def _learn(self, **settings):
        self.line["settings"] = dict(self.line.get("settings", ()), **settings)
        session.redefine("loader", self.id, **self.line)

    def describe(self):
        """What a worker needs to define the same loader."""
        return (self.workers, self.capacity, self.ordered, self.pinned)


def framework(name):
    """The job uses this framework."""
    if name not in _frameworks:
        _frameworks.append(name)


def trains():
    """True in the thread that iterates over the loaders."""
    return trainer is not None and ring.stage_of_thread() == trainer


def latest():
    """The loader that was last iterated over, for threads that work for one."""
    return next(reversed(list(_loaders.values())), (None, None))[1]


def of(dataloader):
    """The Loader of a DataLoader that is about to be iterated over."""
    known = _loaders.get(id(dataloader))
    if known is not None and known[0]() is dataloader:
        return known[1]
    place = _places.get(id(dataloader))
    if place is None or place[0]() is not dataloader:  # copied or unpickled: no constructor ran
        place = (None, place_of(dataloader), None)
    settings = _settings(dataloader)
    kinds = class_name(dataloader), class_name(field(dataloader, "dataset", None))
    # The number of threads is the job's at this time, not the loader's.
    key = (place[2], kinds, tuple(each for each in settings.items() if each[0] != "math_threads_at"))
    before = _again.get(key) if place[2] else None
    if before is not None and before[0]() is None:  # if the old one still exists, this is another one
        loader = before[1]
        loader.made_again()
        _begin_digest(loader, place[1])
    else:
        where = _with_stream(place[1], _stream(field(dataloader, "dataset", None)))
        loader = adopt(_define(dataloader, kinds, where, settings), place[1])
    _loaders[id(dataloader)] = _again[key] = (weakref.ref(dataloader), loader)
    return loader


def _define(dataloader, kinds, place, settings):
    workers = int(field(dataloader, "num_workers", 0))
    factor = field(dataloader, "prefetch_factor", None) or 2
    return Loader(
        workers, workers * factor, bool(field(dataloader, "in_order", True)),
        bool(field(dataloader, "pin_memory", False)),
        kind=kinds[0], dataset=kinds[1], where=place, settings=settings)


def adopt(loader, place):
    """`loader`, marked as one that this process iterates over: it feeds the trainer."""
    _begin_digest(loader, place)
    feeds(loader.loader)
    return loader


def feeds(stage):
    """The calling thread trains on what `stage` makes."""
    global trainer
    while _frameworks:  # a package knows its version only after its import is complete
        name = _frameworks.pop()
        version = getattr(sys.modules.get(name), "__version__", "")
        session.note("framework", {"name": name, "version": str(version)})
    _feeds.append(stage)
    if trainer is None:
        trainer = session.define("stage", name="trainer", kind="trainer", workers=1, ordered=True,
                                  inputs=_feeds)
    else:
        session.redefine("stage", trainer, name="trainer", kind="trainer", workers=1, ordered=True,
                         inputs=_feeds)
    ring.name_thread(stage=trainer)  # whoever iterates over a loader trains


def _begin_digest(loader, place):
    if session.settings().get("digest"):
        from . import digest

        loader.chain = digest.Chain(loader.id, place)


def constructed(dataloader):
    """Called as the constructor begins, while the job's frames are on the stack."""
    number = id(dataloader)
    frame, direct = _constructing(dataloader)
    place = _line_of_another() or _line_of(frame)
    if direct:
        try:
            place["call"] = call_site.of(frame, type(dataloader))
        except Exception as error:
            pass_on(error)
            session.say("the call that constructs a loader is not recorded: %s: %s" %
                        (type(error).__name__, error))
    # No Python runs when it goes away: a signal handler of the job's could land in it.
    gone = functools.partial(_places.pop, number)
    _places[number] = (weakref.ref(dataloader, gone), place, _lines())


def _lines():
    """The job's own lines on the stack, innermost first: a function that makes all loaders on one line
    is called from several lines."""
    lines = []
    frame = sys._getframe(3)
    while frame is not None and len(lines) < 4:
        if not installed(frame.f_code.co_filename):
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(lines)


def place_of(dataloader):
    return _line_of_another() or _line_of(_constructing(dataloader)[0])


def _line_of_another():
    """The line of the job's loader that a framework makes this one from: Accelerate's prepare() and
    Lightning replace it, keep its settings, and call it `dataloader` meanwhile."""
    frame = sys._getframe(2)
    while frame is not None and (installed(frame.f_code.co_filename) or
                                 frame.f_code.co_filename.startswith(_SHIM)):
        if "dataloader" in frame.f_code.co_varnames:
            other = frame.f_locals.get("dataloader")
            known = _places.get(id(other))
            if known is not None and known[0]() is other:
                return known[1]
        frame = frame.f_back
    return None


def job_frame():
    """The innermost frame of the job's own code, with calls of installed packages in front of it."""
    frame = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(("<", _SHIM)) or
                                 installed(frame.f_code.co_filename)):
        frame = frame.f_back
    return frame


def job_line():
    return _line_of(job_frame())


def in_short(place):
    """A place within settings: "data.py:7"."""
    return "%s:%d" % (os.path.basename(place["file"]), place["line"])


def _line_of(frame):
    return frame and {"file": session.absolute(frame.f_code.co_filename), "line": frame.f_lineno}


def _constructing(dataloader):
    """The job's frame that constructs the loader: the first one outside of torch, of the loader's own
    constructors, and of installed packages, if any. And whether that is the job's own code, with
    nothing in between."""
    skipped = (_SHIM, _torch_folder or "<", "<")
    first = None
    frame = sys._getframe(1)
    direct = True
    while frame is not None:
        file = frame.f_code.co_filename
        own = _constructs(frame, dataloader)
        if not own and not file.startswith(skipped):
            if not installed(file):
                return frame, direct
            first = first or frame
        direct = direct and (own or file.startswith(_SHIM))
        frame = frame.f_back
    return first, False


def _constructs(frame, dataloader):
    """True for a constructor of the loader's. Lightning wraps it; of the job's own frames, no variable is
    looked at (call_site.py)."""
    code = frame.f_code
    if not code.co_argcount:
        return False
    if installed(code.co_filename):
        return frame.f_locals.get(code.co_varnames[0]) is dataloader
    for cls in type(dataloader).__mro__:
        function = vars(cls).get("__init__")
        while function is not None:
            if getattr(function, "__code__", None) is code:
                return True
            function = getattr(function, "__wrapped__", None)
    return False


def installed(file):
    return ("site-packages" in file or "dist-packages" in file or
            file.startswith((os.path.dirname(os.__file__), "<frozen ")))


def _settings(dataloader):
    found = {}
    for name in _KNOBS[:5] + ("drop_last", "timeout", "in_order"):
        value = field(dataloader, name, None)
        if value is None or isinstance(value, (bool, int, float)):
            found[name] = value
    if found.get("batch_size") is None:
        found["batch_size"] = field(field(dataloader, "batch_sampler", None), "batch_size", None)
        if not isinstance(found["batch_size"], int):
            found["batch_size"] = None
    found["multiprocessing_context"] = _start_method(dataloader) if found["num_workers"] else None
    # Not by its methods: torch's IterableDataset inherits a __getitem__.
    found["iterable"] = field(dataloader, "_dataset_kind", 0) == 1
    shards = _shards(field(dataloader, "dataset", None), found["iterable"])
    if shards is not None:
        found["shards"] = shards
        stream = _stream(field(dataloader, "dataset", None))
        if stream is not None:
            found["num_shards"] = shards
            found["num_shards_at"] = in_short(stream)
    if found["iterable"] and field(dataloader, "worker_init_fn", None) is None:
        from . import streams

        try:
            if streams.whole_in_each_worker(field(dataloader, "dataset", None)):
                found["whole_in_each_worker"] = True
        except Exception as error:
            pass_on(error)
    from . import math_threads

    if math_threads.place() is not None:
        found["math_threads_at"] = math_threads.place()
    for name in ("sampler", "batch_sampler", "worker_init_fn"):
        value = field(dataloader, name, None)
        found[name] = None if value is None else class_name(value)
    collate = field(dataloader, "collate_fn", None)
    named = type(collate) in _NAMED or isinstance(collate, type)
    found["collate_fn"] = collate.__qualname__ if named else None
    torch_multiprocessing = sys.modules.get("torch.multiprocessing")
    try:
        found["sharing_strategy"] = torch_multiprocessing.get_sharing_strategy()
    except Exception:
        pass
    return found


def _shards(dataset, iterable):
    """The number of shards that workers divide among themselves: those without one are idle."""
    library = type(dataset).__module__.partition(".")[0]
    if library == "datasets" and iterable:
        shards = field(dataset, "num_shards", None) or field(dataset, "n_shards", None)
        return shards if isinstance(shards, int) else None
    if library == "webdataset":
        stages = field(dataset, "pipeline", None) or [None]
        if type(stages[0]).__name__ == "SimpleShardList":  # others repeat, or draw at random
            urls = field(stages[0], "urls", None)
            return len(urls) if isinstance(urls, (list, tuple)) else None
    return None


# Streams of Hugging Face's datasets that the job makes from a data set on disk.

_streams = {}  # id of a stream → (weak reference, place of the call of to_iterable_dataset())
_batched = {}  # id of a stream whose elements are batches → a weak reference


def stream_constructed(stream):
    """The constructor is looked up: by to_iterable_dataset(), or by a method of another stream."""
    frame = sys._getframe(2)
    before = frame.f_locals.get("self") if installed(frame.f_code.co_filename) else None
    place = _line_of(job_frame()) if frame.f_code.co_name == "to_iterable_dataset" else _stream(before)
    number = id(stream)
    if place is not None:
        _streams[number] = (weakref.ref(stream, functools.partial(_streams.pop, number)), place)
    if is_batched(before) or _called_from("batch", frame):
        _batched[number] = weakref.ref(stream, functools.partial(_batched.pop, number))


def is_batched(stream):
    """By its method `batch()`, or made from one that is."""
    known = _batched.get(id(stream))
    return known is not None and known() is stream


def _called_from(method, frame):
    while frame is not None and installed(frame.f_code.co_filename):
        if frame.f_code.co_name == method:
            return True
        frame = frame.f_back
    return False


def _stream(dataset):
    known = _streams.get(id(dataset))
    return known[1] if known is not None and known[0]() is dataset else None


def _with_stream(place, stream):
    """The loader's place, with lines that show both calls."""
    call = place and place.get("call")
    if not call or stream is None or stream["file"] != place["file"]:
        return place
    lines = (place["line"], call.get("end_line") or place["line"], stream["line"])
    text = call_site.source(place["file"], min(lines), max(lines))
    return dict(place, call=dict(call, **text)) if text else place


def _start_method(dataloader):
    """Without fixing the default context, which the job may yet want to set."""
    import multiprocessing

    context = field(dataloader, "multiprocessing_context", None)
    try:
        if context is not None:
            return context.get_start_method()
        default = multiprocessing.context._default_context
        return default.get_start_method(allow_none=True) or default._default_context._name
    except Exception:
        return None


def class_name(obj):
    if obj is None:
        return ""
    cls = obj if issubclass(type(obj), type) or type(obj) in _NAMED else type(obj)
    module = getattr(cls, "__module__", "")
    name = "DataLoader" if module.startswith("torch.utils.data.") and (
        cls.__qualname__ == "DataLoader") else cls.__qualname__
    if name == "DataLoader" and cls.__qualname__ == "DataLoader":
        module = "torch.utils.data"
    return name if module in ("", "__main__", "__mp_main__") else module + "." + name


# Settings of a re-run.


def apply_settings(cls):
    """Where the user asked for other settings, the constructor gets them. This alone stands in the
    call chain, and only in such a run."""
    wanted = [s for s in _asked if str(s["knob"]).partition(".")[2] in _KNOBS]
    if not wanted:
        return
    import inspect

    original = cls.__init__
    signature = inspect.signature(original)

    def before(dataloader, args, kwargs):
        global _constructed
        try:
            if _line_of_another() is not None:
                return args, kwargs  # the other one's settings have already been changed
            _constructed += 1
            place = place_of(dataloader)
            meant = [s for s in wanted if _meant(s, place, _constructed)]
            met.update(s["knob"] for s in meant)
            changes = {s["knob"].partition(".")[2]: s.get("value") for s in meant}
            if changes:
                bound = signature.bind(dataloader, *args, **kwargs)
                _change(bound.arguments, changes, signature.parameters)
                return bound.args[1:], bound.kwargs
        except Exception as error:
            pass_on(error)
            session.say("the loader's settings were not changed: %s: %s" %
                        (type(error).__name__, error))
        return args, kwargs

    cls.__init__ = wrapped(original, before)


def _tell_unmet():
    """A replay looks for itself whether there is still a loader at a setting's place."""
    for setting in _asked:
        knob = setting["knob"]
        if knob in met or isinstance(setting.get("where"), dict):
            continue
        if knob.partition(".")[2] in _KNOBS and _constructed:
            session.say("%s was not set: the job made %d of PyTorch's loaders" % (knob, _constructed))
        elif session.next_number("loader"):  # else a process that takes no batches
            session.say("%s was not set: no call of the job's takes it" % knob)


def _prepare_to_tell():
    import atexit

    pid = os.getpid()
    atexit.register(lambda: os.getpid() == pid and _tell_unmet())


_asked = [s for s in session.settings().get("set", ())
          if isinstance(s, dict) and str(s.get("knob", "")).partition(".")[0].startswith("loader")]
if _asked:
    _prepare_to_tell()


def _meant(setting, place, ordinal):
    where = setting.get("where")
    if isinstance(where, dict):
        return place is not None and (where.get("file"), where.get("line")) == (
            place["file"], place["line"])
    name = setting["knob"].partition(".")[0]
    return name == ("loader" if ordinal == 1 else "loader%d" % ordinal)


def _change(arguments, changes, parameters):
    for name, value in changes.items():
        if name not in parameters:
            session.say("this version's DataLoader has no %s" % name)
        elif name == "batch_size" and arguments.get("batch_sampler") is not None:
            session.say("batch_size was not changed: the job's batch sampler decides it")
        else:
            arguments[name] = value
    if not arguments.get("num_workers"):
        for name in _WORKERS_ONLY:
            arguments.pop(name, None)


def attach(module, cls):
    global _torch_folder
    file = module.__file__
    _torch_folder = file[:file.rindex(os.sep + "utils" + os.sep) + 1]
    apply_settings(cls)
