import os
import queue
import random
import traceback

_worker_info = None


class ExceptionWrapper:
    def __init__(self, error, where):
        self.kind = type(error)
        self.text = "Caught %s %s.\nOriginal %s" % (
            self.kind.__name__, where,
            "".join(traceback.format_exception(type(error), error, error.__traceback__)))

    def reraise(self):
        raise self.kind(self.text)


class _IterableDatasetStopIteration:
    def __init__(self, worker_id):
        self.worker_id = worker_id


class _ResumeIteration:
    pass


class WorkerInfo:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def _worker_loop(iterable, dataset, index_queue, data_queue, done_event, auto_collation, collate_fn,
                 drop_last, base_seed, init_fn, worker_id, num_workers):
    global _worker_info
    try:
        random.seed(base_seed + worker_id)
        _worker_info = WorkerInfo(id=worker_id, num_workers=num_workers, dataset=dataset)
        if init_fn is not None:
            init_fn(worker_id)
        from ..dataloader import _DatasetKind

        fetcher = _DatasetKind.create_fetcher(iterable, dataset, auto_collation, collate_fn,
                                              drop_last)
        parent = os.getppid()
        ended = False
        while os.getppid() == parent:
            try:
                r = index_queue.get(timeout=5)
            except queue.Empty:
                continue
            if isinstance(r, _ResumeIteration):
                data_queue.put((r, None))
                ended = False
                fetcher = _DatasetKind.create_fetcher(iterable, dataset, auto_collation, collate_fn,
                                                      drop_last)
                continue
            if r is None:
                break
            if done_event.is_set() or ended:
                continue
            idx, index = r
            try:
                data = fetcher.fetch(index)
            except Exception as error:
                if isinstance(error, StopIteration) and iterable:
                    data = _IterableDatasetStopIteration(worker_id)
                    ended = True
                else:
                    data = ExceptionWrapper(error, "in DataLoader worker process %d" % worker_id)
            data_queue.put((idx, data))
            del data, idx, index, r
    except KeyboardInterrupt:
        pass
    if done_event.is_set():
        data_queue.cancel_join_thread()
        data_queue.close()
