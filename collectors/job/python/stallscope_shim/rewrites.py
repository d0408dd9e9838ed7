"""Settings of a re-run for loaders other than PyTorch's, set where the job calls the library. A value that
the library would reject is not set, and the trace says so. Imported only in a run with settings, which
name the job's calls that take them (`libraries.py` has recorded their places), in whatever file.

    num_parallel_calls   tf.data: in each map and interleave that the job's own code makes
    prefetch             tf.data: batches ahead of the trainer; grain, DALI: their buffers
    threads              tf.data: a private pool; grain: reading; DALI: the pipeline's; torchdata: of each
                         ParallelMapper and Mapper that the job's own code makes
    num_workers          grain: processes; torchdata: the same as processes
    num_shards           Hugging Face datasets: of a stream made from a data set on disk
"""
import functools
import inspect
import os
import sys

from . import loaders, session
from .watch import pass_on, wrapped


def attach(module):
    {"map_op": _maps, "interleave_op": _interleaves, "options": _grain,
     "pipeline": _dali, "map": _torchdata}[module.__name__.rpartition(".")[2]](module)


def _value(knob, place=None):
    """The last one for the loader at this place, or else for the job's call on the stack; None if there
    is none."""
    for setting in reversed(session.settings().get("set", ())):
        name, _, field = str(setting.get("knob") if isinstance(setting, dict) else "").partition(".")
        if field != knob:
            continue
        where = setting.get("where")
        if not isinstance(where, dict):
            meant = name == "loader"
        elif place is not None:
            meant = (where.get("file"), where.get("line")) == (place["file"], place["line"])
        else:
            meant = _takes(setting.get("calls"), where)
        if meant:
            loaders.met.add(setting["knob"])
            return setting.get("value")
    return None


def _takes(calls, where):
    """Whether the job's call on the stack takes the setting: one of `calls`, or any in the loader's file
    if the trace does not have their lines."""
    own = loaders.job_line()
    if own is None:
        return False
    file = own["file"]
    if not calls:
        return where.get("file") == file
    # Of some calls only the file's name is known.
    return any(call.get("line") == own["line"] and
               call.get("file") in (file, os.path.basename(file)) for call in calls)


def _is_own(frame):
    file = frame.f_code.co_filename
    return not (file.startswith(("<", loaders._SHIM)) or loaders.installed(file))


def _called_by_job(module):
    """Not by Keras, which also builds graphs."""
    frame = sys._getframe(2)
    while frame is not None and (frame.f_code.co_filename.startswith(loaders._SHIM) or
                                 frame.f_code.co_filename.endswith(module)):
        frame = frame.f_back
    return frame is not None and _is_own(frame)


def _replace(holder, name, change):
    """`change(arguments, parameters)` may change what `holder.name` is called with."""
    original = getattr(holder, name)
    signature = inspect.signature(original)

    def before(first, args, kwargs):
        try:
            bound = signature.bind(first, *args, **kwargs)
            change(bound.arguments, signature.parameters)
            return bound.args[1:], bound.kwargs
        except Exception as error:
            pass_on(error)
            session.say("the settings of %s were not changed: %s: %s" %
                        (name, type(error).__name__, error))
            return args, kwargs

    setattr(holder, name, wrapped(original, before))


def _set(arguments, parameters, name, knob):
    """True if it is set."""
    value = _value(knob)
    if value is None:
        return False
    if name not in parameters:
        session.say("this version has no %s" % name)
        return False
    arguments[name] = value
    return True


# tf.data.


def _maps(module):
    _replace(module, "_map_v2", _in_parallel)


def _interleaves(module):
    _replace(module, "_interleave", _in_parallel)


def _in_parallel(arguments, parameters):
    if not _called_by_job("dataset_ops.py"):
        return
    if arguments.get("synchronous"):
        if _value("num_parallel_calls") is not None:
            session.say("num_parallel_calls was not changed: the map is synchronous")
        return
    if _set(arguments, parameters, "num_parallel_calls", "num_parallel_calls"):
        cycle = arguments.get("cycle_length")
        if isinstance(cycle, int) and 0 < cycle < arguments["num_parallel_calls"]:
            arguments["num_parallel_calls"] = cycle
            session.say("num_parallel_calls is %d in an interleave: more than its cycle_length would "
                        "have nothing to do" % cycle)


def iterated(module):
    """`module` is tensorflow.python.data.ops.dataset_ops."""
    cls = module.DatasetV2
    original = cls.__iter__

    @functools.wraps(original)
    def __iter__(dataset):
        try:
            dataset = _changed(dataset)
        except Exception as error:
            pass_on(error)
            session.say("the settings of a tf.data graph were not changed: %s: %s" %
                        (type(error).__name__, error))
        return original(dataset)

    cls.__iter__ = __iter__


def _changed(dataset):
    from . import tensorflow

    changed = dataset
    place = tensorflow.place_of(dataset)
    ahead, threads = _value("prefetch", place), _value("threads", place)
    if ahead is not None:
        if type(dataset).__name__.strip("_") == "PrefetchDataset":
            changed = dataset._input_dataset
        changed = tensorflow.in_place_of(dataset, changed.prefetch(ahead))
    if threads is not None:
        from tensorflow.python.data.ops import options

        chosen = options.Options()
        chosen.threading.private_threadpool_size = threads
        changed = tensorflow.in_place_of(dataset, changed.with_options(chosen))
    return changed


# Others.


def _grain(module):
    _replace(module.MultiprocessingOptions, "__init__", lambda arguments, parameters: _set(
        arguments, parameters, "num_workers", "num_workers"))
    _replace(module.ReadOptions, "__init__", _reading)


def _reading(arguments, parameters):
    ahead = _set(arguments, parameters, "prefetch_buffer_size", "prefetch")
    if _set(arguments, parameters, "num_threads", "threads") and not ahead:
        # A smaller buffer would keep threads idle.
        given = arguments.get("prefetch_buffer_size",
                              parameters["prefetch_buffer_size"].default)
        arguments["prefetch_buffer_size"] = max(int(given), arguments["num_threads"])


def _dali(module):
    _replace(module.Pipeline, "__init__", _pipeline)


def _pipeline(arguments, parameters):
    _set(arguments, parameters, "num_threads", "threads")
    _set(arguments, parameters, "prefetch_queue_depth", "prefetch")


def _torchdata(module):
    _replace(module.ParallelMapper, "__init__", _mapping)


def _mapping(arguments, parameters):
    for knob, method in (("threads", "thread"), ("num_workers", "process")):
        value = _value(knob)
        now = arguments.get("method", parameters["method"].default)
        if value is None or value == 0 and now != method:
            continue  # no processes: threads stay
        arguments.update(num_workers=value, method=method)
        if value and arguments.get("max_concurrent") is not None:
            # More is rejected, and with less some would be idle.
            arguments["max_concurrent"] = value


def datasets(cls):
    """`cls` is datasets.Dataset."""
    if "to_iterable_dataset" in vars(cls):
        _replace(cls, "to_iterable_dataset", _shards)


def _shards(arguments, parameters):
    value = _value("num_shards")
    if value is not None and value > len(arguments["self"]):
        session.say("num_shards was not changed: the data set has %d rows" % len(arguments["self"]))
    else:
        _set(arguments, parameters, "num_shards", "num_shards")
