"""Loops over the data sets of other libraries, without a DataLoader that hands out the batches.

    WebDataset   a pipeline around a DataLoader (`WebLoader(...).batched(8)`), or without one
    datasets     `data.iter(batch_size)`
    grain        its own DataLoader, and chains of nodes
    DALI         the iterators of its plugins for torch, JAX and others

Inside of a DataLoader these data sets are part of its fetch: `ops.py` names their work there.
"""
import functools
import multiprocessing
import sys
import threading

from . import loaders, plain, session
from .watch import Method


def webdataset(module):
    """`module` is webdataset.pipeline."""
    loaders.framework("webdataset")
    pipeline = module.DataPipeline
    iterate = pipeline.__dict__["__iter__"]

    @functools.wraps(iterate)
    def __iter__(data):
        iterator = iterate(data)
        try:
            stages = data.pipeline
            if _free() and not (len(stages) == 1 and _is_data_loader(stages[0])):
                return plain.watch(iterator, data, loaders.place_of(data), _shape(stages))
        except Exception as error:
            session.say("the batches of a WebDataset pipeline are not recorded: %s" % error)
        return iterator

    pipeline.__iter__ = __iter__


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
    iterate = vars(cls).get("iter")
    if iterate is None:
        return  # an older version
    loaders.framework("datasets")

    @functools.wraps(iterate)
    def iter(data, batch_size, *args, **kwargs):
        iterator = iterate(data, batch_size, *args, **kwargs)
        try:
            if _free():
                return plain.watch(iterator, data, loaders.place_of(data), "", samples=_rows)
        except Exception as error:
            session.say("the batches of a data set are not recorded: %s" % error)
        return iterator

    cls.iter = iter
    if streams:
        Method(cls, "__init__", loaders.stream_constructed)
    elif session.settings().get("set"):
        from . import rewrites

        rewrites.datasets(cls)


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
    """Its threads and processes load ahead. Requests by the job's own threads are not recorded."""
    thread = threading.current_thread()
    if thread is threading.main_thread():
        thread = multiprocessing.current_process()
        if not _is_grains(thread):
            return plain.HANDS_OUT
    waits = type(iterator).__name__.strip("_").startswith(_WAITING)
    return plain.AHEAD if _is_grains(thread) and not waits else None


def _is_grains(worker):
    """True if a thread or a process was started to run grain's own code."""
    target = getattr(worker, "_target", None)
    target = getattr(target, "func", target)
    return (getattr(target, "__module__", None) or "").startswith("grain.")


def _of_grain(iterator):
    data = getattr(iterator, "_ds", None) or getattr(iterator, "_data_loader", None) or iterator
    nodes = _nodes(iterator)
    settings = {}
    for node in nodes:
        processes = _processes_of(node)
        if processes is not None:
            settings["num_workers"] = max(processes, settings.get("num_workers", 0))
        options = getattr(node, "_read_options", None)
        if options is None:
            continue
        # Neither is used without the other. A re-run may set them, where the job makes them.
        ahead = options.prefetch_buffer_size if options.num_threads else 0
        settings["threads"] = options.num_threads if ahead else None
        settings["prefetch"] = ahead or None
        if ahead:
            _watch_pool(node)
    names = [type(node).__name__.strip("_") for node in nodes]
    return (loaders.place_of(iterator), loaders.class_name(iterator),
            ", ".join(names[1:] or names)[:200], settings, data)


_mp_prefetch = False  # the job calls it: without processes it leaves no node


def _prefetches(_):
    global _mp_prefetch
    _mp_prefetch = True


def _processes_of(node):
    """Newer versions interleave iterators, each in its own process. None if the job asks for none."""
    of_loader = getattr(node, "_data_loader", None)
    options = getattr(of_loader or node, "_multiprocessing_options", None)
    if options is not None:
        return options.num_workers
    if type(node).__name__ == "ProcessPrefetchDatasetIterator":
        return 1
    inputs = getattr(node, "_datasets", None)
    inputs = inputs if isinstance(inputs, (list, tuple)) else ()
    processes = sum(type(each).__name__ == "ProcessPrefetchIterDataset" for each in inputs)
    return processes or (0 if _mp_prefetch else None)


def _nodes(iterator):
    """The iterators of a chain, from its end to its beginning."""
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
    names = [type(p).__qualname__ for p in pipelines[:1]]
    return (loaders.place_of(iterator), loaders.class_name(iterator), names[0] if names else "",
            settings, iterator)


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
