"""More PyTorch jobs for the accuracy table, written before anything was tuned and first recorded when
it was done. `planting.py` has the usage and the rules.
"""
import itertools
import multiprocessing
import pickle
import socket
import subprocess
import threading
import time

import numpy
import torch
from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset, get_worker_info

import jobs
import planting
from jobs import Samples, loader, sound, train
from planting import burn, cost, planted, timed

planting.PLANTED.clear()
planting.SOUND.clear()


class Texts(Dataset):
    """Tokenized word by word, in Python."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 10**6

    def __getitem__(self, index):
        return torch.tensor(self.tokenize("the quick brown fox jumps over the lazy dog"))

    def tokenize(self, text):
        ids = []
        words = text.split()
        for word in words:
            burn(self.seconds / len(words))
            ids.append(len(word))
        return ids + [0] * (256 - len(ids))


@planted("fetch", "cpu cpu_contention", "tokenize")
def tokenizer():
    half = Texts(cost(16) / planting.BATCH)
    data = Subset(ConcatDataset([half, half]), range(500, 1500000))
    train(loader(data, 1))


class Ragged(Samples):
    def __getitem__(self, index):
        return [index % 7] * (200 + index % 57)


class Pad:
    """Sequences of several lengths become one tensor, element by element."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, sequences):
        end = time.thread_time() + self.seconds
        padded = [s + [0] * (256 - len(s)) for s in sequences]
        while time.thread_time() < end:
            padded = [[x for x in s] for s in padded]
        return torch.tensor(padded)


@planted("collate", "cpu cpu_contention")
def padding():
    train(loader(Ragged(), 2, collate_fn=Pad(cost(24))))


class Table(Samples):
    """A database that is asked for a whole batch at once."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def __getitems__(self, indices):
        return self.select(indices)

    def select(self, indices):
        time.sleep(self.seconds)
        return [torch.full((256,), float(i % 7)) for i in indices]


@planted("fetch", "blocked", "select")
def database():
    train(loader(Table(cost(16)), 1))


class Buckets:
    """A batch sampler that sorts by length."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __iter__(self):
        for first in itertools.count(0, planting.BATCH):
            burn(self.seconds)
            yield list(range(first, first + planting.BATCH))

    def __len__(self):
        return 10**5


@planted("sampler", "cpu cpu_contention")
def bucketing():
    train(torch.utils.data.DataLoader(
        Samples(), batch_sampler=Buckets(cost(10)), num_workers=2,
        multiprocessing_context=planting.options.method))


class Volumes(Samples):
    """Arrays of megabytes, which take that long to pickle and to unpickle."""

    def __init__(self, seconds):
        super().__init__()
        self.volume = numpy.ones(250000, numpy.float32)
        took = min(timed(lambda: pickle.loads(pickle.dumps(self.volume))) for _ in range(5))
        self.volume = numpy.ones(max(1, int(250000 * seconds / took)), numpy.float32)

    def __getitem__(self, index):
        return self.volume


def keep_arrays(elements):
    return list(elements)


@planted("transport", "cpu cpu_contention blocked")
def pickled_arrays():
    train(loader(Volumes(cost(16) / planting.BATCH), 1, collate_fn=keep_arrays))


class Shards(IterableDataset):
    """Each worker has shards of its own; those of the first one are far away."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __iter__(self):
        far = get_worker_info().id == 0
        for i in itertools.count():
            if far:
                self.download(i)
            yield torch.full((256,), float(i % 7))

    def download(self, index):
        time.sleep(self.seconds)


@planted("fetch loader", "order", "download")
def slow_shard():
    train(loader(Shards(cost(40) / planting.BATCH), 3))


class Tool(Samples):
    """A program for each element."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def work(self, index):
        self.convert(index)

    def convert(self, index):
        subprocess.run(["sleep", str(self.seconds)], check=True)


@planted("fetch", "blocked", "convert")
def external_program():
    train(loader(Tool(cost(30) / planting.BATCH), 2))


def serve(listener, seconds):
    def answer(connection):
        while connection.recv(8):
            time.sleep(seconds)
            connection.sendall(b"x" * 1024)

    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


class Remote(Samples):
    def __init__(self, address):
        super().__init__()
        self.address = address
        self.connection = None

    def work(self, index):
        self.fetch_object(index)

    def fetch_object(self, index):
        if self.connection is None:
            self.connection = socket.create_connection(self.address)
        self.connection.sendall(b"12345678")
        got = 0
        while got < 1024:
            got += len(self.connection.recv(1024))


@planted("fetch", "blocked", "fetch_object")
def server():
    listener = socket.create_server(("127.0.0.1", 0))
    process = multiprocessing.get_context("fork").Process(
        target=serve, args=(listener, cost(20) / planting.BATCH), daemon=True)
    process.start()
    train(loader(Remote(listener.getsockname()), 1))


class Blurred(Samples):
    def __init__(self, seconds):
        from torchvision import transforms

        super().__init__()
        torch.set_num_threads(1)
        self.image = torch.rand(3, 160, 160)
        blur = transforms.GaussianBlur(9)
        took = min(timed(lambda: blur(self.image)) for _ in range(5))
        size = max(24, int(160 * (seconds / took) ** 0.5))
        self.image = torch.rand(3, size, size)
        self.transform = transforms.Compose([
            transforms.RandomHorizontalFlip(), blur, transforms.CenterCrop(16)])

    def __getitem__(self, index):
        return self.transform(self.image)[0].flatten()


@planted("fetch", "cpu cpu_contention", "GaussianBlur")
def blur():
    train(loader(Blurred(cost(16) / planting.BATCH), 1))


class Bursts(IterableDataset):
    """Reads a shard of four batches at once."""

    def __init__(self, seconds, batch):
        self.seconds, self.batch = seconds, batch

    def __iter__(self):
        for shard in itertools.count():
            yield from self.read_shard(shard)

    def read_shard(self, shard):
        time.sleep(4 * self.seconds)
        return [torch.full((256,), float(shard % 7))] * (4 * self.batch)


@planted("fetch loader", "blocked buffer order", "read_shard")
def shards_at_once():
    train(loader(Bursts(cost(20), planting.BATCH), 1))


class Crowded(Samples):
    """More workers than cores."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def work(self, index):
        self.augment(index)

    def augment(self, index):
        burn(self.seconds)


@planted("fetch", "cpu cpu_contention", "augment")
def too_many_workers():
    train(loader(Crowded(cost(30) / planting.BATCH), 4))


def evaluate_between():
    """Training alone is fast; evaluation is no stall of it."""
    data, model = loader(Samples(60 * planting.BATCH), 2, persistent_workers=True), jobs.Model(30)
    check = loader(Table(0.02), 0)
    while True:
        for batch in data:
            if not model.step(batch):
                print("trained", model.steps, "steps")
                return
        for _ in itertools.islice(check, 3):
            pass


sound("sound_texts", lambda: Texts(0.0002), 2, 40)
sound("sound_padding", Ragged, 2, 40, collate_fn=Pad(0.004))
sound("sound_table", lambda: Table(0.004), 1, 30)
sound("sound_arrays", lambda: Volumes(1e-6), 2, 40, collate_fn=keep_arrays)
sound("sound_crowded", lambda: Crowded(0.0002), 4, 60)
sound("sound_bursts", lambda: Bursts(0.001, planting.BATCH), 2, 40)
planting.SOUND["sound_evaluation"] = evaluate_between

if __name__ == "__main__":
    planting.main()
