"""tf.data, in Keras's `fit` and in loops that the job writes itself.

No Python runs per element: the work of the graph's nodes is in the windows of TensorFlow's profiler
(`profile.py`). This module records the steps, and how the graph was built:

    fit            train_function is looked up: a step begins. Its wait is in the profile alone: the
                   batch is taken inside the compiled function
    a loop         _next_internal is looked up: a request → _element_spec is read: the batch is here
    Dataset        __init__ is looked up: this line of the job made that node

Each of these names is checked in the code before it is used.
"""
import functools
import os
import sys
import weakref

from . import call_site, loaders, profile, ring, session, steps
from .watch import Field, Method, Written, own, part, pass_on, surrounded, uses

_KERAS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
_PARAMETERS = ("num_parallel_calls", "buffer_size", "batch_size", "cycle_length", "block_length",
               "drop_remainder", "deterministic", "count")
_MOST_NODES = 24

_places = {}  # id of a dataset → (weak reference, place)
_instead = {}  # id of a dataset → (weak reference, its replacement in a re-run)
_feeds = {}  # id of a dataset, or of a Keras iterator → (weak reference, Feed)
_context = None  # tensorflow.python.eager.context
_folders = []  # of TensorFlow and Keras, without code of the job
_asked = None  # the iterator from which a batch was requested


def _forked():
    global _asked
    _feeds.clear()
    _asked = None


session.fork_hooks.append(_forked)


class Pipeline:
    """The counterpart of a DataLoader's Loader."""

    profiled = True  # its work and the trainer's are in the profile
    chain = None
    share = 1

    def __init__(self, dataset, place, more=()):
        nodes = _nodes(dataset)
        graph = [_described(node, place) for node in nodes]
        _find_calls(graph, place)
        batch = [node["batch_size"] for node in graph if "batch_size" in node]
        self.batch = batch[-1] if batch and isinstance(batch[-1], int) else 0
        settings = dict(_knobs(graph, dataset), batch_size=self.batch or None, graph=_short(graph))
        settings.update(more)
        self.id = session.define(
            "loader", kind="tf.data.Dataset", where=place,
            dataset=" > ".join(_label(node) for node in graph)[:500],
            settings=settings)
        self.queue = session.define("queue", name="tf.data", capacity=0, loader=self.id, lock=False)
        stage = session.define("stage", name="tf.data", kind="tf.data", loader=self.id, workers=1,
                               ordered=True, inputs=[], queue=self.queue)
        loaders.feeds(stage)

    def accumulated(self, batches):
        """Keras accumulates gradients inside compiled code, out of sight."""


# The graph.


def _nodes(dataset):
    """From the source to the data set that is iterated over; the first one of several inputs."""
    nodes = []
    while dataset is not None and len(nodes) < 100:
        if _kind(dataset) not in ("Options", "Model", "DatasetV1Adapter", "Variant"):
            nodes.append(dataset)
        inputs = dataset._inputs()
        dataset = inputs[0] if inputs else None
    return nodes[::-1][-_MOST_NODES:]


def _kind(dataset):
    name = type(dataset).__name__.lstrip("_")
    return name[:-len("Dataset")] if name.endswith("Dataset") else name


def _described(dataset, loaders_place):
    node = {"op": _kind(dataset)}
    for name in _PARAMETERS:
        value = _plain(getattr(dataset, "_" + name, None))
        if value is not None:
            node[name] = value
    function = getattr(getattr(dataset, "_map_func", None), "_func", None)
    code = getattr(function, "__code__", None)
    if code is not None and not _is_theirs(code.co_filename):
        name = node["function"] = getattr(function, "__qualname__", "")[-80:]
        session.string(name, session.absolute(code.co_filename), code.co_firstlineno)
        node["at"] = "%s:%d" % (os.path.basename(code.co_filename), code.co_firstlineno)
    place = _places.get(id(dataset), (None, None))[1]
    if place is not None:
        node.setdefault("at", "%s:%d" % (os.path.basename(place["file"]), place["line"]))
        # Of the call that made it.
        if loaders_place is not None and place["file"] == loaders_place["file"]:
            node["line"] = place["line"]
        elif node["op"].replace("Parallel", "").startswith(("Map", "Interleave")):
            node["elsewhere"] = loaders.in_short(place)  # a re-run sets it there
    return node


def _knobs(graph, dataset):
    """The settings that a re-run can change; None: left to TensorFlow, or not the same everywhere."""
    found = {}
    calls = [node.get("num_parallel_calls") for node in graph
             if node["op"].replace("Parallel", "") in ("Map", "Interleave")]
    if calls:
        known = all(isinstance(each, int) for each in calls)
        found["num_parallel_calls"] = max(calls) if known else None
    last = graph[-1] if graph else {}
    ahead = last.get("buffer_size") if last.get("op") == "Prefetch" else None
    found["prefetch"] = ahead if isinstance(ahead, int) else None
    options = getattr(dataset, "options", None)
    threading = getattr(options and options(), "threading", None)
    found["threads"] = getattr(threading, "private_threadpool_size", None)
    return found


def _find_calls(graph, place):
    """The source of the calls that build the graph, and TensorFlow's names there: reports make a diff
    from them."""
    if place is None:
        return
    try:
        lines = [node["line"] for node in graph if "line" in node] or [place["line"]]
        for first, last in ((min(lines), max(lines)), (place["line"], place["line"])):
            call = call_site.source(place["file"], first, last)
            if call:
                place["call"] = dict(call, names=_names(place["file"]), line=first, end_line=last)
                return
    except Exception as error:
        pass_on(error)
        session.say("the calls that build a tf.data graph are not recorded: %s: %s" %
                    (type(error).__name__, error))


def _names(file):
    """TensorFlow's names in the module of this file."""
    tensorflow = sys.modules.get("tensorflow")
    for module in list(sys.modules.values()):
        known = own(module)
        path = known.get("__file__")
        if isinstance(path, str) and session.absolute(path) == file:
            return sorted(name for name, value in list(known.items())
                          if value is tensorflow and tensorflow is not None)
    return []


def _plain(value):
    """A parameter as a number, a truth value or a word; None for anything else."""
    if hasattr(value, "numpy"):
        value = value.numpy()
        value = value.item() if getattr(value, "shape", None) == () else value
    if isinstance(value, (bool, int)):
        return "autotune" if value == -1 and not isinstance(value, bool) else value
    return value if isinstance(value, str) and value else None


def _label(node):
    return "%s(%s)" % (node["op"], node["function"]) if "function" in node else node["op"]


def _short(graph):
    """A trace keeps 4 KiB of a loader's settings."""
    while graph and len(session.encode(graph)) > 3500:
        graph = graph[1:]
    return graph


def _constructed(dataset):
    number = id(dataset)
    _places[number] = (weakref.ref(dataset, _gone(_places, number)), _place())


def in_place_of(dataset, changed):
    """`changed`, which a re-run's settings made from `dataset`, whose line it keeps."""
    number, before = id(changed), id(dataset)
    _places[number] = (weakref.ref(changed, _gone(_places, number)),
                       _places.get(before, (None, None))[1])
    _instead[before] = (weakref.ref(dataset, _gone(_instead, before)), changed)
    return changed


def _gone(table, number):
    """For a weak reference. No Python runs then: a signal handler of the job's could land in it."""
    return functools.partial(table.pop, number)


def _is_theirs(file):
    """True if the file is not the job's own."""
    return file.startswith((os.path.dirname(__file__), "<") + tuple(_folders)) or (
        loaders.installed(file))


def _place():
    """The line of the job, outside of installed packages."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not _is_theirs(file):
            return {"file": session.absolute(file), "line": frame.f_lineno}
        frame = frame.f_back
    return None


def _feed(key, dataset, more=()):
    known = _feeds.get(id(key))
    if known is not None and known[0]() is key:
        return known[1]
    steps.prepare()
    profile.windows.use(_profiler)
    instead = _instead.get(id(dataset))
    if instead is not None and instead[0]() is dataset:
        dataset = instead[1]
    feed = steps.Feed(_pipeline(dataset, place_of(dataset) or _place(), more))
    feed.feeds = True
    feed.base = feed.loader.id << 48
    _feeds[id(key)] = (weakref.ref(key), feed)
    return feed


def place_of(dataset):
    """Of the job's call that made it, or what it wraps: options and Keras wrap the job's data set."""
    for node in reversed(_nodes(dataset)):
        place = _places.get(id(node), (None, None))[1]
        if place is not None:
            return place
    return _places.get(id(dataset), (None, None))[1]


_pipelines = {}  # (file, line) → Pipeline: one built again at the same line is the same loader


def _pipeline(dataset, place, more):
    key = (place["file"], place["line"]) if place else id(dataset)
    if key not in _pipelines:
        _pipelines[key] = Pipeline(dataset, place, more)
    return _pipelines[key]


session.fork_hooks.append(_pipelines.clear)


def _profiler():
    from . import profilers

    return profilers.TensorFlow()


def _item(feed):
    feed.count += 1
    return feed.base | (feed.count & 0xFFFFFFFF)


# Loops of the job's own.


def _inside_keras(most):
    """Within so many frames."""
    frame = sys._getframe(3)
    while frame is not None and most:
        if frame.f_code.co_name in _KERAS and "keras" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
        most -= 1
    return False


def _requested(iterator):
    global _asked
    _asked = None
    if not _context.executing_eagerly():
        if not _inside_keras(1000):
            _in_graph()
        return
    if _inside_keras(40):
        return
    dataset = iterator.__dict__.get("_dataset")
    if dataset is None:
        return
    _feed(iterator, dataset)
    steps.trainer.request()
    _asked = iterator


def _received(iterator, _):
    global _asked
    if _asked is not iterator or sys._getframe(2).f_code.co_name != "_next_internal":
        return
    time = ring.now()
    _asked = None
    feed = _feeds[id(iterator)][1]
    if steps.trainer.requested is not None:
        ring.later(ring.wait(
            ring.EMPTY, feed.loader.queue, steps.trainer.requested, time))
    tensors = sys._getframe(2).f_locals.get("ret")
    shape = getattr(tensors[0], "shape", None) if isinstance(tensors, (list, tuple)) else None
    steps.trainer.receive(feed, _item(feed), _first(shape), time, ring.cpu())


def _first(shape):
    """The first dimension; 0 if unknown."""
    try:
        return int(shape[0] or 0) if len(shape) else 1
    except (TypeError, ValueError, IndexError):
        return 0


def _in_graph():
    frame = sys._getframe(3)
    while frame is not None:
        if os.path.basename(frame.f_code.co_filename) == "structured_function.py":
            return  # a map over data sets of windows: the job takes its batches elsewhere
        frame = frame.f_back
    session.say("a tf.function takes batches from a data set: its steps are not recorded; take the batches "
                "outside of it, and pass them to it")


def _reduced(_):
    """TensorFlow makes this of a loop over a data set within a tf.function."""
    if os.path.basename(sys._getframe(2).f_code.co_filename) == "dataset_autograph.py":
        _in_graph()


# Keras.


def _train_function_read(model, function):
    frame = sys._getframe(2)
    if function is None or frame.f_code.co_name != "fit":
        return
    epoch = frame.f_locals.get("epoch_iterator") or frame.f_locals.get("data_handler")
    if epoch is None:
        return
    dataset = getattr(epoch, "_distributed_dataset", None) or getattr(epoch, "_dataset", None)
    if not hasattr(dataset, "_inputs"):
        dataset = epoch.data_adapter.get_tf_dataset()
    adapter = getattr(epoch, "data_adapter", None)
    in_python = getattr(adapter, "py_dataset", None)
    feed = _feed(epoch, dataset, _of_py_dataset(in_python))
    samples = getattr(adapter, "batch_size", None) or _batch_of(dataset) or feed.loader.batch
    if not samples:  # a generator: its shapes are open
        known = part(in_python, "batch_size")
        samples = known if isinstance(known, int) and known > 0 else 0
    if not samples:
        samples = 1
        session.say("how many samples are in a batch is not known: each batch counts as one")
    samples *= int(getattr(model, "steps_per_execution", 1) or 1)
    time, cpu = steps.trainer.request()
    steps.trainer.receive(feed, _item(feed), int(samples), time, cpu)


def _ran_out(epoch, iterator):
    """Keras asks a data set of unknown length for one batch more than it has."""
    known = _feeds.get(id(epoch))
    if iterator is None and known is not None and known[0]() is epoch:
        steps.trainer.forget(known[1])


def _of_py_dataset(data):
    """The workers of a data set of the job's own, which Keras makes a generator of."""
    workers = getattr(data, "workers", None)
    if not isinstance(workers, int):
        return {}
    return {"py_dataset": loaders.class_name(data), "py_dataset_workers": workers,
            "py_dataset_processes": bool(getattr(data, "use_multiprocessing", False))}


def _batch_of(dataset):
    spec = dataset.element_spec
    while isinstance(spec, (list, tuple, dict)) and spec:
        spec = list(spec.values() if isinstance(spec, dict) else spec)[0]
    return _first(getattr(spec, "shape", None))


def _evaluation_begins(*_, **__):
    """Ends the last step: what follows is not training."""
    steps.trainer.pause()
    return ring.now() if loaders.trains() else None


def _evaluation_ends(since):
    time = ring.now()
    ring.mine().put(time, ring.named(ring.EVALUATION, session.string("evaluation"), since, time))


def _fit_returns(_, history):
    """The job's work after its last step belongs to no step."""
    if sys._getframe(2).f_code.co_name == "fit":
        steps.trainer.pause()


# Attaching.


def _folder(file, name):
    """Up to the folder of this name."""
    return file[:file.index(os.sep + name + os.sep) + len(name) + 2]


def attach_datasets(module):
    """`module` is tensorflow.python.data.ops.dataset_ops."""
    tensorflow = sys.modules.get("tensorflow.python.framework.versions")
    version = getattr(tensorflow, "__version__", None) or getattr(tensorflow, "VERSION", None)
    session.note("framework", {"name": "tensorflow", "version": str(version)})
    _folders.append(_folder(module.__file__, "tensorflow"))
    Method(module.DatasetV2, "__init__", _constructed)
    if "reduce" in vars(module.DatasetV2):
        Method(module.DatasetV2, "reduce", _reduced)
    if session.settings().get("set"):
        from . import rewrites

        rewrites.iterated(module)


def attach_iterators(module):
    """`module` is tensorflow.python.data.ops.iterator_ops."""
    global _context
    iterator = module.OwnedIterator
    if not (uses(iterator, "_next_internal", "_element_spec", "executing_eagerly") and
            hasattr(module, "context")):
        session.say("this version's tf.data iterators are not recognized: only Keras's fit is recorded")
        return
    _context = module.context
    Method(iterator, "_next_internal", _requested)
    Field(iterator, "_element_spec", read=_received)


def attach_keras(module):
    """`module` is keras.src.backend.tensorflow.trainer, or the engine of an older Keras."""
    trainer = getattr(module, "TensorFlowTrainer", None) or getattr(module, "Model", None)
    fit = getattr(trainer, "__dict__", {}).get("fit")
    fit = getattr(fit, "__wrapped__", fit)
    names = getattr(getattr(fit, "__code__", None), "co_names", ())
    if "train_function" not in names:
        session.say("this version's Keras is not recognized: the steps of fit are not recorded")
        return
    loaders.framework(module.__name__.partition(".")[0])
    _folders.append(_folder(module.__file__, "src"))
    Field(trainer, "train_function", read=_train_function_read)
    trainer.evaluate = surrounded(vars(trainer)["evaluate"], _evaluation_begins, _evaluation_ends)
    epochs = getattr(sys.modules.get("keras.src.trainers.epoch_iterator"), "EpochIterator", None)
    if epochs is not None and uses(epochs, "_enumerate_iterator", "_current_iterator"):
        Written(epochs, "_current_iterator", wrote=_ran_out)
    if "history" in names:
        Field(trainer, "history", read=_fit_returns)
