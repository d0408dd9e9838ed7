"""Small jobs for tests, one per name. Each prints what the trainer gets, so that two runs can be
compared byte by byte. They run with torch and with the stand-in.

    python jobs.py NAME [START_METHOD]
"""
import collections
import functools
import hashlib
import itertools
import multiprocessing
import os
import queue
import random
import signal
import sys
import threading
import time
import warnings
import weakref

import photos
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, get_worker_info

METHOD = sys.argv[2] if len(sys.argv) > 2 else "fork"


class Squares(Dataset):
    def __init__(self, count=32):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.load(index)

    def load(self, index):
        return square(index)


def square(index):
    return index * index


class Many(Squares):
    def __getitems__(self, indices):
        return [square(i) for i in indices]


class Stream(IterableDataset):
    def __init__(self, count=32):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.count, step):
            yield i


class Whole(IterableDataset):
    """Each worker yields all of it, for it asks nobody which one it is in."""

    def __iter__(self):
        for i in range(32):
            yield square(i)


class DrawnStream(Whole):
    def __iter__(self):
        for i in range(32):
            yield random.Random(i).randrange(i + 1)


class Helped(Whole):
    def __iter__(self):
        for i in own_part(32):
            yield i


def own_part(count):
    info = get_worker_info()
    return range(0 if info is None else info.id, count, 1 if info is None else info.num_workers)


class HelpedFromElsewhere(Whole):
    def __iter__(self):
        import photos

        yield from photos.own_part(32)


class WrappedStream(Whole):
    """What it wraps asks."""

    def __init__(self):
        self.inner = functools.partial(own_part, 32)

    def __iter__(self):
        yield from self.inner()


class Taken(Whole):
    def __init__(self):
        self.left = multiprocessing.Value("i", 32)

    def __iter__(self):
        while self.left.value > 0:
            self.left.value -= 1
            yield self.left.value


class Transform:
    def __call__(self, x):
        return x + 1


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        for t in self.transforms:
            x = t(x)
        return x


class Composed(Squares):
    def __init__(self, count=32, step=None):
        super().__init__(count)
        self.transform = Compose([Transform(), step or Slow()])

    def __getitem__(self, index):
        return self.transform(index)


class Slow:
    def __call__(self, x):
        time.sleep(0.002)
        return x


class Compiled(Slow):
    """A function that Cython compiled: the type is no name."""

    def __init__(self):
        self.__qualname__ = "Generator.normal"
        self.__module__ = "generators"


Compiled.__name__ = "cython_function_or_method"


class Counted(Squares):
    """A loop of calls of a native function, each of `work` numbers."""

    def __init__(self, work):
        super().__init__()
        self.numbers = list(range(work))

    def __getitem__(this, i):
        total = 0
        for _ in range(max(5, 2000 // max(1, len(this.numbers) // 10))):
            total += sum(this.numbers)
        return total


class Pipeline:
    """A Compose of the job's own, which calls its list what it likes."""

    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


class Around(Dataset):
    """Another data set, under a name of its own, and more done to its elements."""

    def __init__(self, base):
        self.base = base
        self.augment = Pipeline(Transform(), Transform())

    def __len__(self):
        return len(self.base)

    def __getitem__(self, index):
        return self.augment(self.base[index])


class Piped(Squares):
    def __init__(self):
        super().__init__()
        self.augment = Pipeline(Transform(), Slow())

    def __getitem__(self, index):
        return self.augment(index)


class Drawn:
    """A sampler that takes its time."""

    def __len__(self):
        return 256

    def __iter__(self):
        for index in range(256):
            time.sleep(0.0005)
            yield index % 32


class Bucketed:
    """A batch sampler that draws the whole pass before its first batch."""

    def __len__(self):
        return 8

    def __iter__(self):
        time.sleep(0.25)
        return iter([list(range(i, i + 4)) for i in range(0, 32, 4)])


def total_of(batch, extra):
    return [sum(batch) + extra]


class Augmented(photos.Photos):
    def augment(self, index):
        photos.pause()
        return index


class Chatty(Squares):
    """Watching this one is dear before Python 3.12."""

    def __getitem__(self, index):
        for i in range(600):
            self.load(i)
        time.sleep(0.007)
        return index


class Lined(Squares):
    def __getitem__(self, index):
        time.sleep(0.0005)
        count = self.counted(2000 if index % 8 else 100000)  # the slow lines
        return index + count * 0

    def counted(self, most):
        count = 0
        while count < most:
            count += 1
        return count


def lined_collate(batch):
    total = sum(batch)
    time.sleep(0.003)  # the slow line of the collate function
    return [total]


class Shy(Squares):
    """Prints whatever it is asked for that it does not have."""

    def __getattr__(self, name):
        print("asked for", name)
        raise AttributeError(name) if name in ("__getitems__", "too_short") else KeyError(name)


class ShyCollate:
    __slots__ = ("count",)

    def __call__(self, batch):
        time.sleep(0.0005)
        return batch

    def __getattr__(self, name):
        print("asked for", name)
        raise KeyError(name)

    def __hash__(self):
        print("hashed")
        return 1


class Wrapped:
    """A batch with a `shape` that is something else, and none of what tensors have."""

    def __init__(self, batch):
        self.batch = batch

    def shape(self):
        return "square"

    def __getattr__(self, name):
        if name in ("batch", "tolist") or name.startswith("__"):
            raise AttributeError(name)
        print("asked for", name)
        raise KeyError(name)

    def __repr__(self):
        return "Wrapped(%r)" % (self.batch,)


class Broken(dict):
    def values(self):
        raise RuntimeError("not now")


class Pictures(Squares):
    def __getitem__(self, index):
        return Picture((3, 4, 4)), {"boxes": index}


class Picture:
    def __init__(self, shape):
        self.shape = shape

    def __repr__(self):
        return "Picture"


class PictureStream(Stream):
    def __iter__(self):
        for i in super().__iter__():
            yield Picture((3, 4, 4)), {"boxes": i}


def transposed(batch):
    return tuple(zip(*batch))


def user_dict(batch):
    return collections.UserDict(x=list(batch))


class LateFailing(Squares):
    def __getitem__(self, index):
        time.sleep(0.001)
        if index >= 400:
            raise KeyError(index)
        return index


class Failing(Squares):
    def __getitem__(self, index):
        if index == 13:
            raise KeyError("no element 13")
        return index


class Nested(Squares):
    def __getitem__(self, index):
        return sum(int(b[0]) for b in DataLoader(Squares(4), batch_size=1))


class Killed(Squares):
    def __getitem__(self, index):
        if index == 13:
            os.kill(os.getpid(), 9)
        return index


class Straggling(Squares):
    def __getitem__(self, index):
        if index == 8:
            time.sleep(0.3)
        return index


def mean(batch):
    return sum(int(x) for x in batch) / len(batch)


def listed(batch):
    return batch.tolist() if hasattr(batch, "tolist") else batch


def digest(batch):
    return hashlib.sha1(repr(listed(batch)).encode()).hexdigest()[:12]


class Model:
    """An optimizer that steps without tensors."""

    def __init__(self):
        if "standin" in torch.__version__:
            self.optimizer = torch.optim.SGD()
        else:
            weight = torch.nn.Parameter(torch.zeros(1))
            weight.grad = torch.ones(1)
            self.optimizer = torch.optim.SGD([weight], lr=0.1)

    def step(self, batch):
        print(digest(batch))
        self.optimizer.step()


def train(loader, epochs=2, optimize=True):
    model = Model()
    for epoch in range(epochs):
        print("epoch", epoch)
        for batch in loader:
            model.step(batch) if optimize else print(digest(batch))


def workers(count=2, **more):
    return dict(num_workers=count, multiprocessing_context=METHOD, **more)


def zero():
    train(DataLoader(Squares(), batch_size=4, shuffle=False))


def sets_threads():
    torch.set_num_threads(3)
    print(torch.get_num_threads())
    zero()


def threads_of_others():
    import threading

    setter = threading.Thread(target=torch.set_num_threads, args=(3,))  # as torch's pinning does
    setter.start()
    setter.join()
    zero()


def zero_getitems():
    train(DataLoader(Many(), batch_size=4))


def zero_stream():
    train(DataLoader(Stream(), batch_size=5))


def zero_unbatched():
    train(DataLoader(Squares(8), batch_size=None))


def zero_pinned():
    train(DataLoader(Squares(), batch_size=4, pin_memory=True))


def zero_compose():
    train(DataLoader(Composed(), batch_size=8), epochs=4)


def zero_compiled():
    train(DataLoader(Composed(step=Compiled()), batch_size=8), epochs=4)


def zero_cheap_calls():
    train(DataLoader(Counted(1), batch_size=8), epochs=4)


def zero_dear_calls():
    train(DataLoader(Counted(40000), batch_size=8), epochs=4)


def reader():
    @functools.lru_cache(maxsize=1)
    def opened(i):
        time.sleep(0.003)
        return i

    def read(i):
        return opened(i)

    return read


@functools.lru_cache(maxsize=1)
def cached(i):
    time.sleep(0.003)
    return i


class Batched(Squares):
    """Makes all elements of a batch in comprehensions."""

    def __init__(self, read):
        super().__init__()
        self.read = read

    def shifted(self, x):
        return x + 1

    def __getitem__(self, i):
        return sum(self.shifted(self.read(j)) for j in [self.shifted(k) for k in range(i, i + 4)])


def zero_closures():
    train(DataLoader(Batched(reader()), batch_size=4), epochs=4)


def zero_cached():
    train(DataLoader(Batched(cached), batch_size=4), epochs=4)


def zero_lazy():
    """Objects whose methods run in the job's loops keep their fields without a dictionary."""
    import gc

    class Plain:
        def __init__(self):
            self.number = 3

    class Loaded(Plain, Squares):
        def __init__(self):
            Plain.__init__(self)
            self.count, self.transform = 32, Doubled()

        def __getitem__(self, index):
            return self.transform(index)

    class Doubled(Plain):
        def __call__(self, value):
            return 2 * value

    class Drawn(Plain):
        def __iter__(self):
            return iter(range(32))

        def __len__(self):
            return 32

    class Collated(Plain):
        def __call__(self, batch):
            return batch

    data, drawn, collated = Loaded(), Drawn(), Collated()
    train(DataLoader(data, batch_size=4, sampler=drawn, collate_fn=collated), epochs=12)
    for each in (data, data.transform, drawn, collated):
        print(type(each).__name__, any(type(value) is dict for value in gc.get_referents(each)))


def zero_collator():
    import collating

    doubling = Doubling()
    for collate in (collating.Padding(doubled), collating.padded, lambda batch: doubling(batch)):
        train(DataLoader(Squares(), batch_size=4, collate_fn=collate), epochs=12)


def doubled(batch):
    time.sleep(0.002)
    return [2 * value for value in batch]


class Doubling:
    def __call__(self, batch):
        return doubled(batch)


def zero_library():
    import composing

    class Library(Squares):
        composed = composing.Compose([composing.Blur()])

        def __getitem__(self, index):
            once = self.composed(index)
            return self.composed(once)

    train(DataLoader(Library(), batch_size=8), epochs=4)


def zero_own_compose():
    train(DataLoader(Piped(), batch_size=8), epochs=4)


def zero_around():
    train(DataLoader(Around(Composed()), batch_size=8), epochs=4)


def zero_drawn():
    collate = functools.partial(total_of, extra=1)
    train(DataLoader(Squares(), batch_size=4, sampler=Drawn(), collate_fn=collate), epochs=2)


def zero_bucketed():
    train(DataLoader(Squares(), batch_sampler=Bucketed()), epochs=2)


def two_bucketed():
    train(DataLoader(Squares(), batch_sampler=Bucketed(), **workers()), epochs=2)


def persistent_bucketed():
    train(DataLoader(Squares(), batch_sampler=Bucketed(), **workers(2, persistent_workers=True)), epochs=3)


def two_drawn():
    train(DataLoader(Squares(), batch_size=4, sampler=Drawn(), collate_fn=mean, **workers()), epochs=2)


def zero_helper():
    train(DataLoader(Augmented(), batch_size=8), epochs=4)


def traced_lines():
    seen = []

    def tracer(frame, event, arg):
        if frame.f_code is Lined.__getitem__.__code__:
            seen.append(event)
            return tracer
        return None

    sys.settrace(tracer)
    train(DataLoader(Lined(), batch_size=8, collate_fn=lined_collate), epochs=4)
    print(sys.gettrace() is tracer, len(seen))


def short(count=0):
    train(DataLoader(Chatty(320), batch_size=4, num_workers=count), epochs=1)


def short_workers():
    short(2)


def zero_lines():
    train(DataLoader(Lined(), batch_size=8, collate_fn=lined_collate), epochs=24)


def two():
    train(DataLoader(Squares(), batch_size=4, **workers()))


def two_compose():
    train(DataLoader(Composed(), batch_size=4, **workers()), epochs=3)


def zero_long():
    train(DataLoader(Composed(4000), batch_size=4), epochs=1)


def two_long():
    train(DataLoader(Composed(4000), batch_size=4, **workers()), epochs=1)


def shy():
    for count in (0, 2):
        train(DataLoader(Shy(), batch_size=4, num_workers=count, collate_fn=ShyCollate()), 4)


def odd_batches():
    for collate_fn in (Wrapped, Broken.fromkeys, user_dict):
        for count in (0, 2):
            train(DataLoader(Squares(), batch_size=4, num_workers=count, collate_fn=collate_fn), 1)


def pictures():
    for data in (Pictures(), PictureStream()):
        for count in (0, 1):
            train(DataLoader(data, batch_size=8, num_workers=count, collate_fn=transposed), 1)


def fails_late():
    found = set()
    for _ in range(30):
        try:
            for _ in DataLoader(LateFailing(), batch_size=4, sampler=list(range(360, 440))):
                pass
        except KeyError as error:
            found.add((error.args[0], sys.getprofile(), sys.gettrace()))
    print(found)


def late():
    """A signal handler that raises, several hundred times."""
    class Late(Exception):
        pass

    def handler(*_):
        counts[0] += 1
        raise Late

    counts = [0, 0, 0]  # raised, seen, lost
    signal.signal(signal.SIGALRM, handler)
    end = time.time() + 2
    while time.time() < end:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            while counts[0] == sum(counts[1:]):
                for _ in DataLoader(Squares(4000), batch_size=1):
                    pass
            counts[2] += 1
        except Late:
            counts[1] += 1
    print(counts[2] <= counts[0] // 50)


def unhooked():
    """Optimizers without the hook, as torch.compile leaves them."""
    model = Model()
    type(model.optimizer).step = lambda self: None
    feed, check = (DataLoader(Squares(n), batch_size=4) for n in (160, 80))
    for _ in range(2):
        for batch in feed:
            model.step(batch)
        with torch.no_grad():
            for batch in check:
                print("check", digest(batch))


def captured_step():
    """The optimizer steps before the loop: a captured graph replays that."""
    Model().optimizer.step()
    feed, check = (DataLoader(Squares(n), batch_size=4) for n in (160, 80))
    for batch in feed:
        print(digest(batch))
    with torch.no_grad():
        for batch in check:
            print("check", digest(batch))


def ahead_in_a_thread(load=0, train=0, every=1, loader=None):
    batches = queue.Queue(4)
    loader = loader or DataLoader(SlowToLoad(64, load), batch_size=4)

    def run():
        for batch in loader:
            batches.put(batch)
        batches.put(None)

    thread = threading.Thread(target=run)
    thread.start()
    model = Model()
    for i, batch in enumerate(iter(batches.get, None)):
        time.sleep(train)
        if i % every == every - 1:
            model.step(batch)
    thread.join()


class SlowToLoad(Squares):
    def __init__(self, count, seconds):
        Squares.__init__(self, count)
        self.seconds = seconds

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return square(index)


def slow_ahead_in_a_thread():
    ahead_in_a_thread(load=0.005)


def slow_behind_a_thread():
    loader = DataLoader(SlowToLoad(64, 0.0005), batch_size=4)
    check = DataLoader(Squares(8), batch_size=4)
    for _ in range(2):
        ahead_in_a_thread(train=0.02, loader=loader)
        with torch.no_grad():
            for batch in check:
                print("check", digest(batch))


def accumulated_behind_a_thread():
    ahead_in_a_thread(every=4, loader=DataLoader(Squares(320), batch_size=4))


def variables_of_its_own(count=8):
    """What a function's variables hold, and what its locals() has returned, is its own."""
    known = locals()
    loader = DataLoader(Squares(count), batch_size=4)
    data = weakref.ref(loader.dataset)
    print(len(list(loader)))
    loader = DataLoader(Squares(count), batch_size=2)
    print(len(list(loader)), data() is None, sorted(known))


def other_path():
    os.environ["PYTHONPATH"] = os.pathsep.join(
        p for p in os.environ["PYTHONPATH"].split(os.pathsep) if "shim" not in p)
    train(DataLoader(Squares(), batch_size=4, **workers()), 1)


def catches_all():
    model, count = Model(), 0
    batches = iter(DataLoader(Squares(400), batch_size=4))
    while count < 50:
        count += 1
        try:
            model.step(next(batches))
        except BaseException as error:
            print(type(error).__name__)
    print("all", count)


def execs_a_descriptor():
    next(iter(DataLoader(Squares(), batch_size=4)))
    os.execve(os.open("/bin/true", os.O_RDONLY), ["true"], os.environ)


def persistent():
    train(DataLoader(Squares(), batch_size=4, **workers(persistent_workers=True)), epochs=3)


def getitems():
    train(DataLoader(Many(), batch_size=4, **workers()))


def stream():
    train(DataLoader(Stream(), batch_size=5, **workers()))


def streams():
    for data in (Stream(), Whole(), Helped(), HelpedFromElsewhere(), WrappedStream(), Taken(), DrawnStream()):
        train(DataLoader(data, batch_size=4), epochs=1)


def stream_persistent():
    train(DataLoader(Stream(), batch_size=5, **workers(3, persistent_workers=True)))


def unbatched():
    train(DataLoader(Squares(12), batch_size=None, **workers()))


def batch_sampler():
    train(DataLoader(Squares(), batch_sampler=[[1, 2], [5], [7, 8, 9]], **workers()))


def collate():
    train(DataLoader(Squares(), batch_size=4, collate_fn=mean, drop_last=True, **workers()))


def subset():
    train(DataLoader(Subset(Squares(), list(range(20, 3, -1))), batch_size=4, **workers()))


def pinned():
    train(DataLoader(Squares(), batch_size=4, pin_memory=True, **workers()))


def opaque():
    for batch in DataLoader(Squares(8), batch_size=4, collate_fn=lambda batch: (b for b in batch)):
        print(sum(batch))


def every_epoch():
    model = Model()
    for _ in range(3):
        for batch in DataLoader(Squares(8), batch_size=4):
            model.step(batch)


def one_batch_each(left):
    """A new pass for each step: it is left, or there is only this batch."""
    model = Model()
    loader = DataLoader(Squares(8), batch_size=4 if left else 8)
    for _ in range(12):
        for batch in loader:
            model.step(batch)
            if left:
                break


def left_passes():
    one_batch_each(True)


def full_batches():
    one_batch_each(False)


def alike():
    def loader(**more):
        return DataLoader(Squares(8), **more)

    for each in [loader(batch_size=4) for _ in range(2)]:
        train(each, 1)
    train(loader(batch_size=4), 1)
    train(loader(batch_size=4), 1)
    for size in (2, 4):
        train(loader(batch_size=size), 1)


class Tensors(Squares):
    def __getitem__(self, index):
        return {"image": torch.arange(12.0).reshape(3, 4).t() * index, "label": index}


def tensors():
    for _ in range(2):
        for batch in DataLoader(Tensors(), batch_size=4):
            print(batch["image"].sum().item())


def unordered():
    loader = DataLoader(Straggling(), batch_size=4, in_order=False, **workers())
    print(sorted(str(listed(b)) for b in loader))


def straggler():
    train(DataLoader(Straggling(), batch_size=4, **workers()), epochs=1)


def nested():
    train(DataLoader(Nested(6), batch_size=2), epochs=1)


def nested_workers():
    train(DataLoader(Nested(6), batch_size=2, **workers()), epochs=1)


def evaluated():
    model = Model()
    feed, check = (DataLoader(Squares(n), batch_size=4, **workers()) for n in (32, 8))
    for batch in check:  # a sanity check first, as Lightning does
        print("check", digest(batch))
    for _ in range(2):
        for batch in feed:
            model.step(batch)
        for batch in check:
            print("check", digest(batch))


def zipped():
    model = Model()
    for a, b in zip(DataLoader(Squares(), batch_size=4), DataLoader(Squares(), batch_size=2)):
        print(digest(b))
        model.step(a)


def again_and_again(loader):
    while True:
        yield from loader


def zipped_workers():
    """Three loaders, of which each pass over the second is half as long."""
    model = Model()
    for a, b, c in zip(DataLoader(Squares(), batch_size=4, **workers()),
                       again_and_again(DataLoader(Squares(16), batch_size=4, **workers(1))),
                       DataLoader(Squares(), batch_size=2)):
        print(digest(b), digest(c))
        model.step(a)


def zipped_with_a_cycle():
    """The batches of the second are kept after its first pass."""
    model = Model()
    for a, b in zip(DataLoader(Squares(), batch_size=4),
                    itertools.cycle(DataLoader(Squares(12), batch_size=4))):
        print(digest(b))
        model.step(a)


def zipped_epochs():
    """The end of the second is the end of the pass, with one more batch of the first each time."""
    model = Model()
    longer, check = DataLoader(Squares(), batch_size=4), DataLoader(Squares(80), batch_size=4)
    for _ in range(3):
        for a, b in zip(longer, DataLoader(Squares(20), batch_size=4)):
            print(digest(b))
            model.step(a)
        with torch.no_grad():
            for batch in check:
                print("check", digest(batch))


def zipped_accumulated():
    model = Model()
    for _ in range(2):
        for i, (a, b) in enumerate(zip(*(DataLoader(Squares(10 * n), batch_size=n) for n in (2, 1)))):
            print(digest(a), digest(b))
            if i % 4 == 3:
                model.optimizer.step()


def zipped_gan():
    generator, discriminator = Model(), Model()
    for _ in range(2):
        for real, other in zip(*(DataLoader(Squares(), batch_size=n) for n in (4, 2))):
            discriminator.step(real)
            generator.step(other)


def zipped_with_checks():
    """Evaluates between the request and the step."""
    model = Model()
    check = DataLoader(Squares(40), batch_size=4)
    for i, (a, b) in enumerate(zip(*(DataLoader(Squares(), batch_size=n) for n in (4, 2)))):
        if i in (0, 5):
            with torch.no_grad():
                for batch in check:
                    print("check", digest(batch))
        print(digest(b))
        model.step(a)


def works_between():
    """Trains on a batch of each loader as it comes."""
    model = Model()
    others = iter(DataLoader(SlowToLoad(32, 0.001), batch_size=2))
    for a in DataLoader(Squares(), batch_size=4):
        print(digest(a))
        time.sleep(0.01)
        model.step(next(others))


def alternating():
    """A step for each batch, of one loader and of the other."""
    model = Model()
    for _ in range(2):
        for a, b in zip_lazily(*(DataLoader(Squares(), batch_size=n) for n in (4, 2))):
            model.step(next(a))
            model.step(next(b))


def zip_lazily(a, b):
    ones, others = iter(a), iter(b)
    for _ in range(8):
        yield ones, others


def one_for_several():
    """Two batches of the second loader, and a step for each, with every batch of the first."""
    model = Model()
    others = iter(DataLoader(Squares(), batch_size=2))
    for a in DataLoader(Squares(), batch_size=4):
        for _ in range(2):
            print(digest(a))
            model.step(next(others))


def zipped_inference():
    for a, b in zip(*(DataLoader(Squares(), batch_size=n) for n in (4, 2))):
        print(digest(a), digest(b))


def zipped_with_a_generator():
    """The pass of the second begins behind the first batch of the other, as behind an evaluation."""
    model = Model()
    for a, b in zip(DataLoader(Squares(), batch_size=4),
                    again_and_again(DataLoader(Squares(), batch_size=2))):
        print(digest(b))
        model.step(a)


def zipped_with_an_overflow():
    """The last step of the first pass is left out, as a scaler of gradients does."""
    model = Model()
    for epoch in range(2):
        for i, (a, b) in enumerate(zip(*(DataLoader(Squares(), batch_size=n) for n in (4, 2)))):
            print(digest(a), digest(b))
            if (epoch, i) != (0, 7):
                model.optimizer.step()


def checked_without_no_grad():
    model = Model()
    for batch in DataLoader(Squares(100), batch_size=100):
        print("check", digest(batch))
    for batch in DataLoader(Squares(40), batch_size=4):
        model.step(batch)


def accumulated():
    model = Model()
    for i, batch in enumerate(DataLoader(Squares(), batch_size=2)):
        print(digest(batch))
        if i % 4 == 3:
            model.optimizer.step()


def passes_in_a_row():
    """One step for all of their batches."""
    model = Model()
    for count in (4, 2, 1):
        for batch in DataLoader(Squares(4 * count), batch_size=count):
            print(digest(batch))
    model.optimizer.step()


def accumulated_over_passes():
    model = Model()
    for _ in range(3):
        for batch in DataLoader(Squares(200), batch_size=4):
            print(digest(batch))
        model.optimizer.step()


def sanity_check():
    model = Model()
    with torch.no_grad():
        for _, batch in zip(range(2), DataLoader(Squares(), batch_size=8)):
            print(digest(batch))
    batches = iter(DataLoader(Squares(), batch_size=4))
    ahead = next(batches)
    for batch in batches:
        model.step(ahead)
        ahead = batch
    model.step(ahead)


def cycled(loader=None):
    model = Model()
    loader = loader or DataLoader(Squares(), batch_size=4)
    for batch in itertools.islice(itertools.cycle(loader), 100):
        model.step(batch)


def cycled_workers():
    cycled(DataLoader(Squares(), batch_size=4, **workers()))


def kept():
    train(list(DataLoader(Squares(), batch_size=4)), epochs=5)


def stays():
    """Overfits one batch."""
    model = Model()
    batch = next(iter(DataLoader(Squares(), batch_size=4, **workers())))
    for _ in range(60):
        time.sleep(0.001)
        model.step(batch)


def stays_on_each():
    """Many steps on each batch, as on the rollouts of an agent."""
    model = Model()
    for batch in DataLoader(Squares(12), batch_size=4):
        for _ in range(30):
            model.step(batch)


def several_steps_per_batch():
    model = Model()
    for batch in DataLoader(Squares(), batch_size=4):
        for _ in range(10):
            model.step(batch)


def gan():
    generator, discriminator = Model(), Model()
    for _ in range(2):
        for batch in DataLoader(Squares(), batch_size=4):
            discriminator.step(batch)
            generator.step(batch)


def gan_cycled():
    """With two steps of the discriminator for one of the generator."""
    generator, discriminator = Model(), Model()
    batches = itertools.cycle(DataLoader(Squares(), batch_size=4))
    for _ in range(40):
        for _ in range(2):
            discriminator.step(next(batches))
        generator.optimizer.step()


def own_iterators():
    class Above(DataLoader):
        def _get_iterator(self):
            return super()._get_iterator()

    class Instead(DataLoader):
        def _get_iterator(self):
            return torch.utils.data.dataloader._SingleProcessDataLoaderIter(self)

    for cls in (Above, Instead):
        train(cls(Squares(), batch_size=4))


def inference():
    train(DataLoader(Squares(), batch_size=4), optimize=False)


def no_optimizer():
    for batch in DataLoader(Squares(400), batch_size=4):
        print(digest(batch))


def early_break():
    model = Model()
    for _ in range(3):
        for i, batch in enumerate(DataLoader(Squares(), batch_size=4, **workers())):
            model.step(batch)
            if i == 2:
                break


def left_batch():
    """The loop gets a batch more than it trains on, each time."""
    model = Model()
    for _ in range(2):
        for i, batch in enumerate(DataLoader(Squares(), batch_size=4, **workers())):
            if i == 3:
                break
            model.step(batch)


def threads():
    def one():
        for batch in DataLoader(Squares(), batch_size=8):
            got.append(digest(batch))

    got = []
    running = [threading.Thread(target=one) for _ in range(4)]
    [t.start() for t in running]
    [t.join() for t in running]
    print(sorted(got))


def trained_in_threads():
    def one(count):
        model = Model()
        for _ in range(2):
            for _ in DataLoader(SlowToLoad(count, 0.0005), batch_size=4, **workers(1)):
                model.optimizer.step()
                time.sleep(0.001)

    running = [threading.Thread(target=one, args=(count,)) for count in (32, 64)]
    [t.start() for t in running]
    [t.join() for t in running]


def shared_by_threads():
    """Each batch goes to one of them, which trains on it."""
    batches = iter(DataLoader(SlowToLoad(128, 0.0005), batch_size=4))
    lock = threading.Lock()
    got = []

    def one():
        optimizer = Model().optimizer
        while True:
            with lock:
                batch = next(batches, None)
            if batch is None:
                return
            time.sleep(0.004)
            optimizer.step()
            got.append(digest(batch))

    running = [threading.Thread(target=one) for _ in range(3)]
    [t.start() for t in running]
    [t.join() for t in running]
    print(sorted(got))


def in_a_generator():
    def batches():
        for batch in DataLoader(Squares(), batch_size=4, **workers()):
            yield batch

    train(batches(), epochs=1)
    model = Model()
    left = batches()
    for _ in range(3):
        model.step(next(left))
    left.close()
    train(batches(), epochs=1)


class Uneven:
    """A collate function, of which every fourth batch fails."""

    def __call__(self, batch):
        time.sleep(0.001)
        if batch[0] % 4 == 0 and batch[0]:
            raise KeyError(batch[0])
        return batch


def collate_fails():
    model = Model()
    for count in (0, 1):
        for _ in range(3):
            batches = iter(DataLoader(Plain(64), batch_size=4, num_workers=count,
                                      sampler=[i // 4 for i in range(64)], collate_fn=Uneven()))
            failed = []
            while True:
                try:
                    model.step(next(batches))
                except StopIteration:
                    break
                except KeyError as error:
                    failed.append((len(str(error)) > 0, sys.getprofile(), sys.gettrace()))
            print(failed)
    for _ in range(20):
        try:
            list(DataLoader(Plain(), batch_size=4, sampler=[1] * 12 + [8] * 4, collate_fn=Uneven()))
        except KeyError:
            print(sys.getprofile(), sys.gettrace())


class Plain(Squares):
    def __getitem__(self, index):
        return index


class Locked(Squares):
    """Its workers share a lock. However late one starts, the first to have the lock keeps it until all
    have asked for it."""

    def __init__(self, count=32):
        super().__init__(count)
        self.lock = multiprocessing.get_context(METHOD).Lock()
        self.asked = multiprocessing.RawArray("b", 2)

    def ask(self):
        info = get_worker_info()
        if info is not None:
            self.asked[info.id] = 1

    def use(self):
        while get_worker_info() is not None and not all(self.asked):
            time.sleep(0.001)
        time.sleep(0.003)

    def __getitem__(self, index):
        self.ask()
        with self.lock:  # of all workers
            self.use()
        return index


class Acquired(Locked):
    def __init__(self):
        super().__init__()
        self.again = multiprocessing.get_context(METHOD).RLock()
        self.many = multiprocessing.get_context(METHOD).Semaphore(2)

    def __getitem__(self, index):
        self.ask()
        self.lock.acquire()
        try:
            self.use()
        finally:
            self.lock.release()
        while not self.again.acquire(timeout=0.001):
            pass
        with self.again, self.again, self.many:
            time.sleep(0.001)
        self.again.release()
        return index


class Unlocked(Locked):
    def __getitem__(self, index):
        return index


def locked():
    train(DataLoader(Locked(), batch_size=4, **workers()))


def locked_zero():
    train(DataLoader(Locked(), batch_size=4))


def acquired():
    train(DataLoader(Acquired(), batch_size=4, **workers()))


def fails_in_a_lock():
    class FailsLocked(Locked):
        def __getitem__(self, index):
            with self.lock:
                time.sleep(0.002)
                if index == 13:
                    raise KeyError("no element 13")
            return index

    train(DataLoader(FailsLocked(), batch_size=4, **workers(1)))


def locks():
    """What a lock is to who looks at it."""
    context = multiprocessing.get_context(METHOD)
    for make in (context.Lock, context.RLock, context.Semaphore, context.BoundedSemaphore):
        lock = make()
        print(sorted(vars(lock)), hasattr(lock, "held"), type(lock.acquire).__name__)
        print(lock.acquire(), lock.acquire(False), lock.acquire(True, 0.01), lock)
        print(lock.release(), callable(lock.__enter__), type(lock).__mro__[-2].__name__)
        for bad in (lambda: lock.acquire(1, 2, 3), lambda: [lock.release() for _ in range(3)],
                    lambda: lock.__exit__()):
            try:
                print(bad())
            except Exception as error:
                print(type(error).__name__, error)
    with context.Condition() as condition:
        print(condition.wait(0.01))
    train(DataLoader(Unlocked(), batch_size=4, **workers()))


def methods():
    """The default start method, as the job sets it."""
    multiprocessing.set_start_method(METHOD)
    train(DataLoader(Squares(), batch_size=4, num_workers=2))
    print(multiprocessing.get_start_method())


def daemons():
    """A daemon that trains, too, and outlives the process that started it."""
    train(DataLoader(Squares(8), batch_size=4))
    sys.stdout.flush()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(3, 100)
            os.chdir("/")
            train(DataLoader(Squares(16), batch_size=4))
            sys.stdout.flush()
        os._exit(0)
    os.wait()


def many_threads():
    for _ in range(60):
        t = threading.Thread(target=lambda: list(DataLoader(Squares(4), batch_size=2)))
        t.start()
        t.join()
    print(len(os.listdir("/proc/self/fd")) < 40)


def failing():
    train(DataLoader(Failing(), batch_size=4, **workers(1)))


def failing_zero():
    train(DataLoader(Failing(), batch_size=4))


def killed():
    try:
        for _ in DataLoader(Killed(), batch_size=4, **workers()):
            pass
    except RuntimeError as error:
        print("died", "exited unexpectedly" in str(error) or "killed by signal" in str(error))


def closes_all():
    loader = DataLoader(Squares(), batch_size=4)
    model = Model()
    for i, batch in enumerate(loader):
        model.step(batch)
        if i == 1:
            os.closerange(3, 200)
            mine = [open(os.devnull, "w") for _ in range(20)]
    print("still open", sum(not f.closed for f in mine))
    for f in mine:
        f.write("x")
        f.flush()


def changes_folder():
    os.chdir("/")
    train(DataLoader(Squares(), batch_size=4, **workers()))


def execs():
    if "again" not in sys.argv:
        for batch in DataLoader(Squares(), batch_size=4):
            print(digest(batch))
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), "execs", METHOD, "again"])
    train(DataLoader(Squares(8), batch_size=4))


def forks():
    train(DataLoader(Squares(8), batch_size=4))
    sys.stdout.flush()
    if os.fork() == 0:
        train(DataLoader(Squares(8), batch_size=4))
        sys.stdout.flush()
        os._exit(0)
    os.wait()


def patched():
    """Another tool's patches, put on and taken off again."""
    plain = DataLoader.__init__, DataLoader.__iter__

    def init(self, *args, **kwargs):
        plain[0](self, *args, **kwargs)

    DataLoader.__init__ = init
    train(DataLoader(Squares(8), batch_size=4), epochs=1)
    DataLoader.__init__, DataLoader.__iter__ = plain
    train(DataLoader(Squares(8), batch_size=4), epochs=1)


class Shared(Squares):
    def __getitem__(self, index):
        total = 0

        def add():
            nonlocal total
            total += index
            seen.add(sys.getprofile())

        seen.add(sys.getprofile())
        thread = threading.Thread(target=add)
        thread.start()
        thread.join()
        return total


seen = set()


def beside():
    """No fetch calls this one."""
    count = 0

    def add():
        nonlocal count
        count += 1

    add()


def shared_variables():
    train(DataLoader(Shared(), batch_size=2))
    print(seen)


def profiled():
    calls = []
    sys.setprofile(lambda *a: calls.append(1))
    train(DataLoader(Squares(), batch_size=4))
    sys.setprofile(None)
    print(bool(calls))


def warned():
    class Short(Squares):
        too_short = True

    for batch in DataLoader(Short(), batch_size=4):
        warnings.warn("from the job")


def looks_around():
    import inspect

    print(sys.path[:1] == [os.path.dirname(os.path.abspath(__file__))],
          [p for p in sys.path if "shim" in p])
    print(inspect.signature(DataLoader.__init__), inspect.signature(DataLoader))
    loader = DataLoader(Squares(), batch_size=4)
    print(sorted(vars(loader)))
    print(random.random() < 2, sys.getprofile(), sys.gettrace(), sys.dont_write_bytecode)
    try:
        import sitecustomize
        print(getattr(sitecustomize, "MARK", None))
    except ImportError as error:
        print(error)


def endless():
    model = Model()
    for i, batch in enumerate(DataLoader(Squares(10**6), batch_size=4, **workers())):
        model.step(batch)
        if i == 20:
            open(os.environ["READY"], "w").close()


def interrupted():
    model = Model()
    for i, batch in enumerate(DataLoader(Straggling(), batch_size=4, **workers())):
        model.step(batch)
        if i == 1:
            threading.Timer(0.1, lambda: os.kill(os.getpid(), 2)).start()
            sys.stdout.flush()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
