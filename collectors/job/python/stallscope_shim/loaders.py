"""Identity, settings and stages of the job's DataLoaders.

A loader is known by where the job constructs it. The process that iterates over it owns it; its
workers are told who that is, and call its batches by the same numbers.
"""
import os
import sys
import weakref

from . import call_site, ring, session
from .watch import wrapped

_KNOBS = ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "batch_size",
          "multiprocessing_context", "in_order")
_WORKERS_ONLY = ("prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout",
                 "in_order")
_STAGES = (("sampler", "source"), ("fetch", "map"), ("collate", "batch"),
           ("transport", "transport"), ("pin", "pin"), ("loader", "prefetch"))

_places = {}  # id of a DataLoader → (weak reference, place)
_loaders = {}  # id of a DataLoader → (weak reference, Loader)
_constructed = 0
_trainer = None
_feeds = []  # stages in front of the trainer
_torch_folder = ""


def _forked():
    global _trainer
    _loaders.clear()
    _trainer = None
    del _feeds[:]


session.fork_hooks.append(_forked)


class Loader:
    """What this process calls a loader: ids of itself, its stages and its queues."""

    def __init__(self, workers, capacity, ordered, pinned, **line):
        self.workers, self.capacity, self.ordered, self.pinned = workers, capacity, ordered, pinned
        self.id = session.define("loader", **line)
        self.passes = 0  # iterators so far
        self.chain = None  # of the digest, in the process that iterates
        self.queue = session.define("queue", name="loader", capacity=capacity, loader=self.id,
                                    lock=False)
        self.send_lock = self.queue
        if workers:
            self.send_lock = session.define(
                "queue", name="send lock", capacity=1, loader=self.id, lock=True)
        before = []
        for name, kind in _STAGES:
            if (name == "transport" and not workers) or (name == "pin" and not pinned):
                continue
            parallel = max(1, workers) if name in ("fetch", "collate", "transport") else 1
            stage = session.define(
                "stage", name=name, kind=kind, loader=self.id, workers=parallel, ordered=ordered,
                inputs=before, **({"queue": self.queue} if name == "loader" else {}))
            setattr(self, name, stage)
            before = [stage]

    def describe(self):
        """What a worker needs to define the same loader."""
        return (self.workers, self.capacity, self.ordered, self.pinned)


def trainer_stage():
    return _trainer


def of(dataloader):
    """The Loader of a DataLoader that is about to be iterated over."""
    global _trainer
    known = _loaders.get(id(dataloader))
    if known is not None and known[0]() is dataloader:
        return known[1]
    place = _places.get(id(dataloader))
    if place is None or place[0]() is not dataloader:  # copied or unpickled: no constructor ran
        place = (None, _place(dataloader))
    workers = int(_get(dataloader, "num_workers", 0))
    factor = _get(dataloader, "prefetch_factor", None) or 2
    loader = Loader(
        workers, workers * factor, bool(_get(dataloader, "in_order", True)),
        bool(_get(dataloader, "pin_memory", False)),
        kind=_class_name(dataloader), dataset=_class_name(_get(dataloader, "dataset", None)),
        where=place[1], settings=_settings(dataloader))
    if session.settings().get("digest"):
        from . import digest

        loader.chain = digest.Chain(loader.id, place[1])
    _loaders[id(dataloader)] = (weakref.ref(dataloader), loader)
    _feeds.append(loader.loader)
    if _trainer is None:
        _trainer = session.define("stage", name="trainer", kind="trainer", workers=1, ordered=True,
                                  inputs=_feeds)
    else:
        session.redefine("stage", _trainer, name="trainer", kind="trainer", workers=1, ordered=True,
                         inputs=_feeds)
    ring.name_thread(stage=_trainer)  # whoever iterates over a loader trains
    return loader


def constructed(dataloader):
    """Called as the constructor begins, while the job's frames are on the stack."""
    number = id(dataloader)
    frame, direct = _constructing(dataloader)
    place = _line_of(frame)
    if direct:
        try:
            place["call"] = call_site.of(frame, type(dataloader))
        except Exception as error:
            session.say("the call that constructs a loader is not seen: %s: %s" %
                        (type(error).__name__, error))
    _places[number] = (weakref.ref(dataloader, lambda _: _places.pop(number, None)), place)


def _place(dataloader):
    return _line_of(_constructing(dataloader)[0])


def _line_of(frame):
    return frame and {"file": session.absolute(frame.f_code.co_filename), "line": frame.f_lineno}


def _constructing(dataloader):
    """The frame of the job that constructs the loader: the first one outside of torch, of the
    loader's own constructors, and of what is installed, if there is one. And whether it is a frame
    of the job's own, with nothing in between."""
    shim = os.path.dirname(__file__)
    first = None
    frame = sys._getframe(1)
    direct = True
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        own = code.co_name == "__init__" and frame.f_locals.get("self") is dataloader
        if not own and not file.startswith((shim, _torch_folder, "<")):
            if not installed(file):
                return frame, direct
            first = first or frame
        direct = direct and (own or file.startswith(shim))
        frame = frame.f_back
    return first, False


def installed(file):
    return ("site-packages" in file or "dist-packages" in file or
            file.startswith(os.path.dirname(os.__file__)))


def _settings(dataloader):
    found = {}
    for name in _KNOBS[:5] + ("drop_last", "timeout", "in_order"):
        value = _get(dataloader, name, None)
        if value is None or isinstance(value, (bool, int, float)):
            found[name] = value
    if found.get("batch_size") is None:
        found["batch_size"] = _get(_get(dataloader, "batch_sampler", None), "batch_size", None)
        if not isinstance(found["batch_size"], int):
            found["batch_size"] = None
    found["multiprocessing_context"] = _start_method(dataloader) if found["num_workers"] else None
    found["iterable"] = not hasattr(type(_get(dataloader, "dataset", None)), "__getitem__")
    for name in ("sampler", "batch_sampler", "worker_init_fn"):
        value = _get(dataloader, name, None)
        found[name] = None if value is None else _class_name(value)
    found["collate_fn"] = getattr(_get(dataloader, "collate_fn", None), "__qualname__", None)
    torch_multiprocessing = sys.modules.get("torch.multiprocessing")
    try:
        found["sharing_strategy"] = torch_multiprocessing.get_sharing_strategy()
    except Exception:
        pass
    return found


def _start_method(dataloader):
    """Without fixing the default context, which the job may yet want to set."""
    import multiprocessing

    context = _get(dataloader, "multiprocessing_context", None)
    try:
        if context is not None:
            return context.get_start_method()
        default = multiprocessing.context._default_context
        return default.get_start_method(allow_none=True) or default._default_context._name
    except Exception:
        return None


def _get(obj, name, default):
    try:
        return getattr(obj, name, default)
    except Exception:
        return default


def _class_name(obj):
    if obj is None:
        return ""
    cls = obj if isinstance(obj, type) or hasattr(obj, "__qualname__") else type(obj)
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
    wanted = [s for s in session.settings().get("set", [])
              if isinstance(s, dict) and str(s.get("knob", "")).partition(".")[0].startswith("loader")
              and str(s.get("knob")).partition(".")[2] in _KNOBS]
    if not wanted:
        return
    import inspect

    original = cls.__init__
    signature = inspect.signature(original)

    def before(dataloader, args, kwargs):
        global _constructed
        try:
            _constructed += 1
            place = _place(dataloader)
            changes = {s["knob"].partition(".")[2]: s.get("value") for s in wanted
                       if _meant(s, place, _constructed)}
            if changes:
                bound = signature.bind(dataloader, *args, **kwargs)
                _change(bound.arguments, changes, signature.parameters)
                return bound.args[1:], bound.kwargs
        except Exception as error:
            session.say("the loader's settings are not changed: %s: %s" %
                        (type(error).__name__, error))
        return args, kwargs

    cls.__init__ = wrapped(original, before)


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
            session.say("batch_size is not changed: the job's batch sampler decides")
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
