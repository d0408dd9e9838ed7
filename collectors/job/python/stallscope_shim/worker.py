"""Fetching a batch, in the process that iterates or in a worker, and what else a worker does.

`data.py` begins with the order in which all this is looked up.
"""
import functools
import sys

from . import loaders, ops, probe, ring, session
from .watch import Field, Method, guarded, own, pass_on

KEY = "_stallscope"  # in the __dict__ of iterators, fetchers and processes
_TAKEN = 20_000  # ns: taking the send lock costs less where no other worker has it
current = None  # in a worker: what it is


def _forked():
    global current
    current = None


session.fork_hooks.append(_forked)


class Fetch:
    """What is known of a fetcher's current batch."""

    __slots__ = ("owner", "at", "cpu", "fetched_at", "fetched_cpu", "collate_at", "collate_cpu",
                 "size", "ops", "whole")

    def __init__(self, owner):
        self.owner = owner  # a _Pass, or the _Worker
        self.at = self.collate_at = None
        self.size = 0
        self.ops = ops.Watcher(owner.generation)
        self.whole = None  # of the collate


def _fetch(fetcher):
    state = fetcher.__dict__.get(KEY)
    if state is None:
        if current is None:
            return
        state = fetcher.__dict__[KEY] = current.fetcher_made()
    owner = state.owner
    stamp, owner.stamp = owner.stamp, None
    time, cpu = stamp or (ring.now(), ring.cpu())
    if owner is current:
        owner.idle(time)
    state.collate_at = None
    state.size = 0
    state.at, state.cpu = time, cpu
    state.ops.begin(fetcher, state.owner.loader.fetch)


def _collate(fetcher, _):
    state = fetcher.__dict__.get(KEY)
    if state is None or state.at is None:
        return
    state.ops.collate(fetcher, state.owner.loader.collate)
    if state.whole is None:
        state.whole = ops.collate_as_a_whole(fetcher.__dict__.get("collate_fn"))
    here = sys._getframe(2).f_locals
    data = here.get("data")
    if not isinstance(data, list):  # __getitems__ may return anything
        data = here.get("possibly_batched_index")
    state.size = len(data) if isinstance(data, list) else 1
    state.fetched_at, state.fetched_cpu = ring.now(), ring.cpu()
    state.collate_at, state.collate_cpu = probe.pay(
        state.owner.loader, "fetch", state.at, state.cpu, state.fetched_at, state.fetched_cpu)


def batch_words(state, loader, item, time, cpu):
    """Its fetch and its collate end, at the latest now."""
    begin, state.at = state.at, None
    if begin is None:
        return ()
    middle = state.collate_at
    collated = state.ops.held() if middle is not None else ()
    state.ops.took(cpu - state.cpu)
    if middle is None:  # an exception, or the end of the data
        state.ops.end()
        return ring.work(loader.fetch, item, begin, time, cpu - state.cpu)
    if state.ops.written:
        state.whole.looked_into()
    else:
        collated += state.whole.words(loader.collate, middle, time, cpu - state.collate_cpu)
    return (ring.work(loader.fetch, item, begin, state.fetched_at, state.fetched_cpu - state.cpu) +
            collated +
            ring.work(loader.collate, item, middle, time, cpu - state.collate_cpu) +
            ring.batch(loader.collate, item, state.size, time))


# A worker.


class _Worker:
    """This process, if it is a loader's worker. Two threads use it: the loop and the feeder."""

    def __init__(self, identity, process):
        (owner, number, self.generation, self.number, self.started), shape = identity
        self.loader = loaders.Loader(*shape, owner=owner, number=number)
        self.base = 0
        self.stamp = None
        self.state = None
        self.thread = _get_ident()
        self.idle_since = None
        self.first = True
        self.ready = None  # since when it waits for its first index
        self.sent = []  # items on their way to the feeder
        self.lock_at = self.dumps_at = self.item = None
        self.sending = None  # the cost of the previous message
        probe.begin_worker(self.loader, owner, number)
        queues = [a for a in process._args if "_send_bytes" in own(a)]
        session.describe("worker %d" % self.number)
        ring.name_thread("worker %d" % self.number, self.loader.fetch)
        self.generation -= 1
        if len(queues) > 1:
            queues[0].get = functools.partial(self._first_get, queues[0])
            self._watch_queue(queues[1])
        else:
            session.say("the workers' queues are not recognized: only their fetches are recorded")

    def _first_get(self, indices, *args, **kwargs):
        indices.__dict__.pop("get", None)
        self.ready = ring.now()
        return indices.get(*args, **kwargs)

    def _watch_queue(self, results):
        import multiprocessing.queues as queues

        self.results = results
        self.put = results.put
        results.put = self._put
        lock = getattr(results, "_wlock", None)
        if lock is not None:
            results._wlock = _SendLock(lock, self)
        self.send = results._send_bytes
        results._send_bytes = self._send
        queues._ForkingPickler = _Pickler(queues._ForkingPickler, self)

    def fetcher_made(self):
        """The loop makes one per pass."""
        self.generation += 1
        self.base = self.loader.id << 48 | (self.generation & 0xFFFF) << 32
        self.state = Fetch(self)
        return self.state

    def fetches(self):
        """The calling thread is the loop, and makes a batch."""
        return (self.thread == _get_ident() and self.state is not None and
                self.state.at is not None)

    def idle(self, time):
        """The loop has got an index."""
        if self.first:
            self.first = False
            ready = self.ready or time
            ring.later(ring.wait(ring.STARTUP, self.loader.queue, self.started, ready) +
                       ring.wait(ring.FULL, self.loader.queue, ready, time))
        elif self.idle_since is not None:
            # The main process asks for as many batches as the queue has room for.
            ring.later(ring.wait(ring.FULL, self.loader.queue, self.idle_since, time))
        self.idle_since = None

    def _put(self, obj, *args, **kwargs):
        try:
            item = None
            if self.state is not None and self.state.at is not None and isinstance(obj[0], int):
                item = self.base | obj[0]
                time, cpu = ring.now(), ring.cpu()
                ring.mine().put(time, batch_words(self.state, self.loader, item, time, cpu))
                if self.state.collate_at is not None:
                    probe.pay(self.loader, "collate", self.state.collate_at,
                              self.state.collate_cpu, time, cpu)
            self.sent.append(item)
        except Exception as error:
            pass_on(error)
            session.say("a worker's batches are not recorded: %s" % error)
        result = self.put(obj, *args, **kwargs)
        self.idle_since = ring.now()
        return result

    # In the feeder's thread.

    def dumps(self):
        thread = getattr(self.results, "_thread", None)
        if thread is None or thread.ident != _get_ident():
            return
        if self.dumps_at is None:
            ring.name_thread("worker %d feeder" % self.number, self.loader.transport)
        self.item = self.sent.pop(0) if self.sent else None
        # Not right after the send itself, during which the other workers wait for their turn.
        sending, self.sending = self.sending, None
        if sending is not None:
            probe.pay(self.loader, "transport", 0, 0, *sending)
        self.dumps_at, self.dumps_cpu = ring.now(), ring.cpu()
        self.lock_at = None

    def locked(self, since, until):
        if self.dumps_at is not None and until - since >= _TAKEN:
            self.lock_at, self.locked_at, self.lock_cpu = since, until, ring.cpu()

    def _send(self, data, *args):
        size = len(data)
        self.send(data, *args)
        item, self.item = self.item, None
        if item is None or self.dumps_at is None:
            return
        time, cpu, stage = ring.now(), ring.cpu(), self.loader.transport
        waited = 0 if self.lock_at is None else self.locked_at - self.lock_at
        self.sending = time - self.dumps_at - waited, cpu - self.dumps_cpu
        if self.lock_at is None:
            words = ring.work(stage, item, self.dumps_at, time, cpu - self.dumps_cpu, size)
        else:
            words = (ring.work(stage, item, self.dumps_at, self.lock_at,
                               self.lock_cpu - self.dumps_cpu) +
                     ring.wait(ring.LOCK, self.loader.send_lock, self.lock_at, self.locked_at) +
                     ring.work(stage, item, self.locked_at, time, cpu - self.lock_cpu, size))
        ring.mine().put(time, words)


class _SendLock:
    def __init__(self, lock, worker):
        self._lock, self._worker = lock, worker
        self.release = lock.release

    def acquire(self, *args, **kwargs):
        since = ring.now()
        result = self._lock.acquire(*args, **kwargs)
        guarded(self._worker.locked, since, ring.now())
        return result

    def __getattr__(self, name):
        return getattr(self._lock, name)


class _Pickler:
    """Stands in for the ForkingPickler that queues use."""

    def __init__(self, pickler, worker):
        self._pickler, self._worker = pickler, worker

    @property
    def dumps(self):
        guarded(self._worker.dumps)
        return self._pickler.dumps

    def __getattr__(self, name):
        return getattr(self._pickler, name)


def _process_runs(process):
    global current
    identity = process.__dict__.get(KEY)
    if identity is not None:
        current = _Worker(identity, process)


def attach(fetch):
    """`fetch` is torch.utils.data._utils.fetch."""
    global _get_ident
    from multiprocessing.process import BaseProcess
    from threading import get_ident as _get_ident

    Field(fetch._BaseDatasetFetcher, "collate_fn", read=_collate)
    Method(fetch._MapDatasetFetcher, "fetch", _fetch)
    Method(fetch._IterableDatasetFetcher, "fetch", _fetch)
    Method(BaseProcess, "run", _process_runs)
