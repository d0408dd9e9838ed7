"""Data sets that fetch shards from a store while the job trains: MosaicML streaming and litdata.

    download     getting a shard: io
    decompress   unpacking it
    shards       the queue between both and `fetch`, which polls it every few milliseconds

The first two usually run in threads of their own; within a fetch they are part of it.
"""
import functools
import os

from . import data, loaders, ring, session, worker
from .watch import guarded, surrounded

_stages = {}  # (loader's id, name) → id
_queues = {}  # loader's id → id of its queue of shards


def _forked():
    _stages.clear()
    _queues.clear()


session.fork_hooks.append(_forked)


def streaming(module):
    """`module` is streaming.base.stream."""
    loaders.framework("streaming")
    _time(module.Stream, "_download_file", "download")
    _time(module.Stream, "_decompress_shard_part", "decompress")


def streaming_waits(module):
    """`module` is streaming.base.dataset: its data sets look for a shard, sleep, and look again."""
    if "sleep" in vars(module):
        module.sleep = _slept(module.sleep)
    else:
        session.say("waits for shards of streaming are not recorded")


def litdata(module):
    """`module` is litdata.streaming.config."""
    loaders.framework("litdata")
    _time(module.ChunksConfig, "download_chunk_from_index", "download", _is_there)
    _time(module.ChunksConfig, "try_decompress", "decompress")


def _is_there(config, index, *_, **__):
    """litdata requests a chunk whether or not it is already there."""
    return os.path.exists(config.download_filepath(index))


def _time(cls, name, stage, skip=None):
    function = vars(cls).get(name)
    if function is None:
        session.say("%s.%s was not found: its time counts as the fetch's" % (cls.__name__, name))
        return

    def begin(*args, **kwargs):
        skipped = skip is not None and skip(*args, **kwargs)
        return None if skipped else (stage, ring.now(), ring.cpu())

    setattr(cls, name, surrounded(function, begin, _done))


def _done(begun):
    name, since, cpu = begun
    loader, fetching = _loader()
    if loader is None:
        return
    stage = _stage(loader, name)
    time = ring.now()
    words = ring.work(stage, ring.NONE, since, time, ring.cpu() - cpu)
    if name == "download":
        words = ring.wait(ring.IO, _NO_QUEUE, since, time) + words
    if fetching:
        ring.later(words)
        return
    if ring.stage_of_thread() is None:
        ring.name_thread(stage=_stage(loader, "download"))
    ring.mine().put(time, words)


def _slept(sleep):
    @functools.wraps(sleep)
    def slept(seconds):
        since = ring.now()
        sleep(seconds)
        guarded(_waited, since)

    return slept


def _waited(since):
    loader, fetching = _loader()
    if loader is not None and fetching:
        _stage(loader, "download")
        ring.later(ring.wait(ring.EMPTY, _queues[loader.id], since, ring.now()))


_NO_QUEUE = 0x1FFF


def _loader():
    """(the loader that this process or thread works for, whether the thread fetches)"""
    current = worker.current
    if current is not None:
        return current.loader, ring.stage_of_thread() == current.loader.fetch
    owner = data.waiting()
    if owner is not None:
        return owner.loader, not owner.loader.workers
    return loaders.latest(), False


def _stage(loader, name):
    number = _stages.get((loader.id, name))
    if number is None:
        queue = _queues.get(loader.id)
        if queue is None:
            queue = _queues[loader.id] = session.define(
                "queue", name="shards", capacity=0, loader=loader.id, lock=False)
        before = [_stages[loader.id, "download"]] if (loader.id, "download") in _stages else []
        number = session.define(
            "stage", name=name, kind="source" if name == "download" else "map", loader=loader.id,
            workers=max(1, loader.workers), ordered=True, inputs=before,
            **({"queue": queue} if name == "download" else {}))
        _stages[loader.id, name] = number
        session.redefine("stage", loader.fetch, name="fetch", kind="map", loader=loader.id,
                         workers=max(1, loader.workers), ordered=loader.ordered,
                         inputs=[loader.sampler, number])
    return number
