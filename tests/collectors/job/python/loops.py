"""Small jobs without PyTorch's DataLoader for tests, one per name. Each prints its loop's batches.

    python loops.py NAME [START_METHOD]
"""
import asyncio
import collections.abc
import concurrent.futures
import copy
import functools
import inspect
import multiprocessing
import pickle
import queue
import sys
import threading
import time
import types

import stallscope

METHOD = sys.argv[2] if len(sys.argv) > 2 else "fork"
JOBS = {}


def job(function):
    JOBS[function.__name__] = function
    return function


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def batches(count=6):
    for i in range(count):
        with stallscope.stage("read"):
            burn(0.002)
        with stallscope.stage("decode"):
            for _ in range(2):
                with stallscope.stage("resize"):
                    burn(0.001)
        yield [i] * 8


def loop(loader, step=True):
    for batch in loader:
        print(batch)
        if step:
            stallscope.step()


@job
def generator():
    loop(stallscope.loader(batches()))


class Lists:
    """An iterable of the job's own, without a length."""

    epoch = 0

    def __iter__(self):
        return iter([[self.epoch] * 4] * 3)

    def __eq__(self, other):
        return type(other) is Lists

    def __repr__(self):
        return "Lists()"


class Sized(Lists):
    def __len__(self):
        return 0

    def __getitem__(self, index):
        return [index]


@job
def passes_for_what_it_watches():
    """All that a job may ask of what it got back."""
    plain = stallscope.loader(Lists())
    sized = stallscope.loader(Sized())
    for each in (plain, sized):
        print(isinstance(each, Lists), each, str(each), bool(each), hasattr(each, "__len__"),
              isinstance(each, collections.abc.Sized), list(each))
    print(len(sized), sized[3])
    plain.epoch = 7
    print(vars(copy.copy(plain)), vars(copy.deepcopy(plain)), vars(pickle.loads(pickle.dumps(plain))))
    del plain.epoch
    print(plain.epoch)
    iterator = stallscope.loader(iter([[1], [2], [3]]))
    print(next(iterator), list(copy.copy(iterator)), list(iterator))
    generator = stallscope.loader(batches(2))
    print(inspect.isgenerator(generator), generator.__name__, next(generator), generator.close())
    loop(plain)


class Decoder:
    kind = "jpeg"

    def __init__(self):
        self.own = stallscope.stage("decode")(self.decode)

    def decode(self, x):
        return x + 1

    @stallscope.stage("decode")
    @staticmethod
    def fixed(x):
        return x + 2

    @stallscope.stage("decode")
    @classmethod
    def of_class(cls, x):
        return cls.kind, x

    def __call__(self, x):
        return x + 3


@stallscope.stage("decode")
def plainly(x):
    return x + 4


@job
def stages_of_any_callable():
    decoder = Decoder()
    for x in stallscope.loader([[1], [2]]):
        print(decoder.own(1), decoder.fixed(1), Decoder.fixed(1), decoder.of_class(1), plainly(1))

    @stallscope.stage("decode")
    async def later(x):
        return x

    @stallscope.stage("decode")
    class Kind:
        pass

    print(inspect.iscoroutinefunction(later), asyncio.run(later(5)), isinstance(Kind(), Kind))
    callable_object = stallscope.stage("augment")(Decoder())
    part = stallscope.stage("augment")(functools.partial(max, 3))
    print(isinstance(callable_object, Decoder), callable_object.kind, callable_object(1), part(1))
    for each in (callable_object, part, plainly, decoder.own, stallscope.stage("read")):
        again = pickle.loads(pickle.dumps(each))
        print(b"stallscope_shim" in pickle.dumps(each), again is not None)
        copy.deepcopy(each)


@job
def without_steps():
    loop(stallscope.loader(batches()), step=False)


@job
def yields_in_a_stage():
    def inside():
        for i in range(4):
            with stallscope.stage("open"):
                burn(0.002)
                yield [i]

    for batch in stallscope.loader(inside()):
        print(batch)
        burn(0.03)
        stallscope.step()


@job
def left_in_a_stage():
    def inside():
        while True:
            with stallscope.stage("open"):
                yield [1]

    for _ in range(2):
        for batch in stallscope.loader(inside()):
            stallscope.step()
            break
    print("left")


@job
def an_iterable():
    data = stallscope.loader([[1, 2], [3, 4]], name="pairs")
    print(len(data), data[1], data.index([3, 4]))
    for _ in range(2):
        loop(data)


@job
def many_spans():
    def elements():
        for i in range(3):
            for _ in range(100):
                with stallscope.stage("a"):
                    with stallscope.stage("b"):
                        pass
            yield [i]

    loop(stallscope.loader(elements(), samples=5))


@job
def evaluation():
    for _ in range(2):
        loop(stallscope.loader(batches(20), name="train"))
        loop(stallscope.loader(batches(20), name="test"), step=False)


@stallscope.stage("decode")
def decode(i):
    burn(0.002)
    return [i]


@stallscope.stage("numbers")
def numbers(count):
    for i in range(count):
        yield i


class Ahead:
    """A thread loads ahead of the loop."""

    def __init__(self, count):
        self.queue = queue.Queue(2)
        threading.Thread(target=self.work, args=(count,), daemon=True).start()

    def work(self, count):
        for i in range(count):
            time.sleep(0.003)
            self.queue.put(decode(i))
        self.queue.put(None)

    def __iter__(self):
        return iter(self.queue.get, None)


@job
def a_thread():
    loop(stallscope.loader(Ahead(12)))


@job
def processes():
    with multiprocessing.get_context(METHOD).Pool(2) as pool:
        loop(stallscope.loader(pool.imap(decode, numbers(12)), workers=2))


def load(i):
    time.sleep(0.003)
    return i


def save(i):
    return load(i)


def compute(i):
    burn(0.003)
    return i


def pooled(results):
    for i in range(40):
        yield results(range(4 * i, 4 * i + 4))


def submitted(pool):
    with pool:
        loop(stallscope.loader(pooled(lambda numbers: [
            future.result() for future in [pool.submit(load, i) for i in numbers]])))


def mapped(pool, function=load):
    with pool:
        loop(stallscope.loader(pooled(lambda numbers: list(pool.map(function, numbers)))))


@job
def own_pool():
    submitted(concurrent.futures.ThreadPoolExecutor(2))


@job
def own_pool_maps():
    mapped(concurrent.futures.ThreadPoolExecutor(2))


@job
def own_pool_of_processes():
    submitted(concurrent.futures.ProcessPoolExecutor(2))


@job
def own_pool_of_processes_maps():
    mapped(concurrent.futures.ProcessPoolExecutor(2))


@job
def own_thread_pool():
    from multiprocessing.pool import ThreadPool

    with ThreadPool(2) as pool:
        loop(stallscope.loader(pooled(lambda numbers: pool.map(load, numbers))))


@job
def own_pool_of_processes_iterates():
    with multiprocessing.get_context(METHOD).Pool(2) as pool:
        loop(stallscope.loader(pooled(lambda numbers: list(pool.imap(load, numbers)))))


@job
def own_pool_of_processes_applies():
    with multiprocessing.get_context(METHOD).Pool(2) as pool:
        loop(stallscope.loader(pooled(lambda numbers: [
            result.get() for result in [pool.apply_async(load, (i,)) for i in numbers]])))


def rest(i):
    """Beside other programs it would also have to wait for a core, but not for as long."""
    time.sleep(0.02)
    return i


@job
def own_pool_rests():
    mapped(multiprocessing.get_context(METHOD).Pool(2), rest)


@job
def own_threads_rest():
    mapped(concurrent.futures.ThreadPoolExecutor(2), rest)


@job
def own_pool_computes():
    mapped(multiprocessing.get_context(METHOD).Pool(2), compute)


@job
def own_threads_compute():
    mapped(concurrent.futures.ThreadPoolExecutor(2), compute)


@job
def own_pool_of_several():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        loop(stallscope.loader(pooled(lambda numbers: [
            future.result() for i in numbers for future in [pool.submit(load, i), pool.submit(save, i)]])))


@job
def short_work_ahead():
    from stallscope_shim import plain, ring

    written = []
    clock = types.SimpleNamespace(time=0, cpu=0)
    ring.now, ring.cpu = (lambda: clock.time), (lambda: clock.cpu)
    ring.mine = lambda: types.SimpleNamespace(put=lambda _, words: written.extend(words))
    ring.work = lambda stage, item, start, end, cpu: ((start // 1000, end // 1000, cpu // 1000),)
    plain.loader_of_thread = lambda: types.SimpleNamespace(fetch=1)
    maker = plain._Maker()
    maker.ops.off = True

    def work(wall, cpu, idle, times=1):
        for _ in range(times):
            maker.begin(None)
            clock.time += wall
            clock.cpu += cpu
            maker.end()
            clock.time += idle

    work(20_000, 10_000, 400_000, 3)
    print("three of 20 us:", written)
    work(2_000_000, 500_000, 0)
    print("and one of 2 ms:", written)
    del written[:]
    work(20_000, 10_000, 400_000, 13)
    print("thirteen, 5.04 ms from the first to the last:", written)


@job
def dear_to_watch():
    from stallscope_shim import ops, ring

    clock = types.SimpleNamespace(time=0)
    ring.now = lambda: clock.time
    for more in (0, 200_000_000):
        watcher = ops.Watcher(1, lambda _: None)
        ops._begin = lambda *_: types.SimpleNamespace(events=100, calls=1, lines=None)
        ops._end = lambda *_: True
        ops.shares = lambda _: False
        for _ in range(3000):
            watcher.begin(None, None)
            used = 10_000_000 + more * watcher.watched
            clock.time += used
            watcher.end()
            watcher.took(used)
        print("%d ms more: %s" % (more // 1_000_000, "many" if watcher.samples > 20 else watcher.samples))


@job
def processes_not_told():
    with multiprocessing.get_context(METHOD).Pool(2) as pool:
        loop(stallscope.loader(pool.imap(decode, numbers(12))))


@job
def processes_without_stages():
    with multiprocessing.get_context(METHOD).Pool(2) as pool:
        loop(stallscope.loader(pool.imap(sleep, range(12))))


def sleep(i):
    time.sleep(0.002)
    return [i]


@job
def trainer_stages():
    for batch in stallscope.loader(batches()):
        with stallscope.stage("forward"):
            burn(0.001)
        print(batch)
        stallscope.step()


@job
def raises():
    def bad():
        yield [1]
        raise ValueError("the third batch")

    loop(stallscope.loader(bad()))


@job
def delegates():
    iterator = stallscope.loader(batches())
    print(next(iterator), iterator.gi_frame is not None)
    iterator.close()
    print(list(iterator))


def torch_loader(workers):
    from torch.utils.data import DataLoader

    return DataLoader(list(range(32)), batch_size=4, num_workers=workers)


@job
def a_data_loader():
    data = torch_loader(0)
    loader = stallscope.loader(data)
    print(loader is data)
    loop(loader)


@job
def around_a_data_loader():
    def pairs():
        batches = iter(torch_loader(2))
        for batch in batches:
            yield batch + next(batches)

    loop(stallscope.loader(pairs()))


@job
def in_a_data_set():
    from torch.utils.data import DataLoader, Dataset

    class Data(Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, index):
            with stallscope.stage("parse"):
                burn(0.001)
            return index

    for workers in (0, 2):
        loop(DataLoader(Data(), batch_size=4, num_workers=workers))


def work(seconds):
    burn(seconds)


@stallscope.stage("resize")
def resize(i):
    work(0.001)
    return [i] * 4


@job
def stages_with_work_inside():
    def made(count):
        for i in range(count):
            with stallscope.stage("decode"):
                work(0.002)
                with stallscope.stage("inner"):
                    work(0.001)
            yield resize(i)

    loop(stallscope.loader(made(40)))


# Loops that nobody names.


def array():
    from jax._src.array import ArrayImpl

    return ArrayImpl()


def rows(count=20):
    for i in range(count):
        work(0.001)
        yield [i] * 4


def over(batches):
    for batch in batches:
        print(batch)
        array().block_until_ready()


@job
def unnamed():
    over(rows())


@job
def unnamed_epochs():
    for _ in range(3):
        for i, batch in enumerate(rows()):
            if i == 10:
                break
            float(array())
            print(i, batch)


@job
def unnamed_tree():
    import jax

    for batch in rows():
        print(batch)
        jax.block_until_ready({"w": array(), "b": array()})


class Rows:
    def __init__(self):
        self.left = 20

    def __iter__(self):
        return self

    def __next__(self):
        work(0.001)
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return [1] * 4


@job
def unnamed_next():
    source = iter(Rows())
    while True:
        try:
            batch = next(source)
        except StopIteration:
            break
        print(batch)
        array().block_until_ready()


@job
def unnamed_optimizer():
    import torch

    optimizer = torch.optim.SGD()
    for batch in rows():
        print(batch)
        optimizer.step()


@job
def at_hand():
    over(list(rows()))


@job
def raised_into():
    def bad():
        yield from rows(8)
        raise ValueError("the ninth batch")

    try:
        over(bad())
    except ValueError as error:
        print(error)
    loop(stallscope.loader(rows(3)))


if __name__ == "__main__":
    JOBS[sys.argv[1]]()
