"""Loops over the data sets of other libraries, without a DataLoader that hands out the batches.

    WebDataset   a pipeline around a DataLoader (`WebLoader(...).batched(8)`), or without one
    datasets     `data.iter(batch_size)`, and a stream's `batch(size)`
    grain        its own DataLoader, and chains of nodes
    DALI         the iterators of its plugins for torch, JAX and others

Inside of a DataLoader these data sets are part of its fetch: `sight.py` names their work there.
"""
import functools
import multiprocessing
import sys
import threading
import weakref

from . import call_site, loaders, plain, session
from .watch import Method, pass_on


def _hands_out(cls, name, what, watch):
    """The iterator that the method returns hands out batches: the job gets `watch(iterator, data)`. The
    library's own code does not: datasets reads the first rows of a stream to learn their types."""
    iterate = vars(cls)[name]
    library = cls.__module__.partition(".")[0]

    @functools.wraps(iterate)
    def iterator_over(data, *args, **kwargs):
        iterator = iterate(data, *args, **kwargs)
        try:
            asks = sys._getframe(1).f_globals.get("__name__")
            if isinstance(asks, str) and asks.partition(".")[0] == library:
                return iterator
            return watch(iterator, data)
        except Exception as error:
            pass_on(error)
            session.say("the batches of a %s are not recorded: %s" % (what, error))
        return iterator

    setattr(cls, name, iterator_over)


def webdataset(module):
    """`module` is webdataset.pipeline."""
    loaders.framework("webdataset")

    def watch(iterator, data):
        stages = data.pipeline
        if not _free() or len(stages) == 1 and _is_data_loader(stages[0]):
            return iterator
        return plain.watch(iterator, data, loaders.place_of(data), _shape(stages))

    _hands_out(module.DataPipeline, "__iter__", "WebDataset pipeline", watch)


def _shape(stages):
    """The names of a pipeline's stages: "SimpleShardList, split_by_worker, map"."""
    names = []
    for stage in stages:
        function = getattr(stage, "f", stage)
        names.append(getattr(function, "__name__", type(stage).__name__).strip("_"))
    return ", ".join(names)[:200]


def datasets(module):
    """`module` is datasets.arrow_dataset or datasets.iterable_dataset."""
    streams = module.__name__.endswith("iterable_dataset")
    cls = module.IterableDataset if streams else module.Dataset
    if "iter" not in vars(cls):
        return  # an older version
    loaders.framework("datasets")
    _hands_out(cls, "iter", "data set", _watch_rows)
    if streams:
        # `for batch in stream.batch(8)`. Other streams hand out rows, of which a loop may do anything.
        _hands_out(cls, "__iter__", "stream", lambda iterator, data: (
            _watch_rows(iterator, data) if loaders.is_batched(data) else iterator))
        Method(cls, "__init__", loaders.stream_constructed)
    elif session.settings().get("set"):
        from . import rewrites

        rewrites.datasets(cls)


def _watch_rows(iterator, data):
    if not _free():
        return iterator
    return plain.watch(iterator, data, loaders.place_of(data), "", samples=_rows)


def role_of(package, node, waits):
    """The role of a node for the calling thread. What runs code of the package's own is a thread or a
    process that makes batches ahead of the loop, unless the node `waits` for others. Requests by the
    job's other threads are not recorded."""
    roles = plain.here.roles
    if package not in roles:
        roles[package] = _role_of_thread(package)
    role = roles[package]
    return None if role == plain.AHEAD and waits(node) else role


def _role_of_thread(package):
    worker = threading.current_thread()
    if worker is threading.main_thread():
        worker = multiprocessing.current_process()
        if not _runs(package, worker):
            return plain.HANDS_OUT
    return plain.AHEAD if _runs(package, worker) else None


def _runs(package, worker):
    target = getattr(worker, "_target", None)
    target = getattr(target, "func", target)
    return (getattr(target, "__module__", None) or "").startswith(package + ".")


def grain(module):
    """`module` is grain._src.python.dataset.dataset or ...python.data_loader. The outermost
    node of a chain hands out batches; the nodes inside are its ops."""
    loaders.framework("grain")
    if module.__name__.endswith("data_loader"):
        plain.watch_class(module.DataLoaderIterator, _of_grain, _role_in_grain)
        return
    if "mp_prefetch" in vars(module.IterDataset):
        Method(module.IterDataset, "mp_prefetch", _prefetches)
    base = module.DatasetIterator
    original = base.__dict__.get("__init_subclass__")

    def __init_subclass__(cls, **kwargs):
        if original is None:
            super(base, cls).__init_subclass__(**kwargs)
        else:
            original.__get__(None, cls)(**kwargs)
        if "__next__" in vars(cls) and cls.__module__.startswith("grain."):
            plain.watch_class(cls, _of_grain, _role_in_grain)

    base.__init_subclass__ = classmethod(__init_subclass__)
    for cls in base.__subclasses__():
        if "__next__" in vars(cls):
            plain.watch_class(cls, _of_grain, _role_in_grain)


# Nodes that get elements from other threads and processes.
_WAITING = ("ProcessPrefetch", "MultiprocessPrefetch", "ThreadPrefetch", "Interleave")


def _role_in_grain(iterator):
    return role_of("grain", iterator, _waits_in_grain)


def _waits_in_grain(iterator):
    return type(iterator).__name__.strip("_").startswith(_WAITING)


def _of_grain(iterator):
    data = getattr(iterator, "_ds", None) or getattr(iterator, "_data_loader", None) or iterator
    nodes = _nodes(iterator)
    settings, places = {}, {}
    inside = _nodes(next(iter(_process_inputs(nodes[-1])), None))  # of the first process
    for node, here in [(node, True) for node in nodes] + [(node, False) for node in inside]:
        processes = _processes_of(node) if here else None
        if processes is not None and processes[0] >= settings.get("num_workers", 0):
            settings["num_workers"] = processes[0]
            places["num_workers"] = built_at(processes[1])
        options = getattr(node, "_read_options", None)
        if options is None:
            continue
        # Neither is used without the other. A re-run may set them, where the job makes them.
        ahead = options.prefetch_buffer_size if options.num_threads else 0
        settings["threads"] = options.num_threads if ahead else None
        settings["prefetch"] = ahead or None
        places["threads"] = places["prefetch"] = built_at(options)
        if ahead and here:
            _watch_pool(node)
    names = [type(node).__name__.strip("_") for node in nodes]
    return (_with_calls(loaders.place_of(iterator), places, settings), loaders.class_name(iterator),
            ", ".join(names[1:] or names)[:200], settings, data)


_mp_prefetch = False  # the job calls it: without processes it leaves no node


def _prefetches(_):
    global _mp_prefetch
    _mp_prefetch = True


def _processes_of(node):
    """Their number, and what has the place of the options. Newer versions interleave iterators, each in
    its own process. None if the job asks for none."""
    of_loader = getattr(node, "_data_loader", None)
    options = getattr(of_loader or node, "_multiprocessing_options", None)
    if options is not None:
        return options.num_workers, options
    if type(node).__name__ == "ProcessPrefetchDatasetIterator":
        return 1, getattr(node, "_ds", None)
    processes = _process_inputs(node)
    if processes:
        return len(processes), processes[0]
    if not _mp_prefetch:
        return None
    unused = [known() for known, _ in list(_built.values())]
    unused = [options for options in unused if getattr(options, "num_workers", None) == 0]
    return 0, unused[0] if len(unused) == 1 else None


def _process_inputs(node):
    inputs = getattr(node, "_datasets", None)
    inputs = inputs if isinstance(inputs, (list, tuple)) else ()
    return [each for each in inputs if type(each).__name__ == "ProcessPrefetchIterDataset"]


def _nodes(iterator):
    """The iterators or data sets of a chain, from its end to its beginning."""
    nodes = []
    while iterator is not None and len(nodes) < 20:
        nodes.append(iterator)
        parents = getattr(iterator, "_parents", None) or (getattr(iterator, "_iterator", None),)
        iterator = parents[0]
    return nodes


def _watch_pool(iterator):
    """Elements that the threads of a prefetch read; a worker's are part of its batch."""
    pool = getattr(iterator, "_executor", None)
    submit = getattr(pool, "submit", None)
    if submit is None or "submit" in vars(pool):
        session.say("the work of the threads of %s is not recorded" % type(iterator).__name__)
        return
    data = getattr(iterator, "_map_parent", iterator)

    @functools.wraps(submit)
    def watched(function, /, *args, **kwargs):
        return submit(plain.ahead, data, function, *args, **kwargs)

    pool.submit = watched


def dali(module):
    """`module` is one of nvidia.dali.plugin's, each with its own iterator."""
    loaders.framework("nvidia.dali")
    found = False
    for name in ("DALIGenericIterator", "DALIRaggedIterator"):
        cls = vars(module).get(name)
        if isinstance(cls, type) and "__next__" in vars(cls):
            plain.watch_class(cls, _of_dali)
            found = True
    session.say("DALI's pipelines are not recorded, only the waits for their batches" if found else
                "the iterators of %s are not recognized: their batches are not recorded" % module.__name__)


def _of_dali(iterator):
    pipelines = getattr(iterator, "_pipes", None) or ()
    settings = {}
    for setting, name in (("max_batch_size", "max_batch_size"), ("threads", "num_threads"),
                          ("prefetch", "prefetch_queue_depth")):
        value = getattr(pipelines[0], name, None) if pipelines else None
        if isinstance(value, int):
            settings[setting] = value
    places = {name: built_at(pipelines[0]) for name in ("threads", "prefetch") if name in settings}
    names = [type(p).__qualname__ for p in pipelines[:1]]
    return (_with_calls(loaders.place_of(iterator), places, settings), loaders.class_name(iterator),
            names[0] if names else "", settings, iterator)


# Where the job constructs what has a loader's options: often far from the loop, in another file.

_built = {}  # id of options, a pipeline or a node → (its reference, place)
_MOST_BUILT = 256


def options_of_grain(module):
    """`module` is grain._src.python.options."""
    constructed_in(module, module.ReadOptions, module.MultiprocessingOptions)


def processes_of_grain(module):
    """`module` is ...transformations.process_prefetch, whose nodes keep no options."""
    Method(module.ProcessPrefetchIterDataset, "__init__", _constructed_from_options)


def pipelines_of_dali(module):
    """`module` is nvidia.dali.pipeline."""
    constructed_in(module, module.Pipeline)


def constructed_in(module, *classes):
    """What the job constructs of these classes of the module's has a place, and takes the settings of a
    re-run."""
    if session.settings().get("set"):
        from . import rewrites

        rewrites.attach(module)
    for cls in classes:
        Method(cls, "__init__", _constructed)


def _constructed(options):
    _keep_place(options, loaders.job_line())


def _constructed_from_options(node):
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "mp_prefetch":
        frame = frame.f_back
    _keep_place(node, built_at(frame and frame.f_locals.get("options")))


def _keep_place(options, place):
    if place is None:
        return
    number = id(options)
    try:
        reference = weakref.ref(options, functools.partial(_built.pop, number))
    except TypeError:  # it has slots, and is small
        def reference():
            return options
    if len(_built) >= _MOST_BUILT:
        _built.clear()
    _built[number] = reference, place


def built_at(options):
    """Where the job has constructed them; None: unknown."""
    known = _built.get(id(options))
    return known[1] if known is not None and known[0]() is options else None


def _with_calls(place, places, settings):
    """The loader's place, `with_lines` of these calls. Adds to the settings where each is set."""
    for knob, call in places.items():
        if call is not None:
            settings[knob + "_at"] = loaders.in_short(call)
    return with_lines(place, places.values())


def with_lines(place, calls):
    """The loader's place, with the lines that show these calls, None for an unknown one."""
    lines = [call["line"] for call in calls
             if call is not None and place is not None and call["file"] == place["file"]]
    for first, last in ((min(lines + [place["line"]]), max(lines + [place["line"]])),
                        (min(lines), max(lines))) if lines else ():
        text = call_site.source(place["file"], first, last)
        if text:
            return dict(place, call=dict(text, names=[], line=first, end_line=last))
    return place


def _rows(batch):
    """A batch is a dictionary of columns."""
    return len(next(iter(batch.values()))) if isinstance(batch, dict) and batch else len(batch)


def _free():
    """True unless a DataLoader is about to iterate, for its own batches."""
    data = sys.modules.get(__package__ + ".data")
    return data is None or not data.busy()


def _is_data_loader(stage):
    torch = sys.modules.get("torch.utils.data.dataloader")
    return torch is not None and isinstance(stage, torch.DataLoader)
