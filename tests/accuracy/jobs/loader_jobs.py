"""Jobs with a known bottleneck on loaders other than PyTorch's, and sound ones, for the accuracy table.
`planting.py` explains the usage and the rules. The table omits jobs whose library this Python lacks.
"""
import collections
import concurrent.futures
import importlib.util
import io
import itertools
import logging
import multiprocessing
import os
import queue
import shutil
import sys
import tarfile
import tempfile
import threading
import time

import jobs
import numpy
import planting
import torch
from jobs import Model, train
from planting import BATCH, burn, cost

# The table is also printed outside of a recording.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "collectors",
                             "job", "python"))
import stallscope  # noqa: E402

planting.PLANTED.clear()
planting.SOUND.clear()
ONE = ("fork",)  # no workers, or the library starts them itself


def planted(needs, *row, methods=ONE):
    return planting.planted(*row, methods=methods) if _has(needs) else lambda run: run


def sound(needs, name):
    def add(run):
        if _has(needs):
            planting.SOUND[name] = run

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


def pooled(work, seconds):
    prepare = element(work, seconds)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for i in itertools.count():
            yield torch.stack(list(pool.map(prepare, range(BATCH * i, BATCH * (i + 1)))))


@planted("", "fetch", "blocked", "prepare")
def own_pool_that_waits():
    train(stallscope.loader(pooled(time.sleep, cost(20) / BATCH)))


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
        multiprocessing_context=planting.options.method if workers else None)


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
    """Batches of only `x`."""

    def __call__(self, rows):
        return torch.stack([row["x"] for row in rows])


def hugging(data, workers, collate=Columns()):
    return torch.utils.data.DataLoader(data, batch_size=BATCH, num_workers=workers,
                                       collate_fn=collate)


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
        for i in range(BATCH * (planting.options.steps + 2)):
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


# Pools of processes.


def decode_number(i):
    with stallscope.stage("decode"):
        burn(POOL_SECONDS)
    return i


def from_a_pool(seconds, processes):
    global POOL_SECONDS
    POOL_SECONDS = seconds  # forked processes inherit it
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for i in pool.imap(decode_number, range(planting.options.steps + 20)):
            yield batch(i)


def decoded(i):
    burn(POOL_SECONDS)
    return i


def of_a_pool(seconds, processes):
    global POOL_SECONDS
    POOL_SECONDS = seconds
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for first in itertools.count(0, BATCH):
            yield batch(sum(pool.imap(decoded, range(first, first + BATCH))) % 7)


@planted("", "fetch", "cpu cpu_contention", "waiting for decoded")
def own_pool_that_computes():
    train(stallscope.loader(of_a_pool(cost(24) / BATCH, 2)))


@planted("", "decode", "cpu cpu_contention")
def pool_slow_op():
    train(stallscope.loader(from_a_pool(cost(16), 1)))


@sound("", "sound_pool")
def sound_pool():
    train(stallscope.loader(from_a_pool(0.001, 2)), 30)


# More of WebDataset.


@planted("webdataset", "fetch", "cpu cpu_contention", "Augment")
def webdataset_no_workers():
    train(web(Augment(cost(10) / BATCH), 0))


@planted("webdataset", "fetch", "blocked", "Fetch")
def webdataset_store_no_workers():
    train(web(Fetch(cost(10) / BATCH), 0))


# More of datasets.


def waiting(seconds):
    def read_rows(rows):
        xs = rows["x"] if isinstance(rows["x"], list) else [rows["x"]]
        time.sleep(seconds * len(xs))
        made = [torch.full((256,), float(x)) for x in xs]
        return {"x": made if isinstance(rows["x"], list) else made[0]}

    return read_rows


class SlowColumns(Columns):
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, rows):
        burn(self.seconds)
        return super().__call__(rows)


@planted("datasets", "fetch", "blocked", "read_rows")
def datasets_slow_store():
    train(hugging(rows().with_transform(waiting(cost(20) / BATCH)), 1))


@planted("datasets", "fetch", "cpu cpu_contention", "augment_rows")
def datasets_no_workers():
    train(hugging(rows().with_transform(augment(cost(10) / BATCH)), 0))


@planted("datasets", "collate", "cpu cpu_contention")
def datasets_slow_collate():
    data = hugging(rows().with_transform(augment(0)), 1, SlowColumns(cost(16)))
    train(data)


@planted("datasets", "fetch loader", "blocked order", "read_rows")
def datasets_few_shards():
    train(hugging(rows(10**5).to_iterable_dataset(num_shards=1).map(waiting(cost(30) / BATCH)), 3))


@sound("datasets", "sound_datasets")
def sound_datasets():
    train(hugging(rows(10**5).with_transform(augment(0.00005)), 2), 40)


@sound("datasets", "sound_datasets_stream")
def sound_datasets_stream():
    train(hugging(rows(10**5).to_iterable_dataset(num_shards=4).map(augment(0.00005)), 2), 40)


# torchdata's StatefulDataLoader.


def stateful(data, workers, **more):
    from torchdata.stateful_dataloader import StatefulDataLoader

    return StatefulDataLoader(data, batch_size=BATCH, num_workers=workers, **more)


@planted("torchdata", "fetch", "cpu cpu_contention", "SlowTransform")
def stateful_slow_op():
    train(stateful(jobs.Transformed(cost(16) / BATCH), 1))


@planted("torchdata", "fetch", "blocked", "get_object")
def stateful_slow_store():
    train(stateful(jobs.Store(cost(30) / BATCH), 2))


@planted("torchdata", "collate", "cpu cpu_contention")
def stateful_slow_collate():
    train(stateful(jobs.Samples(), 1, collate_fn=jobs.SlowCollate(cost(16))))


@sound("torchdata", "sound_stateful")
def sound_stateful():
    train(stateful(jobs.Samples(), 2), 30)


# torchdata.nodes.


def noded(prepare, workers, ahead=2, method="thread"):
    from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, ParallelMapper, Prefetcher

    mapped = ParallelMapper(IterableWrapper(range(10**6)), prepare, num_workers=workers,
                            method=method)
    batches = Mapper(Batcher(mapped, BATCH), torch.stack)
    return Loader(Prefetcher(batches, ahead) if ahead else batches)


def element(work, seconds):
    def prepare(i):
        work(seconds)
        return torch.full((256,), float(i % 7))

    return prepare


@planted("torchdata", "fetch", "cpu cpu_contention", "prepare")
def nodes_slow_op():
    train(noded(element(burn, cost(10) / BATCH), 0, 0))


@planted("torchdata", "fetch loader", "blocked", "prepare")
def nodes_slow_store():
    train(noded(element(time.sleep, cost(40) / BATCH), 2))


@planted("torchdata", "fetch loader", "cpu cpu_contention", "prepare")
def nodes_slow_op_in_a_process():
    train(noded(element(burn, cost(16) / BATCH), 1, method="process"))


@sound("torchdata", "sound_nodes")
def sound_nodes():
    train(noded(element(time.sleep, 0), 1), 30)


# More of MosaicML streaming.


@sound("streaming", "sound_streaming")
def sound_streaming():
    mosaic(0, 40)


# litdata.


def optimized(count=4096):
    from litdata.streaming import Cache

    folder = tempfile.mkdtemp(prefix="loader-jobs-")
    cache = Cache(input_dir=folder, chunk_size=512)
    for i in range(count):
        cache[i] = i % 7
    cache.done()
    cache.merge()
    return folder


def lit(work, workers, **more):
    import litdata

    class Data(litdata.StreamingDataset):
        def __getitem__(self, index):
            return prepare(super().__getitem__(index))

    def prepare(x):
        work()
        return torch.full((256,), float(x))

    return litdata.StreamingDataLoader(Data(input_dir=optimized()), batch_size=BATCH,
                                       num_workers=workers, **more)


@planted("litdata", "fetch", "cpu cpu_contention", "prepare")
def litdata_slow_op():
    seconds = cost(16) / BATCH
    train(lit(lambda: burn(seconds), 1))


@planted("litdata", "fetch", "blocked", "prepare")
def litdata_slow_store():
    seconds = cost(20) / BATCH
    train(lit(lambda: time.sleep(seconds), 1))


@planted("litdata", "collate", "cpu cpu_contention")
def litdata_slow_collate():
    train(lit(int, 1, collate_fn=jobs.SlowCollate(cost(16))))


@sound("litdata", "sound_litdata")
def sound_litdata():
    train(lit(int, 2), 40)


# Training frameworks around a DataLoader.


def lightning(data, step_ms=None):
    import warnings

    import lightning.pytorch

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    model = Model(step_ms)
    ended = []

    class Module(lightning.pytorch.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = model.net

        def training_step(self, batch, index):
            burn(model.step_ms / 1000)
            ended.append(planting.clocks())
            return self.net(batch.reshape(-1, 256)).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-4)

    lightning.pytorch.Trainer(
        max_steps=planting.options.steps, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False).fit(Module(), data)
    planting.finish(ended)


@planted("lightning", "fetch", "cpu cpu_contention", "SlowTransform")
def lightning_slow_op():
    lightning(jobs.loader(jobs.Transformed(cost(16) / BATCH), 1))


@planted("lightning", "fetch", "blocked", "get_object")
def lightning_slow_store():
    lightning(jobs.loader(jobs.Store(cost(20) / BATCH), 1))


@planted("lightning", "collate", "cpu cpu_contention")
def lightning_slow_collate():
    lightning(jobs.loader(jobs.Samples(), 1, collate_fn=jobs.SlowCollate(cost(16))))


@sound("lightning", "sound_lightning")
def sound_lightning():
    lightning(jobs.loader(jobs.Samples(), 2), 30)


def accelerated(data, step_ms=None):
    import accelerate

    ended = []
    accelerator = accelerate.Accelerator(cpu=True)
    model = Model(step_ms)
    net, model.optimizer, data = accelerator.prepare(model.net, model.optimizer, data)
    for batch in data:
        burn(model.step_ms / 1000)
        model.optimizer.zero_grad()
        accelerator.backward(net(batch.reshape(-1, 256)).sum())
        model.optimizer.step()
        ended.append(planting.clocks())
        if len(ended) == planting.options.steps:
            break
    planting.finish(ended)


@planted("accelerate", "fetch", "blocked", "get_object")
def accelerate_slow_store():
    accelerated(jobs.loader(jobs.Store(cost(20) / BATCH), 1))


@planted("accelerate", "transport", "cpu cpu_contention")
def accelerate_pickled_objects():
    accelerated(jobs.loader(jobs.Samples(), 1, collate_fn=Pickled(cost(16))))


@sound("accelerate", "sound_accelerate")
def sound_accelerate():
    accelerated(jobs.loader(jobs.Samples(), 2), 30)


class Slow:
    """An object that is slow to pickle."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __reduce__(self):
        burn(self.seconds)
        return Slow, (0,)


class Pickled:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, elements):
        made = Batch(torch.stack(elements))
        made.slow = Slow(self.seconds)
        return made


class Batch(collections.UserList):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def reshape(self, *shape):
        return self.x.reshape(*shape)


def hugging_trainer(data, workers, collate=torch.stack, step_ms=None):
    import transformers

    transformers.logging.set_verbosity_error()
    model = Model(step_ms)
    ended = []

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = model.net

        def forward(self, x):
            burn(model.step_ms / 1000)
            ended.append(planting.clocks())
            return {"loss": self.net(x.reshape(-1, 256)).sum()}

    folder = tempfile.mkdtemp(prefix="loader-jobs-")
    arguments = transformers.TrainingArguments(
        output_dir=folder, max_steps=planting.options.steps, per_device_train_batch_size=BATCH,
        dataloader_num_workers=workers, dataloader_pin_memory=False, use_cpu=True, report_to=[],
        logging_strategy="no", save_strategy="no", remove_unused_columns=False)
    trainer = transformers.Trainer(Net(), arguments, train_dataset=data,
                                   data_collator=lambda elements: {"x": collate(elements)})
    for callback in (transformers.PrinterCallback, transformers.ProgressCallback):
        trainer.remove_callback(callback)
    trainer.train()
    shutil.rmtree(folder, True)
    planting.finish(ended)


@planted("transformers", "fetch", "cpu cpu_contention", "SlowTransform")
def trainer_slow_op():
    hugging_trainer(jobs.Transformed(cost(16) / BATCH), 1)


@planted("transformers", "fetch", "cpu cpu_contention", "SlowTransform")
def trainer_no_workers():
    hugging_trainer(jobs.Transformed(cost(10) / BATCH), 0)


@planted("transformers", "collate", "cpu cpu_contention")
def trainer_slow_collate():
    hugging_trainer(jobs.Samples(), 1, jobs.SlowCollate(cost(16)))


@sound("transformers", "sound_trainer")
def sound_trainer():
    hugging_trainer(jobs.Samples(), 2, step_ms=40)


# grain.


class Work:
    def __init__(self, work, seconds):
        self.work, self.seconds = work, seconds

    def __call__(self, x):
        self.work(self.seconds)
        return numpy.full((256,), float(x % 7), numpy.float32)


def grained(work, seconds, threads=0, processes=0):
    import grain.python as grain
    from absl import flags

    flags.FLAGS(["job"])
    data = grain.MapDataset.source(range(10**6)).map(Work(work, seconds))
    data = data.to_iter_dataset(
        grain.ReadOptions(num_threads=threads, prefetch_buffer_size=4 * BATCH if threads else 0))
    data = data.batch(BATCH)
    if processes:
        data = data.mp_prefetch(grain.MultiprocessingOptions(num_workers=processes))
    return map(torch.from_numpy, iter(data))


@planted("grain", "fetch", "cpu", "Work")
def grain_slow_op():
    train(grained(burn, cost(10) / BATCH))


@planted("grain", "fetch", "blocked", "Work")
def grain_slow_store():
    train(grained(time.sleep, cost(10) / BATCH))


@planted("grain", "fetch", "blocked", "Work")
def grain_slow_store_with_threads():
    train(grained(time.sleep, cost(40) / BATCH, threads=2))


@planted("grain", "fetch", "cpu cpu_contention", "Work")
def grain_slow_op_in_a_process():
    train(grained(burn, cost(16) / BATCH, processes=1))


@planted("grain", "fetch", "blocked", "Work")
def grain_slow_store_in_a_process():
    train(grained(time.sleep, cost(20) / BATCH, processes=1))


@sound("grain", "sound_grain")
def sound_grain():
    train(grained(time.sleep, 0, processes=1), 30)


if __name__ == "__main__":
    planting.main()
