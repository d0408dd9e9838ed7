"""PyTorch jobs with a known bottleneck, and sound ones, for the accuracy table. `planting.py` explains
the usage and the rules."""
import fcntl
import io
import itertools
import json
import os
import pickle
import tempfile
import time

import planting
import torch
from planting import burn, cost, planted, timed
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Samples(Dataset):
    """Elements of 1 KiB; `work(index)` is what a subclass plants."""

    def __init__(self, count=10**6):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.work(index)
        return torch.full((256,), float(index % 7))

    def work(self, index):
        pass


class Model:
    def __init__(self, step_ms):
        torch.set_num_threads(1)
        self.net = torch.nn.Linear(256, 8)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-4)
        self.step_ms = planting.step_ms(step_ms)
        self.steps = 0

    def step(self, batch):
        """Computes for step_ms of CPU time. False at the last step."""
        end = time.thread_time() + self.step_ms / 1000
        x = batch.float() if isinstance(batch, torch.Tensor) else torch.zeros(planting.BATCH, 256)
        loss = self.net(x.reshape(-1, 256)[:planting.BATCH]).sum()
        self.optimizer.zero_grad()
        loss.backward()
        a = torch.ones(96, 96)
        while time.thread_time() < end:
            a = (a @ a) / 96
        self.optimizer.step()
        self.steps += 1
        return self.steps < planting.options.steps


def train(loader, step_ms=None):
    model = Model(step_ms)
    ended = []
    while True:
        for batch in loader:
            more = model.step(batch)
            ended.append(planting.clocks())
            if not more:
                planting.finish(ended)
                return


def loader(data, workers, **more):
    if workers:
        more.update(num_workers=workers, multiprocessing_context=planting.options.method)
    return DataLoader(data, batch_size=more.pop("batch_size", planting.BATCH), **more)


class Chain:
    """A Compose, where torchvision is missing."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x


class SlowTransform:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, x):
        burn(self.seconds)
        return x


class Scale:
    def __call__(self, x):
        return x * 2


class Transformed(Samples):
    def __init__(self, seconds):
        super().__init__()
        self.transform = Chain([Scale(), SlowTransform(seconds), Scale()])

    def __getitem__(self, index):
        return self.transform(super().__getitem__(index))


@planted("fetch", "cpu cpu_contention", "SlowTransform", methods=("fork",))
def slow_op_no_workers():
    train(loader(Transformed(cost(10) / planting.BATCH), 0))


@planted("fetch", "cpu cpu_contention", "SlowTransform")
def slow_op():
    train(loader(Transformed(cost(16) / planting.BATCH), 1))


class Store(Samples):
    """An object store: a round trip an element."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def work(self, index):
        self.get_object(index)

    def get_object(self, index):
        time.sleep(self.seconds)


@planted("fetch", "blocked", "get_object", methods=("fork",))
def object_store_no_workers():
    train(loader(Store(cost(10) / planting.BATCH), 0))


@planted("fetch", "blocked", "get_object")
def object_store():
    train(loader(Store(cost(30) / planting.BATCH), 2))


class SlowCollate:
    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, elements):
        burn(self.seconds)
        return torch.stack(elements)


@planted("collate", "cpu cpu_contention")
def slow_collate():
    train(loader(Samples(), 1, collate_fn=SlowCollate(cost(16))))


class WaitingCollate(SlowCollate):
    def __call__(self, elements):
        time.sleep(self.seconds)  # a tokenizer's service
        return torch.stack(elements)


@planted("collate", "blocked")
def waiting_collate():
    train(loader(Samples(), 1, collate_fn=WaitingCollate(cost(16))))


class Straggling(Samples):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.every = 8 * planting.BATCH

    def work(self, index):
        if index % self.every == 5:
            self.read_large(index)

    def read_large(self, index):
        time.sleep(self.seconds)


@planted("fetch loader", "order", "read_large")
def straggler():
    train(loader(Straggling(cost(16) * 12), 4))


class Annotated(Samples):
    """Python objects, which are pickled one by one, and so many that a batch takes that long."""

    def __init__(self, seconds):
        super().__init__()
        scene = self.scene(1000)
        took = min(timed(lambda: pickle.loads(pickle.dumps(scene))) for _ in range(5))
        objects = int(1000 * seconds / took / planting.BATCH)
        self.scenes = [self.scene(objects) for _ in range(planting.BATCH)]

    @staticmethod
    def scene(objects):
        return [{"box": (i, i + 1, i + 2), "name": "object %d" % i} for i in range(objects)]

    def __getitem__(self, index):
        return self.scenes[index % len(self.scenes)]


def untouched(elements):
    return elements


@planted("transport", "cpu cpu_contention")
def pickled_objects():
    train(loader(Annotated(cost(16)), 1, collate_fn=untouched))


@planted("loader", "startup", methods=("spawn", "forkserver"))
def restarted_workers():
    epoch = (30, 15, 6)[planting.options.severity]
    train(loader(Samples(epoch * planting.BATCH), 2))


def slow_start(_):
    time.sleep(0.5)


@planted("loader", "startup")
def slow_worker_init():
    epoch = (30, 15, 6)[planting.options.severity]
    train(loader(Samples(epoch * planting.BATCH), 2, worker_init_fn=slow_start))


class SlowSampler:
    def __init__(self, seconds, work):
        self.seconds, self.work = seconds, work

    def __iter__(self):
        for i in range(10**6):
            self.work(self.seconds)
            yield i

    def __len__(self):
        return 10**6


@planted("sampler", "cpu cpu_contention")
def slow_sampler():
    train(loader(Samples(), 1, sampler=SlowSampler(cost(10) / planting.BATCH, burn)))


@planted("sampler", "blocked")
def remote_sampler():
    train(loader(Samples(), 1, sampler=SlowSampler(cost(10) / planting.BATCH, time.sleep)))


class Locked(Samples):
    """Workers take turns: one lock around the archive that they all read."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        handle, self.path = tempfile.mkstemp()
        os.close(handle)

    def work(self, index):
        self.read_archive(index)

    def read_archive(self, index):
        with open(self.path) as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            time.sleep(self.seconds)


@planted("fetch", "blocked lock", "read_archive")
def shared_lock():
    data = Locked(cost(12) / planting.BATCH)
    try:
        train(loader(data, 3))
    finally:
        os.unlink(data.path)


class Stream(IterableDataset):
    def __init__(self, seconds, count=10**6):
        self.seconds, self.count = seconds, count

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.count, step):
            self.receive(i)
            yield torch.full((256,), float(i % 7))

    def receive(self, index):
        if self.seconds:
            time.sleep(self.seconds)


@planted("fetch", "blocked", "receive")
def slow_stream():
    train(loader(Stream(cost(16) / planting.BATCH), 1))


class Parsed(Samples):
    """Text that takes that long to parse."""

    def __init__(self, seconds):
        super().__init__()
        row = {"a": 12345, "b": list(range(8))}
        text = json.dumps([row] * 1000)
        took = min(timed(lambda: json.loads(text)) for _ in range(5))
        self.text = json.dumps([row] * max(1, int(1000 * seconds / took)))

    def work(self, index):
        self.parse(index)

    def parse(self, index):
        return json.loads(self.text)


@planted("fetch", "cpu cpu_contention", "parse")
def slow_parse():
    train(loader(Parsed(cost(16) / planting.BATCH), 1))


class Images(Samples):
    """JPEGs that take PIL that long to decode."""

    def __init__(self, seconds):
        from PIL import Image

        super().__init__()
        size = 256
        for _ in range(2):  # the first one is only measured
            out = io.BytesIO()
            Image.effect_noise((size, size), 80).convert("RGB").save(out, "JPEG", quality=90)
            self.data = out.getvalue()
            took = min(timed(lambda: self[0]) for _ in range(5))
            size = int(256 * (seconds / took) ** 0.5)

    def __getitem__(self, index):
        from PIL import Image

        image = Image.open(io.BytesIO(self.data)).convert("RGB")
        return torch.frombuffer(bytearray(image.resize((16, 16)).tobytes()), dtype=torch.uint8)[:256]


@planted("fetch", "cpu cpu_contention", "Image.convert")
def decode():
    train(loader(Images(cost(16) / planting.BATCH), 1))


def sound(name, data, workers, step_ms, **more):
    planting.SOUND[name] = lambda: train(loader(data(), workers, **more), step_ms)


def _sound_jobs():
    for workers, step in itertools.product((0, 1, 2), (10, 20, 40)):
        sound("sound_map_%dw_%dms" % (workers, step), Samples, workers, step)
        sound("sound_stream_%dw_%dms" % (workers, step), lambda: Stream(0), workers, step)
    for batch in (4, 64):
        for workers in (1, 2):
            sound("sound_batch%d_%dw" % (batch, workers), Samples, workers, 30, batch_size=batch)
    for factor in (1, 4):
        sound("sound_prefetch%d" % factor, Samples, 2, 30, prefetch_factor=factor)
    sound("sound_shuffled", lambda: Samples(10**5), 2, 30, shuffle=True)
    sound("sound_store_4w", lambda: Store(0.001), 4, 40)
    sound("sound_persistent", lambda: Samples(64 * planting.BATCH), 2, 30, persistent_workers=True)
    sound("sound_transform_2w", lambda: Transformed(0.0003), 2, 40)
    sound("sound_unbatched", Samples, 1, 30, batch_size=None)


_sound_jobs()


if __name__ == "__main__":
    planting.main()
