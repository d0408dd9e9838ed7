"""PyTorch's DataLoader, in the process that iterates over it; `worker.py` has the rest.

What happens between two attribute accesses, in the order of the code (torch 1.13 to 2.15):

    main      __init__ → _index_sampler → _sampler_iter: sampler, where it draws a pass ahead
              _next_data → [_next_index → _index_queues | _dataset_fetcher]: sampler
              → _try_get_data → [poll] → _recv_bytes → _task_info[k]: waiting, transport, and which batch
              that was → _num_yielded: handed to the trainer
    worker    queue.put of the batch before → fetch: waiting → collate_fn: fetch → put: collate
    its feeder thread    dumps → _wlock.acquire → _send_bytes: transport
    pin thread    get → pin_memory → the next get

Every one of these names is looked for in the code before it is used. If one is missing, batches are
timed at `__next__` and the trace says so.
"""
import functools
import os
import sys
from _thread import _local

from . import batch_size, loaders, ops, probe, profile, recognize, ring, session, sight, steps, worker
from .watch import Field, Method, Written, guarded, own, uses, wrapped
from .worker import KEY

_STARTS_A_THREAD = 200_000  # ns: putting an index takes less


class _Here(_local):
    """Of the calling thread."""

    starting = None  # the pass whose workers are being started
    active = None  # the pass that the trainer waits for


_here = _Here()


def _forked():
    _here.starting = _here.active = None


session.fork_hooks.append(_forked)


class _Pass:
    """One iterator over a loader, in the process that iterates."""

    def __init__(self, loader):
        self.loader = loader
        self.began = ring.now()
        self.fresh = True  # no index was asked for yet
        self.nested = False
        self.outer = None  # the pass that contains this one
        self.started = 0  # workers
        self.drawing = None  # the sampler, as an op
        self._reset()

    def _reset(self):
        self.base = self.loader.id << 48 | (self.loader.passes & 0xFFFF) << 32
        self.generation = self.loader.passes
        self.loader.passes += 1
        self.feed = steps.Feed(self.loader)
        self.feed.ahead = _fetches_ahead()
        self.starts = False  # choosing the first indices of workers
        self.sampler_at = None  # the sampler is asked for its iterator: (wall, CPU time)
        self.index_at = self.index_cpu = None
        self.stamp = None  # wall and CPU time of the boundary that was just passed
        self.poll_at = None
        self.recv_at = self.recv_cpu = None
        self.recv_size = 0
        self.arrived = {}
        self.asked = {}  # batch → how many elements it was to have
        self.handed = 0
        self.count = 0

    def again(self):
        """Persistent workers: another pass with the same iterator."""
        self._reset()
        self.began = ring.now()
        self.fresh = True


def _fetches_ahead():
    """Accelerate's loaders ask for the next batch before they hand one out."""
    frame = sys._getframe(3)
    for _ in range(8):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") == "accelerate.data_loader":
            return True
        frame = frame.f_back
    return False


# The process that iterates.


def _began(iterator):
    """_BaseDataLoaderIter.__init__ of an iterator whose loader _get_iterator has named."""
    if _here.starting is not None and KEY not in iterator.__dict__:
        iterator.__dict__[KEY] = _here.starting


def _constructed(dataloader):
    """A subclass may make iterators of its own, as litdata's does."""
    loaders.constructed(dataloader)
    cls = next(c for c in type(dataloader).__mro__ if "_get_iterator" in vars(c))
    if not isinstance(vars(cls)["_get_iterator"], Method):
        Method(cls, "_get_iterator", _get_iterator)


def _profiler():
    from . import profilers

    return profilers.of_torch()


def _get_iterator(dataloader):
    if sys._getframe(2).f_code.co_name == "_get_iterator" and _here.starting is not None:
        return  # the base class's, called by an override
    steps.prepare()
    if worker.current is None:
        profile.windows.use(_profiler)
        profile.windows.close()  # workers forked from now on must not inherit it
    loader = loaders.of(dataloader)
    if loader.passes and steps.trainer.requested is None:
        loader.left_early()
    _here.starting = _Pass(loader)


def _reset(iterator):
    owner = iterator.__dict__.get(KEY)
    if owner is not None and not owner.fresh:
        owner.again()


def _sampler_asked(iterator, _):
    owner = iterator.__dict__.get(KEY)
    if owner is not None and owner.fresh:
        owner.sampler_at = ring.now(), ring.cpu()


def _sampler_began(iterator, _):
    """A sampler that is no generator may draw the whole pass before its first index."""
    owner = iterator.__dict__.get(KEY)
    if owner is None or owner.sampler_at is None:
        return
    (since, before), owner.sampler_at = owner.sampler_at, None
    time, cpu = ring.now(), ring.cpu()
    if owner.loader.workers:
        ring.later(ring.wait(ring.STARTUP, owner.loader.queue, owner.began, since))
        owner.began = time
    _sampled(owner, iterator, owner.base, since, time, cpu - before)


def _next_index(iterator):
    owner = iterator.__dict__.get(KEY)
    if owner is None:
        return
    stamp, owner.stamp = owner.stamp, None
    if owner.starts and stamp is not None:
        stamp = _queue_started(owner, stamp[0])
    owner.index_at, owner.index_cpu = stamp or (ring.now(), ring.cpu())
    if owner.fresh:
        owner.fresh = False
        _here.starting = None
        if owner.loader.workers:
            owner.starts = True
            ring.later(ring.wait(
                ring.STARTUP, owner.loader.queue, owner.began, owner.index_at))


def _queue_started(owner, since):
    """With the first index, torch starts a thread for the worker's queue."""
    time = ring.now()
    if time - since > _STARTS_A_THREAD:
        ring.later(ring.wait(ring.STARTUP, owner.loader.queue, since, time))
    return time, ring.cpu()


def _index_known(iterator, _):
    owner = iterator.__dict__.get(KEY)
    if owner is not None and owner.index_at is not None:
        time, cpu = ring.now(), ring.cpu()
        item = owner.base | iterator.__dict__.get("_send_idx", owner.count)
        _sampled(owner, iterator, item, owner.index_at, time, cpu - owner.index_cpu)
        owner.stamp = time, cpu
        if probe.mine is not None:
            owner.stamp = probe.pay(owner.loader, "sampler", owner.index_at, owner.index_cpu, time, cpu)
        owner.index_at = None
        if owner.loader.workers:
            # `index` is in the frame of `_try_put_index`, two above: Field.__get__, then it.
            index = sys._getframe(2).f_locals.get("index")
            if isinstance(index, (list, tuple)):
                owner.asked[iterator.__dict__.get("_send_idx", owner.count)] = len(index)


def _sampled(owner, iterator, item, since, time, cpu):
    """The sampler has worked from then until now."""
    if owner.drawing is None:
        sampler = iterator.__dict__.get("_index_sampler")
        owner.drawing = ops.Whole(*sight.sampler_code(sampler))
    words = ring.work(owner.loader.sampler, item, since, time, cpu)
    if owner.drawing.op is not None:
        words = owner.drawing.words(owner.loader.sampler, since, time, cpu) + words
    ring.later(words)


def _next_data(iterator):
    owner = iterator.__dict__.get(KEY)
    if owner is None:
        return
    owner.index_at = owner.poll_at = None
    owner.starts = False
    owner.outer = None if steps.making is None else steps.making()
    if worker.current is not None or owner.outer is not None or (
            _here.active not in (None, owner) and _inside(iterator)):
        owner.nested = True  # a loader inside of another one's data set feeds no trainer
        if owner.outer is not None:
            owner.outer.inner_begins(ring.now(), ring.cpu())
        return
    owner.nested = False
    _here.active = owner
    stamp = steps.trainer.request()
    owner.stamp = None if owner.loader.workers else stamp


def busy():
    """The calling thread starts a pass, or waits for a batch of one."""
    return _here.starting is not None or _here.active is not None


def waiting():
    """The pass whose batch the calling thread makes or waits for."""
    return _here.active


def _inside(iterator):
    """True if another iterator's call is on the stack; otherwise an exception left it. The job's own
    iterators around this one, and a `__next__` that calls its base class's, do not count."""
    frame = sys._getframe(3)
    while frame is not None:
        if frame.f_code.co_name in ("_next_data", "__next__"):
            other = frame.f_locals.get("self")
            if other is not iterator and KEY in own(other):
                return True
        frame = frame.f_back
    return False


def _try_get_data(iterator):
    owner = iterator.__dict__.get(KEY)
    if owner is None or owner.fresh:
        return
    owner.index_at = None
    time = ring.now()
    if owner.poll_at is not None:  # it came back without data
        ring.mine().put(time, ring.wait(ring.EMPTY, owner.loader.queue, owner.poll_at, time))
    owner.poll_at = time
    owner.recv_at = owner.stamp = None


def _arrived(owner, index):
    """Batch number `index` is here: it has just come, or it is one that came early, and is handed out."""
    if owner.poll_at is None or index in owner.arrived:
        return
    loader, since = owner.loader, owner.recv_at
    time = owner.arrived[index] = ring.now()
    words = ring.wait(ring.EMPTY, loader.queue, owner.poll_at, since or time)
    owner.poll_at = None
    if since is not None:
        cpu = ring.cpu()
        words += ring.work(loader.transport, owner.base | index, since, time, cpu - owner.recv_cpu,
                           owner.recv_size)
        owner.recv_at = None
        # The next index is requested right after this one.
        owner.stamp = time, cpu
        if probe.mine is not None:
            owner.stamp = probe.pay(loader, "transport", since, owner.recv_cpu, time, cpu)
    ring.later(words)


class _Tasks(dict):
    """`_task_info`: batch → (worker,) while it is on its way, (worker, data) once it is here."""

    __slots__ = ("owner",)

    def __setitem__(self, index, info):
        dict.__setitem__(self, index, info)
        if len(info) == 2:
            guarded(_arrived, self.owner, index)

    def __delitem__(self, index):
        dict.__delitem__(self, index)
        self.owner.handed = index
        guarded(_arrived, self.owner, index)

    def pop(self, index, *default):
        info = dict.pop(self, index, *default)
        self.owner.handed = index
        guarded(_arrived, self.owner, index)
        return info


def _watch_tasks(iterator, value):
    owner = iterator.__dict__.get(KEY)
    if owner is None or type(value) is not dict:
        return value
    tasks = _Tasks(value)
    tasks.owner = owner
    return tasks


def _yielded(iterator, value):
    owner = iterator.__dict__.get(KEY)
    handing = sys._getframe(2)  # `__next__`, two above: Written.__set__, then it
    if owner is None or not value or handing.f_code.co_name != "__next__":
        return  # a state is being restored
    owner.index_at = None
    loader = owner.loader
    stamp, owner.stamp = owner.stamp, None
    time, cpu = ring.now(), stamp[1] if stamp and loader.workers else ring.cpu()
    words = ()
    if not loader.workers:
        fetcher = iterator.__dict__.get("_dataset_fetcher")
        state = None if fetcher is None else fetcher.__dict__.get(KEY)
        owner.handed = owner.count
        if state is not None:
            pinned = iterator.__dict__.pop("_stallscope_pin", None) if loader.pinned else None
            item = owner.base | owner.handed
            words += worker.batch_words(state, loader, item, pinned or time, cpu)
            if pinned is not None:
                words += ring.work(loader.pin, item, pinned, time)
            if probe.mine is not None:
                time, cpu = _pay_here(loader, state, pinned, time, cpu)
    owner.count += 1
    asked = owner.asked.pop(owner.handed, None)
    if not owner.nested:
        completed = owner.arrived.pop(owner.handed, time)
        item = owner.base | owner.handed
        words += ring.release(loader.loader, item, completed, time)
        samples = _samples_of(iterator, owner.loader, handing, asked)
        _here.active = None
        steps.trainer.receive(owner.feed, item, samples, time, cpu)
        ring.later(words)
        if owner.feed.chain is not None:
            guarded(owner.feed.chain.add, handing.f_locals.get("data"),
                    loader.ordered or not loader.workers)
    else:
        ring.mine().put(time, words)
        if owner.outer is not None:
            owner.outer.inner_ends(owner.base | owner.handed, time, cpu)


def _samples_of(iterator, loader, handing, asked):
    collated = iterator.__dict__.get("_auto_collation")
    if not collated:
        asked = None  # an element is a batch as it is
    elif not loader.workers:
        fetcher = iterator.__dict__.get("_dataset_fetcher")
        state = None if fetcher is None else fetcher.__dict__.get(KEY)
        if state is not None and state.size:
            return state.size
    elif asked is not None and iterator.__dict__.get("_dataset_kind") == 0:
        return asked  # the end of a stream is known to its worker alone
    return batch_size.samples(handing.f_locals.get("data"), collated, asked)


def _pay_here(loader, state, pinned, time, cpu):
    """The batch that this process has just collated, and pinned."""
    pinned_at, pinned_cpu = time, cpu
    if state.collate_at is not None:
        time, cpu = probe.pay(loader, "collate", state.collate_at, state.collate_cpu,
                              pinned or time, cpu)
    if pinned is not None:  # without a CPU time of its own
        time, cpu = probe.pay(loader, "pin", pinned, pinned_cpu, pinned_at, pinned_cpu)
    return time, cpu


def _shut_down(iterator):
    owner = iterator.__dict__.get(KEY)
    if owner is not None and not iterator.__dict__.get("_shutdown", True):
        owner.index_at = None
        owner.ending = ring.now()


def _pids_set(iterator, value):
    """False at first, with the queues made and no worker started; false again behind the last."""
    owner = iterator.__dict__.get(KEY)
    if owner is None or value:
        return
    ending = owner.__dict__.pop("ending", None)
    if ending is not None:
        # Its `get` is the queue's own: a job without a garbage collector would keep its descriptors.
        own(iterator.__dict__.get("_worker_result_queue")).pop("get", None)
        time = ring.now()
        ring.mine().put(time, ring.wait(ring.STARTUP, owner.loader.queue, ending, time))
    elif owner.fresh and not owner.started:
        _watch_results(iterator, owner)


def _watch_results(iterator, owner):
    """The queue of the results, on its instance. `get` is called by the pinning thread alone where
    there is one: it has its own clock then."""
    results = iterator.__dict__.get("_worker_result_queue")
    receive = getattr(results, "_recv_bytes", None)
    if receive is None:
        session.say("the workers' result queue is not recognized: transport is not recorded")
        return
    local = _Receiver(owner)
    results._recv_bytes = functools.partial(_receive, local, receive)
    if iterator.__dict__.get("_pin_memory"):
        results.get = functools.partial(_pinning_get, local, results.get)


class _Receiver:
    def __init__(self, owner):
        self.owner = owner
        self.pin = None  # item, since, CPU
        self.at = self.cpu = None
        self.size = 0


def _receive(local, receive, *args):
    owner = local.owner
    local.at = owner.recv_at = ring.now()
    local.cpu = owner.recv_cpu = ring.cpu()
    data = receive(*args)
    local.size = owner.recv_size = len(data)
    return data


def _pinning_get(local, get, *args, **kwargs):
    loader = local.owner.loader
    if local.pin is None:
        ring.name_thread("pin", loader.pin)
    out = ring.mine()
    time = ring.now()
    if local.pin is not None:
        item, since, cpu = local.pin
        if item is not None:
            pinned_cpu = ring.cpu()
            out.put(time, ring.work(loader.pin, item, since, time, pinned_cpu - cpu))
            time, _ = probe.pay(loader, "pin", since, cpu, time, pinned_cpu)
    local.pin = (None, time, 0)
    local.at = None
    result = get(*args, **kwargs)
    if local.at is not None and isinstance(result, tuple) and isinstance(result[0], int):
        item = local.owner.base | result[0]
        arrived, cpu = ring.now(), ring.cpu()
        out.put(arrived, ring.wait(ring.EMPTY, loader.queue, time, local.at) + ring.work(
            loader.transport, item, local.at, arrived, cpu - local.cpu, local.size))
        local.pin = (item,) + probe.pay(loader, "transport", local.at, local.cpu, arrived, cpu)
    local.owner.recv_at = None  # the main thread takes it from an ordinary queue
    return result


def _fetcher_made(iterator, fetcher):
    owner = iterator.__dict__.get(KEY)
    if owner is not None:
        fetcher.__dict__[KEY] = worker.Fetch(owner)


def _pin_read(iterator, value):
    if value:
        iterator.__dict__["_stallscope_pin"] = ring.now()


def _process_starts(process):
    """Process.start of a worker: its identity travels with the process object, through pickle too.
    It means nothing to a Python without the shim."""
    owner = _here.starting
    target = own(process).get("_target")
    if owner is None or not (getattr(target, "__module__", None) or "").startswith("torch"):
        return
    if not _reaches(process):
        session.say("the job has replaced PYTHONPATH: what its loaders' workers do is not seen")
    process.__dict__[KEY] = ((session.key(), owner.loader.id, owner.generation, owner.started,
                               ring.now()), owner.loader.describe())
    owner.started += 1


def _reaches(process):
    """A worker that starts as a new Python finds the shim by the environment alone."""
    import multiprocessing

    if (process._start_method or multiprocessing.get_start_method()) == "fork":
        return True
    shim = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return "STALLSCOPE_SESSION" in os.environ and (
        shim in os.environ.get("PYTHONPATH", "").split(os.pathsep))


# Attaching.


def attach(module):
    """`module` is torch.utils.data.dataloader."""
    torch = sys.modules.get("torch")
    version = getattr(torch, "__version__", None)
    session.note("framework", {"name": "torch", "version": str(version)})
    loader, base = module.DataLoader, _iterators(module)
    loaders.attach(module, loader)
    unknown = recognize.unknown(module)
    if unknown:
        session.say("%s of torch %s is not recognized: batches are timed, but not the stages inside" %
                    (unknown, version))
        Method(loader, "__init__", loaders.constructed)
        _attach_coarse(loader, base, getattr(module, "get_worker_info", lambda: None))
        return
    draws = uses(base, "__init__", "_index_sampler", "_sampler_iter")
    Method(loader, "__init__", _constructed)
    Method(base, "__init__", _began)
    Method(base, "_next_index", _next_index)
    if draws and "_index_sampler" not in vars(base):
        Field(base, "_index_sampler", read=_sampler_asked)
        Written(base, "_sampler_iter", wrote=_sampler_began)
    Written(base, "_num_yielded", wrote=_yielded)
    _attach_iterators(loader, module._SingleProcessDataLoaderIter,
                      module._MultiProcessingDataLoaderIter)
    worker.attach(module._utils.fetch)
    from multiprocessing.process import BaseProcess

    Method(BaseProcess, "start", _process_starts)


def stateful(module):
    """`module` is torchdata.stateful_dataloader.stateful_dataloader, whose iterators are copies of
    torch's and share its base class."""
    version = getattr(sys.modules.get("torchdata"), "__version__", None)
    loaders.framework("torchdata")
    loader = module.StatefulDataLoader
    single = module._StatefulSingleProcessDataLoaderIter
    multi = module._StatefulMultiProcessingDataLoaderIter
    unknown = recognize.unlike(recognize.needed_of_iterators(loader, single, multi))
    if unknown is None and not any(
            isinstance(vars(cls).get("_num_yielded"), Written) for cls in single.__mro__):
        unknown = "its base class"
    if unknown:
        session.say("%s of torchdata %s is not recognized: its batches are not recorded" %
                    (unknown, version))
        return
    loaders.apply_settings(loader)
    Method(loader, "__init__", loaders.constructed)
    _attach_iterators(loader, single, multi)


def _attach_iterators(loader, single, multi):
    Method(loader, "_get_iterator", _get_iterator)
    Method(single, "_next_data", _next_data)
    Field(single, "_dataset_fetcher", read=_index_known, wrote=_fetcher_made)
    Field(single, "_pin_memory", read=_pin_read)
    Method(multi, "_next_data", _next_data)
    Method(multi, "_reset", _reset)
    Method(multi, "_try_get_data", _try_get_data)
    Method(multi, "_shutdown_workers", _shut_down)
    Field(multi, "_index_queues", read=_index_known)
    Written(multi, "_task_info", replace=_watch_tasks)
    Written(multi, "_worker_pids_set", wrote=_pids_set)


def _iterators(module):
    """The class of those that hand out batches, whatever it is called."""
    known = getattr(module, "_BaseDataLoaderIter", None)
    return known or next(c for c in vars(module).values()
                         if isinstance(c, type) and "__next__" in vars(c))


def _attach_coarse(loader, base, worker_info):
    """Batches alone: `__next__` itself is wrapped. In a worker, `worker_info()` is not None."""
    passes = {}

    def before(iterator, args, kwargs):
        guarded(_coarse_request, iterator, passes, worker_info)
        return args, kwargs

    Method(loader, "__iter__", lambda dataloader: passes.__setitem__(
        None, _Pass(loaders.of(dataloader))) or steps.prepare())
    if "__init__" in vars(base):  # not at the first request: zip() makes two iterators before
        Method(base, "__init__",
               lambda iterator: iterator.__dict__.setdefault(KEY, passes.get(None)))
    base.__next__ = wrapped(base.__next__, before,
                            lambda iterator: guarded(_coarse_received, iterator))


def _coarse_request(iterator, passes, worker_info):
    if KEY not in iterator.__dict__:
        iterator.__dict__[KEY] = passes.get(None)
    owner = iterator.__dict__[KEY]
    owner.nested = worker_info() is not None or (
        _here.active not in (None, owner) and _inside(iterator))
    if not owner.nested:
        _here.active = owner
        steps.trainer.request()


def _coarse_received(iterator):
    owner = iterator.__dict__[KEY]
    if owner.nested:
        return
    _here.active = None
    if owner.feed.chain is not None:
        owner.feed.chain.miss("the batches of this version of torch")
    samples = owner.loader.line["settings"].get("batch_size") or 1
    steps.trainer.receive(owner.feed, owner.base | owner.count, samples, ring.now(), ring.cpu())
    owner.count += 1
