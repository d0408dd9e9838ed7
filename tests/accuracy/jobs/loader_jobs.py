"""Jobs on other loaders than PyTorch's with a known bottleneck, and sound ones, for the accuracy
table: as jobs.py. A job whose library this Python does not have is not in the table.

    python loader_jobs.py --list
"""
import importlib.util
import io
import itertools
import os
import queue
import shutil
import sys
import tarfile
import tempfile
import threading
import time

import jobs
import torch
from jobs import BATCH, burn, cost, train

# Its table is asked for outside of a recording, too.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "collectors",
                             "job", "python"))
import stallscope  # noqa: E402

jobs.PLANTED.clear()
jobs.SOUND.clear()
ONE = ("fork",)  # there are no workers, or the library starts them itself


def planted(needs, *row, methods=ONE):
    return jobs.planted(*row, methods=methods) if _has(needs) else lambda run: run


def sound(needs, name):
    def add(run):
        if _has(needs):
            jobs.SOUND[name] = run

    return add


def _has(library):
    return not library or importlib.util.find_spec(library) is not None


def batch(i):
    return torch.full((BATCH, 256), float(i % 7))


# Plain loops, through the module stallscope.


def read(i, seconds):
    time.sleep(seconds)
    return i


def decode(i, seconds):
    burn(seconds)
    return batch(i)


def generated(wait, work):
    for i in itertools.count():
        yield decode(read(i, wait), work)


@planted("", "fetch", "cpu", "decode")
def generator():
    train(stallscope.loader(generated(0, cost(10))))


@planted("", "fetch", "blocked", "read")
def generator_that_waits():
    train(stallscope.loader(generated(cost(10), 0)))


def staged(wait, work):
    for i in itertools.count():
        with stallscope.stage("read"):
            i = read(i, wait)
        with stallscope.stage("decode"):
            made = decode(i, work)
        yield made


@planted("", "decode", "cpu")
def named_stage():
    train(stallscope.loader(staged(0.001, cost(10))))


@planted("", "read", "blocked")
def named_stage_that_waits():
    train(stallscope.loader(staged(cost(10), 0.001)))


class Ahead:
    """A thread loads ahead of the loop."""

    def __init__(self, wait, work):
        self.queue = queue.Queue(4)
        threading.Thread(target=self.fill, args=(wait, work), daemon=True).start()

    def fill(self, wait, work):
        for made in staged(wait, work):
            self.queue.put(made)

    def __iter__(self):
        return iter(self.queue.get, None)


@planted("", "read loader", "blocked")
def thread_ahead():
    train(stallscope.loader(Ahead(cost(20), 0.001)))


@sound("", "sound_thread")
def sound_thread():
    train(stallscope.loader(Ahead(0.002, 0.001)), 30)


@sound("", "sound_generator")
def sound_generator():
    train(stallscope.loader(generated(0, 0.0005)), 30)


# WebDataset.


def shards(count, elements=64):
    folder = tempfile.mkdtemp(prefix="loader-jobs-")
    names = []
    for shard in range(count):
        names.append(os.path.join(folder, "%03d.tar" % shard))
        with tarfile.open(names[-1], "w") as tar:
            for i in range(elements):
                info = tarfile.TarInfo("%06d.cls" % i)
                info.size = 1
                tar.addfile(info, io.BytesIO(b"%d" % (i % 7)))
    return names


class Augment:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, sample):
        burn(self.seconds)
        return torch.full((256,), float(sample["cls"]))


class Fetch(Augment):
    def __call__(self, sample):
        time.sleep(self.seconds)
        return torch.full((256,), float(sample["cls"]))


def stack(samples):
    return torch.stack(samples)


def web(transform, workers, count=8):
    import webdataset

    data = (webdataset.WebDataset(shards(count), shardshuffle=False, empty_check=False).repeat()
            .decode().map(transform).batched(BATCH, collation_fn=stack))
    return torch.utils.data.DataLoader(
        data, batch_size=None, num_workers=workers,
        multiprocessing_context=jobs.options.method if workers else None)


@planted("webdataset", "fetch", "cpu cpu_contention", "Augment")
def webdataset_slow_op():
    train(web(Augment(cost(16) / BATCH), 1))


@planted("webdataset", "fetch", "blocked", "Fetch")
def webdataset_slow_store():
    train(web(Fetch(cost(20) / BATCH), 1))


@planted("webdataset", "fetch loader", "blocked order", "Fetch")
def webdataset_few_shards():
    train(web(Fetch(cost(30) / BATCH), 3, 1))


@sound("webdataset", "sound_webdataset")
def sound_webdataset():
    train(web(Augment(0.00005), 2), 40)


# Hugging Face's datasets.


def rows(count=4096):
    import datasets

    return datasets.Dataset.from_dict({"x": [i % 7 for i in range(count)]})


def augment(seconds):
    def augment_rows(rows):
        xs = rows["x"] if isinstance(rows["x"], list) else [rows["x"]]
        burn(seconds * len(xs))
        made = [torch.full((256,), float(x)) for x in xs]
        return {"x": made if isinstance(rows["x"], list) else made[0]}

    return augment_rows


class Columns:
    """Batches of `x` alone."""

    def __call__(self, rows):
        return torch.stack([row["x"] for row in rows])


def hugging(data, workers):
    return torch.utils.data.DataLoader(data, batch_size=BATCH, num_workers=workers,
                                       collate_fn=Columns())


@planted("datasets", "fetch", "cpu cpu_contention", "augment_rows")
def datasets_slow_transform():
    train(hugging(rows().with_transform(augment(cost(16) / BATCH)), 1))


@planted("datasets", "fetch", "cpu cpu_contention", "augment_rows")
def datasets_slow_stream():
    train(hugging(rows().to_iterable_dataset(num_shards=4).map(augment(cost(16) / BATCH)), 1))


# MosaicML streaming.


def mosaic(seconds, step_ms=None):
    import streaming
    import streaming.base.storage.download as store

    folder = tempfile.mkdtemp(prefix="loader-jobs-")
    with streaming.MDSWriter(out=folder + "/remote", columns={"x": "int"}, size_limit=300) as out:
        for i in range(BATCH * (jobs.options.steps + 2)):
            out.write({"x": i % 7})
    get = store.LocalDownloader._download_file_impl

    def far_away(self, *args, **kwargs):
        time.sleep(seconds)
        return get(self, *args, **kwargs)

    store.LocalDownloader._download_file_impl = far_away
    data = streaming.StreamingDataset(remote=folder + "/remote", local=folder + "/local",
                                      batch_size=BATCH, shuffle=False, predownload=4 * BATCH)
    loader = torch.utils.data.DataLoader(
        data, batch_size=BATCH, num_workers=1,
        collate_fn=lambda found: torch.stack([torch.full((256,), float(f["x"])) for f in found]))
    train(loader, step_ms)
    shutil.rmtree(folder, True)


@planted("streaming", "download", "io")
def streaming_slow_store():
    mosaic(cost(10))


if __name__ == "__main__":
    jobs.main()
