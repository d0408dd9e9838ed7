"""Small jobs on other libraries' loaders for tests, one per name; with a number of workers.

    python library_jobs.py NAME [WORKERS]
"""
import io
import os
import random
import sys
import tarfile
import tempfile
import time

import loader_options

WORKERS = int(sys.argv[2]) if sys.argv[2:] and sys.argv[2].isdigit() else 0
FOLDER = tempfile.mkdtemp(prefix="library-jobs-")


def needs(job):
    """Declares the library that a job needs."""
    return {"webdataset": "webdataset", "webloader": "webdataset", "few_shards": "webdataset",
            "hugging_face": "datasets", "hugging_face_stream": "datasets",
            "hugging_face_few": "datasets", "stateful": "torchdata.stateful_dataloader",
            "mosaic": "streaming", "accelerated": "accelerate", "grain": "grain",
            "grain_processes": "grain", "grain_threads": "grain", "grain_options": "grain",
            "grain_loader": "grain", "grain_operations": "grain", "grain_slow_source": "grain",
            "hugging_face_batches": "datasets", "nodes": "torchdata.nodes",
            "nodes_processes": "torchdata.nodes", "two_maps": "torchdata.nodes",
            "formatted": "datasets", "interleaved": "datasets",
            "dispatched": "accelerate", "combined": "lightning.pytorch", "trained": "transformers",
            "thread_prefetch": "grain", "unbatched": "webdataset"}[job]


def train(loader, epochs=1):
    import torch

    weights = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weights], lr=0.1)
    for _ in range(epochs):
        for batch in loader:
            print(batch if isinstance(batch, int) else list(batch))
            optimizer.step()


def shards(count):
    names = []
    for shard in range(count):
        names.append(os.path.join(FOLDER, "%d.tar" % shard))
        with tarfile.open(names[-1], "w") as tar:
            for i in range(16):
                data = b"%d" % (16 * shard + i)
                info = tarfile.TarInfo("%05d.cls" % (16 * shard + i))
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return names


def parse(sample):
    sum(range(100000))
    return sample["cls"]


def pipeline(count):
    import webdataset

    return (webdataset.WebDataset(shards(count), shardshuffle=False, empty_check=False)
            .decode().map(parse).batched(4, collation_fn=None))


def webdataset():
    from torch.utils.data import DataLoader

    train(DataLoader(pipeline(4), batch_size=None, num_workers=WORKERS), 2)


def few_shards():
    from torch.utils.data import DataLoader

    train(DataLoader(pipeline(1), batch_size=None, num_workers=WORKERS))


def webloader():
    import webdataset

    train(webdataset.WebLoader(pipeline(4), batch_size=None, num_workers=WORKERS)
          .unlisted().shuffle(8, rng=random.Random(1)).batched(8, collation_fn=None))


def unbatched():
    import webdataset

    train(webdataset.WebLoader(pipeline(4), batch_size=None, num_workers=WORKERS).unlisted()
          .batched(8, collation_fn=None).with_epoch(4), 2)


def rows():
    import datasets

    return datasets.Dataset.from_dict({"x": list(range(64))})


def double(row):
    sum(range(100000))
    return {"x": [2 * x for x in row["x"]] if isinstance(row["x"], list) else 2 * row["x"]}


def hugging_face():
    from torch.utils.data import DataLoader

    train(DataLoader(rows().with_transform(double), batch_size=8, num_workers=WORKERS), 2)


def hugging_face_stream(count=4):
    from torch.utils.data import DataLoader

    train(DataLoader(rows().to_iterable_dataset(num_shards=count).map(double), batch_size=8,
                     num_workers=WORKERS), 2)


def hugging_face_few():
    hugging_face_stream(1)


def hugging_face_batches():
    train(rows().to_iterable_dataset().map(double).batch(8).with_format("torch"), 2)


def number(i):
    sum(range(100000))
    return i


def nodes(method="thread"):
    from torchdata.nodes import Batcher, IterableWrapper, Loader, ParallelMapper, Prefetcher

    mapped = ParallelMapper(IterableWrapper(range(32)), number, num_workers=WORKERS, method=method)
    train(Loader(Prefetcher(Batcher(mapped, 4), 2)), 2)


def nodes_processes():
    nodes("process")


def double_number(i):
    return 2 * number(i)


def two_maps():
    from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, ParallelMapper

    mapped = ParallelMapper(IterableWrapper(range(32)), number, 1, method="thread", max_concurrent=1)
    mapped = Mapper(mapped, double_number)
    train(Loader(Batcher(mapped, 4)))


def formatted():
    from torch.utils.data import DataLoader

    data = rows().map(double)
    data.set_format("torch")
    train(DataLoader(data, batch_size=8, num_workers=WORKERS))


def interleaved():
    import datasets
    from torch.utils.data import DataLoader

    streams = [rows().to_iterable_dataset(num_shards=2).map(double) for _ in range(2)]
    data = datasets.interleave_datasets(streams).shuffle(seed=1, buffer_size=8)
    train(DataLoader(data, batch_size=8, num_workers=WORKERS))


def stateful():
    from torchdata.stateful_dataloader import StatefulDataLoader

    loader = StatefulDataLoader(list(range(32)), batch_size=4, num_workers=WORKERS)
    train(loader, 2)
    state = iter(loader)
    next(state), next(state)
    loader.load_state_dict(loader.state_dict())
    train(loader)


def mosaic():
    import streaming
    from torch.utils.data import DataLoader

    remote = os.path.join(FOLDER, "remote")
    with streaming.MDSWriter(out=remote, columns={"x": "int"}, size_limit=300) as out:
        for i in range(64):
            out.write({"x": i})
    data = streaming.StreamingDataset(remote=remote, local=os.path.join(FOLDER, "local"),
                                      batch_size=8, shuffle=False)
    train(DataLoader(data, batch_size=8, num_workers=WORKERS))


def accelerated():
    import accelerate
    import torch
    from torch.utils.data import DataLoader

    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = torch.nn.Linear(1, 1)
    net, optimizer, data, test = accelerator.prepare(
        net, torch.optim.SGD(net.parameters(), lr=0.1),
        DataLoader(torch.ones(32, 1), batch_size=4, num_workers=WORKERS),
        DataLoader(torch.ones(8, 1), batch_size=4))
    for _ in range(2):
        for batch in data:
            with accelerator.accumulate(net):
                accelerator.backward(net(batch).sum())
                optimizer.step()
                optimizer.zero_grad()
        with torch.no_grad():
            for batch in test:
                print(len(batch))
        accelerator.save_state(os.path.join(FOLDER, "state"))


def dispatched():
    import accelerate
    import torch
    from torch.utils.data import DataLoader

    accelerator = accelerate.Accelerator(cpu=True, dataloader_config=accelerate.DataLoaderConfiguration(
        dispatch_batches=True, split_batches=True))
    net = torch.nn.Linear(1, 1)
    net, optimizer, data = accelerator.prepare(
        net, torch.optim.SGD(net.parameters(), lr=0.1),
        DataLoader(torch.ones(32, 1), batch_size=4, num_workers=WORKERS))
    for batch in data:
        print(len(batch))
        accelerator.backward(net(batch).sum())
        optimizer.step()


def combined():
    import logging
    import warnings

    import lightning.pytorch
    import torch
    from lightning.pytorch.utilities import CombinedLoader
    from torch.utils.data import DataLoader

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(lightning.pytorch.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(1, 1)

        def training_step(self, batch, index):
            print([len(batch[name]) for name in ("a", "b")])
            return self.net(batch["a"]).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    loaders = {name: DataLoader(torch.ones(count, 1), batch_size=4, num_workers=WORKERS)
               for name, count in (("a", 32), ("b", 16))}
    lightning.pytorch.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False).fit(
            Module(), CombinedLoader(loaders, "max_size_cycle"))


def trained():
    """Evaluates and writes a checkpoint after every fourth step."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Linear(1, 1)

        def forward(self, x, labels=None):
            return {"loss": self.net(x).sum(), "logits": x}

    rows = [{"x": torch.ones(1), "labels": torch.ones(1)} for _ in range(64)]
    arguments = transformers.TrainingArguments(
        output_dir=os.path.join(FOLDER, "out"), max_steps=8, per_device_train_batch_size=4,
        per_device_eval_batch_size=4, dataloader_num_workers=WORKERS, dataloader_pin_memory=False,
        use_cpu=True, report_to=[], logging_strategy="no", eval_strategy="steps", eval_steps=4,
        save_strategy="steps", save_steps=4, remove_unused_columns=False, disable_tqdm=True)
    trainer = transformers.Trainer(Net(), arguments, train_dataset=rows, eval_dataset=rows[:8])
    trainer.remove_callback(transformers.PrinterCallback)
    print(trainer.train().global_step)


def grain():
    import grain.python as grain

    data = grain.MapDataset.source(list(range(32))).map(lambda x: x + sum(range(100000))).batch(4)
    for batch in data.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)):
        print(batch)


def grain_threads():
    import grain.python as grain

    data = grain.MapDataset.source(list(range(32))).map(lambda x: x + sum(range(100000)))
    ahead = grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)
    for batch in data.to_iter_dataset(ahead).batch(4):
        print(batch)


def thread_prefetch():
    import grain.python as grain
    from grain.experimental import ThreadPrefetchIterDataset

    data = grain.MapDataset.source(list(range(32))).map(Plus()).batch(4)
    data = data.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    for batch in ThreadPrefetchIterDataset(data, prefetch_buffer_size=2):
        print(batch)


def grain_processes():
    import grain.python as grain
    from absl import flags

    flags.FLAGS(["job"])
    data = grain.MapDataset.source(list(range(32))).to_iter_dataset().map(Plus()).batch(4)
    for batch in data.mp_prefetch(grain.MultiprocessingOptions(num_workers=2)):
        print(batch)


def grain_options():
    """Those of threads in processes; the loop is far from where they are made."""
    import grain.python as grain
    from absl import flags

    flags.FLAGS(["job"])
    data = grain.MapDataset.source(list(range(32))).map(Plus())
    data = data.to_iter_dataset(loader_options.reading(grain)).batch(4)
    for batch in data.mp_prefetch(loader_options.processes(grain)):
        print(batch)


def grain_operations():
    """In the loop's thread, behind the threads that read; or in processes."""
    import grain.python as grain
    from absl import flags

    flags.FLAGS(["job"])

    class Decode(grain.MapTransform):
        def map(self, x):
            return x + sum(range(100000))

    class Keep(grain.FilterTransform):
        def filter(self, x):
            return sum(range(10000)) >= 0

    class Jitter(grain.RandomMapTransform):
        def random_map(self, x, rng):
            return x + sum(range(10000)) * rng.integers(2)

    source = list(range(160))
    sampler = grain.IndexSampler(len(source), grain.NoSharding(), num_epochs=1, seed=3)
    operations = [Decode(), Keep(), Jitter(), grain.Batch(4)]
    for batch in grain.DataLoader(data_source=source, sampler=sampler, operations=operations,
                                  worker_count=WORKERS):
        print(batch)


class Slow(list):
    def __getitem__(self, index):
        time.sleep(0.01)
        return super().__getitem__(index)


def grain_slow_source():
    import grain.python as grain

    class Double(grain.MapTransform):
        def map(self, x):
            return 2 * x

    source = Slow(range(160))
    sampler = grain.IndexSampler(len(source), grain.NoSharding(), num_epochs=1, seed=3)
    reading = grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)
    for batch in grain.DataLoader(data_source=source, sampler=sampler, read_options=reading,
                                  operations=[Double(), grain.Batch(4)], worker_count=0):
        print(batch)


def grain_loader():
    import grain.python as grain

    source = list(range(32))
    sampler = grain.IndexSampler(len(source), grain.NoSharding(), num_epochs=1)
    for batch in grain.DataLoader(data_source=source, sampler=sampler, operations=[grain.Batch(4)],
                                  worker_count=0):
        print(batch)


class Plus:
    def __call__(self, x):
        return x + 1


# With stand-ins.


def dali():
    from nvidia.dali.plugin import pytorch

    pipelines = [loader_options.pipeline(pytorch)]
    for batch in pytorch.DALIClassificationIterator(pipelines, 5):
        print(batch)


def litdata():
    from litdata.streaming.config import ChunksConfig
    from torch.utils.data import DataLoader, Dataset

    class Chunks(Dataset):
        def __init__(self):
            self.config = ChunksConfig(FOLDER)

        def __len__(self):
            return 16

        def __getitem__(self, index):
            self.config.download_chunk_from_index(index // 4)
            self.config.try_decompress("")
            return index

    train_standin(DataLoader(Chunks(), batch_size=4, num_workers=WORKERS))


def mosaic_standin():
    from streaming.base.dataset import StreamingDataset
    from torch.utils.data import DataLoader

    train_standin(DataLoader(StreamingDataset(4), batch_size=4, num_workers=WORKERS))


def hugging_face_trainer():
    from torch.utils.data import DataLoader
    from transformers.trainer import Trainer

    Trainer(Standin(), DataLoader(list(range(16)), batch_size=4),
            DataLoader(list(range(4)), batch_size=4)).train()


def fetched_ahead():
    """Two epochs of 4 batches, or fewer."""
    from accelerate.data_loader import DataLoaderShard
    from torch.utils.data import DataLoader

    model = Standin()
    loader = DataLoaderShard(DataLoader(list(range(16)), batch_size=4))
    done = 0
    for _ in range(2):
        for batch in loader:
            model.step(batch)
            done += 1
            if done == int(sys.argv[2]):
                return


class Standin:
    def __init__(self):
        import torch

        self.optimizer = torch.optim.SGD()

    def step(self, batch):
        print(batch)
        self.optimizer.step()


def train_standin(loader):
    model = Standin()
    for batch in loader:
        model.step(batch)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
