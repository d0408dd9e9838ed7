#!/usr/bin/env python3
"""Runs the code of recommendations: advice_runs.py tf.data|pytorch ADVICE.json

ADVICE.json is a list of {"id": ..., "code": ...}. Each snippet runs in a small program that has the
mistake, and its result (the pipeline's graph, the loader's settings) must be as the advice says. A snippet
without a check here is an error. Code that needs a GPU, or a newer framework, is only compiled, and listed.
Exits 77 without the framework.
"""
import itertools
import json
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


class Cannot(Exception):
    """Why a snippet cannot run here."""


def stages_of(ds):
    """The class names of a tf.data pipeline, starting with the source."""
    chain = []
    while ds is not None:
        chain.append(ds)
        inputs = ds._inputs()
        ds = inputs[0] if inputs else None
    return [type(stage).__name__.lstrip("_") for stage in reversed(chain)]


def tensorflow():
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    tf.autograph.set_verbosity(0)
    folder = tempfile.mkdtemp()
    values = tf.data.Dataset.range(64)
    image = tf.io.encode_jpeg(tf.zeros([32, 32, 3], tf.uint8))
    for shard in range(2):
        with tf.io.TFRecordWriter(f"{folder}/data-{shard}.tfrecord") as writer:
            for _ in range(4):
                writer.write(b"record")
    os.chdir(folder)

    def work(x):
        return x

    def generator(part):
        yield from range(int(part) * 4, int(part) * 4 + 4)

    def model():
        return tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(2)])

    def example():
        return tf.train.Example(
            features=tf.train.Features(
                feature={"x": tf.train.Feature(int64_list=tf.train.Int64List(value=[1]))}))

    scope = {
        "tf": tf, "ds": values, "files": tf.data.Dataset.range(8), "rank": 0, "batch_size": 8,
        "buffer_size": 16, "variants": 2, "data": image, "image": tf.zeros([8, 8, 3], tf.uint8),
        "images": tf.zeros([2, 8, 8, 3], tf.uint8), "top": 0, "left": 0, "height": 8, "width": 8,
        "examples": [example()], "make_model": model, "model": model(), "loss": "mse",
        "optimizer": tf.keras.optimizers.SGD(), "strategy": tf.distribute.get_strategy(),
        "signature": tf.TensorSpec([], tf.int64), "learning_rate": 0.1, "size": (4, 4),
        "mean": 0.5, "std": 0.25,
    }
    for name in ("decode", "augment", "read", "fn", "first_fn", "norm", "batch", "shuffle", "wide",
                 "cheap", "first", "second", "parse", "stage", "call", "cache", "function_of_tensors"):
        scope.setdefault(name, work)

    def has(name, **settings):
        def check(after, code):
            ds = after["ds"]
            names = stages_of(ds)
            assert any(name in stage for stage in names), f"{name} is not in {names}"
            for _ in itertools.islice(ds, 2):
                pass
        return check

    def option(read):
        return lambda after, code: read(after["ds"].options()) or fail("the option is not set")

    def fail(text):
        raise AssertionError(text)

    def policy(after, code):
        wanted = "mixed_bfloat16" if "mixed_bfloat16" in code else "mixed_float16"
        found = tf.keras.mixed_precision.global_policy().name
        tf.keras.mixed_precision.set_global_policy("float32")
        assert found == wanted, found

    def scaled(after, code):
        assert type(after["optimizer"]).__name__ == "LossScaleOptimizer"
        assert float(after["optimizer"].initial_scale) > 0

    def step(after, code):
        # Two shapes: the function must take both.
        for size in (2, 3):
            after["train_step"](tf.zeros([size, 4]), tf.zeros([size]))
        assert after["train_step"]._jit_compile == ("jit_compile=True" in code or None)

    def traced_once(after, code):
        step(after, code)
        assert after["train_step"].experimental_get_tracing_count() == 1

    def widens(after, code):
        result = after["model"](tf.zeros([2, 8, 8, 3], tf.uint8))
        assert result.shape[0] == 2 and "Rescaling" in type(after["model"].layers[-2]).__name__ + \
            " ".join(type(layer).__name__ for layer in after["model"].layers)

    def has_layers(after, code):
        names = [type(layer).__name__ for layer in after["model"].layers[:-1]]
        assert names and all("layers." + name in code for name in names), names
        assert after["model"](tf.zeros([2, 8, 8, 3], tf.uint8)).shape[0] == 2

    def pixels(after, code):
        value = after.get("image")
        assert value is not None and value.shape[-1] == 3

    def smaller(after, code):
        assert after["image"].shape[0] < 32, after["image"].shape

    def floats(after, code):
        assert after["image" if "image =" in code else "images"].dtype == tf.float32

    def compiled(after, code):
        assert after["model"].steps_per_execution == 50 if hasattr(
            after["model"], "steps_per_execution") else after["model"]._steps_per_execution

    def batches(after, code):
        sizes = [int(batch.shape[0]) for batch in itertools.islice(after["ds"], 1)]
        # A trace may not say how many they are: then the advice leaves the number to the user.
        assert sizes and (f"{sizes[0]}" in code or "batch_size" in code), (sizes, code)
        if "num_parallel_calls" in code:
            assert any("ParallelBatch" in name for name in stages_of(after["ds"]))

    def per_replica(after, code):
        assert after["options"].experimental_per_replica_buffer_size > 1

    def strategy(after, code):
        assert after["strategy"].num_replicas_in_sync >= 1

    def accumulates(after, code):
        batches(after, code)
        wanted = int(code.split("gradient_accumulation_steps=")[1].split(")")[0])
        assert after["optimizer"].gradient_accumulation_steps == wanted

    def bucketed(after, code):
        assert any("GroupByWindow" in name for name in stages_of(after["ds"])), stages_of(after["ds"])
        assert all(tokens.shape[1] for tokens, _ in after["ds"])

    def kept(after, code):
        has("Snapshot" if ".snapshot(" in code else "Cache")(after, code)

    def records(after, code):
        assert sum(1 for _ in after["ds"]) > 0

    checks = {
        "autotune": has("Prefetch"), "batch-size": batches, "bucket-by-length": bucketed, "cache": has("Cache"),
        "cache-place": kept, "captured-graph": step, "decode-crop": pixels,
        "decode-scaled": smaller, "drop-remainder": batches, "eager-ops": step,
        "idle-device": strategy, "kernel-fusion": step, "late-cast": floats, "loss-scale": scaled,
        "map-and-batch": batches, "map-fusion": has("ParallelMap"), "map-parallelism":
        has("ParallelMap"), "mixed-precision": policy, "narrow-dtype": widens, "order":
        has("ParallelMap"), "parallel-reads": has("ParallelInterleave"), "precomputed-augmentation":
        records, "record-format": records, "redundant-work": floats, "retracing": traced_once,
        "serial-source": has("ParallelInterleave"), "sharding": has("Shard"),
        "shuffle-buffer": has("Shuffle"), "shuffle-place": has("ParallelMap"),
        "snapshot": has("Snapshot"), "stragglers": option(lambda o: o.deterministic is False),
        "strategy": strategy, "sync-points": compiled, "vectorise": has("ParallelMap"),
        "device-preprocessing": has_layers, "warm-up": traced_once,
        "block-length": has("ParallelInterleave"), "slow-shard": has("ParallelInterleave"),
    }

    def check_of(id, code):
        if "gradient_accumulation_steps" in code:
            return accumulates
        if "function_of_tensors" in code:
            return has("ParallelMap")
        if id == "prefetch" or id == "copy-overlap" or id == "memory-risk":
            if "per_replica" in code:
                return per_replica
            if "prefetch_to_device" in code:
                raise Cannot("needs a GPU")
            if "policy" in code:
                return policy
            for word, name in (("prefetch", "Prefetch"), ("shuffle", "Shuffle"), ("cache", "Cache"),
                               ("batch", "Batch")):
                if "." + word in code:
                    return has(name)
        return checks.get(id)

    def prepared(id, code):
        own = dict(scope)
        own["model"] = model()
        if id == "serial-source":
            for name in ("read", "decode", "fn"):
                own[name] = generator if "from_generator" in code else own[name]
        if "train_step(images, labels): ..." in code:
            code = code.replace("...", "return tf.reduce_sum(images)")
        if id == "copy-overlap" or "distribute.InputOptions" in code:
            own["ds"] = values.batch(2)
        if id == "bucket-by-length":
            own["ds"] = values.map(lambda n: (tf.range(n % 50 + 1), n))
        if id == "precomputed-augmentation":
            code = code.replace("/path/to", folder)
        return own, code.replace("/path/to", folder)

    return check_of, prepared


def pytorch():
    import torch
    from torch.utils.data import DataLoader

    folder = tempfile.mkdtemp()
    os.chdir(folder)
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])

    class Numbers(torch.utils.data.Dataset):
        def __init__(self, count=64):
            self.count = count

        def __len__(self):
            return self.count

        def __getitem__(self, index):
            if index >= self.count:
                raise IndexError
            return torch.full((3,), float(index)), index

        def map(self, function):
            mapped = Numbers(self.count)
            mapped.function = function
            return mapped

    def value(x, **_):
        return torch.full((3,), float(x)) if isinstance(x, int) else x

    def numbers(part=0, parts=1):
        return iter(range(part, 16, parts))

    def criterion(a, b):
        return (a - b).square().mean()

    class Recorded:
        """Records the settings of a DataLoader; nothing starts."""
        last = None

        def __init__(self, *args, **settings):
            made = DataLoader(*args, **settings)
            Recorded.last = made
            self.__dict__.update(made.__dict__)
            self.made = made

        def __iter__(self):
            return iter(self.made)

    gpu = torch.cuda.is_available()
    model = torch.nn.Linear(3, 3)
    scope = {
        "torch": torch, "DataLoader": Recorded, "dataset": Numbers(), "batch_size": 4,
        "num_workers": 2, "device": "cpu", "rank": 0, "model": model, "criterion": criterion,
        "images": torch.zeros(2, 3, 8, 8), "labels": torch.zeros(2, 3), "shape": (3,), "step": 50,
        "loss": torch.zeros(()), "batch": [torch.zeros(2), torch.ones(3)],
        "sampler": torch.utils.data.SequentialSampler(Numbers()), "local_rank": "cpu",
        "mean": [0.5] * 3, "std": [0.5] * 3, "collections": __import__("collections"), "loader": [],
        "items": list(range(16)), "size": 8, "total": 0.0, "train_step": lambda *_: None, "random": __import__("random"),
        "pad": lambda samples: torch.nn.utils.rnn.pad_sequence([tokens for tokens, _ in samples]),
    }
    for name in ("decode", "augment", "read", "fn", "first_fn", "norm", "batch_", "wide", "cheap",
                 "first", "second", "call", "stage"):
        scope.setdefault(name, value)

    def loads(**wanted):
        def check(after, code):
            made = Recorded.last
            for name, value in wanted.items():
                found = getattr(made, name)
                assert (found == value if not callable(value) else value(found)), (name, found)
            assert made.num_workers or next(iter(made)) is not None
        return check

    more = lambda count: count >= 1

    def packed(after, code):
        assert [part.numel() for part in after["parts"]] == [2, 3]
        assert all(part.is_cuda for part in after["parts"])
        assert after["parts"][1].tolist() == [1.0] * 3

    def on_device(name):
        def check(after, code):
            loads(pin_memory=True)(after, code)
            copied = after.get(name, after["images"])
            assert copied.is_cuda == gpu and copied.tolist() == torch.zeros(2, 3).tolist()
            assert not gpu or next(iter(Recorded.last))[0].is_pinned()
        return check

    def accumulates(after, code):
        sizes(after, code)
        steps = int(next(iter(after["optimizer"].state.values()))["step"])
        assert steps == len(Recorded.last) // int(code.split(" % ")[1].split()[0]), steps

    def written(after, code):
        batch = next(iter(Recorded.last))
        assert batch.shape[1:] == (3,) and batch[1].tolist() == [1.0] * 3, batch

    def scaler(after, code):
        assert isinstance(after["scaler"], torch.amp.GradScaler)

    def floats(after, code):
        assert after["images"].dtype == torch.float32

    def sizes(after, code):
        assert str(Recorded.last.batch_size) in code

    def ends(after, code):
        if "prefetch_factor" in code:
            return loads(prefetch_factor=more)(after, code)
        if "collections" in code:
            return None
        if "total" in code:
            assert isinstance(after["total"], float)
            return None
        if "autocast" in code:
            assert after["loss"].requires_grad
            return None
        if "torch.load" in code:
            assert after["images"].shape[0] == 2
            return None
        if "backward()" in code:
            return accumulates(after, code)
        if "batch_size=" in code:
            return sizes(after, code)
        return loads(batch_size=4)(after, code)

    def webdataset(after, code):
        assert os.path.exists("data-00000.tar")
        assert "cls" in next(iter(after["dataset"]))

    def divided(after, code):
        seen = [int(each[0]) for batch in Recorded.last for each in batch]
        assert sorted(seen) == after["items"], seen

    def sharded(after, code):
        if "get_worker_info" in code:
            return divided(after, code)
        if "num_shards" not in code:
            return loads(sampler=lambda s: s.num_replicas > 1)(after, code)
        assert f"num_shards={after['data'].num_shards})" in code
        after["writer"].close()

    def exchanged(after, code):
        model = after["model"]
        assert isinstance(model, torch.nn.parallel.DistributedDataParallel)
        assert model.gradient_as_bucket_view
        assert model.reductions == 0 and model.module.weight.grad is not None
        model(after["images"]).sum().backward()
        assert model.reductions > 0

    def count_reductions(model):
        def reduce(_, bucket):
            model.reductions += 1
            done = torch.futures.Future()
            done.set_result(bucket.buffer())
            return done

        model.reductions = 0
        model.register_comm_hook(None, reduce)

    def on_accelerator(after, code):
        names = [type(each).__name__ for each in after["on_device"].transforms]
        assert names and all("v2." + name in code for name in names)
        assert after["images"].dtype == torch.float32

    def transforms(after, code):
        assert any(word in code for word in ("Compose", "ToDtype", "Resize"))

    checks = {
        "batch-size": sizes, "bucket-by-length":
        loads(batch_sampler=lambda s: sum(map(len, s)) == 64), "drop-remainder": loads(drop_last=True), "copy-size": packed,
        "map-and-batch": written, "map-fusion": lambda after, code: after["dataset"].function(1),
        "map-parallelism": loads(num_workers=more), "loader-workers": loads(num_workers=more),
        "parallel-reads": loads(num_workers=more), "persistent-workers":
        loads(persistent_workers=True, num_workers=more), "prefetch": ends, "memory-risk": ends,
        "order": loads(in_order=False), "stragglers": loads(in_order=False),
        "sharding": sharded, "shuffle-buffer":
        loads(sampler=lambda s: type(s).__name__ == "RandomSampler"),
        "serial-source": loads(num_workers=more), "transport":
        loads(collate_fn=lambda f: f([(torch.zeros(3), 1)])[0].shape == (1, 3)),
        "cache": lambda after, code: after["dataset"][1][0].shape == (3,) or None,
        "cache-place": lambda after, code: after["dataset"][1][0].shape == (3,) or None,
        "warm-up": lambda *_: None,
        "snapshot": lambda after, code: after["images"].shape[0] == 64,
        "precomputed-augmentation": lambda after, code: after["images"].shape[0] == 64,
        "vectorise": lambda after, code: after["Batched"], "narrow-dtype": floats,
        "mixed-precision": scaler, "loss-scale": scaler, "sync-points": lambda *_: None,
        "late-cast": transforms, "redundant-work": transforms, "device-preprocessing": on_accelerator,
        "decode-scaled": lambda after, code: after["image"].width < 64,
        "eager-ops": lambda *_: None, "kernel-fusion": lambda *_: None, "retracing": lambda *_: None,
        "captured-graph": lambda *_: None, "pinned-memory": on_device("images"),
        "copy-overlap": on_device("ahead"), "strategy": exchanged,
        "idle-device": lambda *_: None, "record-format": webdataset, "slow-shard": loads(in_order=False),
    }
    newer = {"order": (2, 6), "stragglers": (2, 6), "slow-shard": (2, 6), "mixed-precision": (2, 3), "loss-scale": (2, 3),
             "eager-ops": (2, 0), "kernel-fusion": (2, 0), "retracing": (2, 0), "warm-up": (2, 0),
             "captured-graph": (2, 0), "late-cast": (2, 0), "redundant-work": (2, 0),
             "device-preprocessing": (2, 0), "map-and-batch": (2, 0), "snapshot": (2, 1),
             "precomputed-augmentation": (2, 1)}
    on_gpu = ("torch.cuda.", "pin_memory()", "device_ids=", "mode=\"reduce-overhead\"")

    # Row 14 runs on a GPU where there is one; the others are about its host.
    copies = ("pinned-memory", "copy-overlap", "copy-size")

    def check_of(id, code):
        if any(word in code for word in on_gpu) and not (gpu and id in copies):
            raise Cannot("needs a GPU")
        old = ("mmap=True" in code and version < (2, 1)) or ("autocast" in code and version < (2, 3))
        if old or version < newer.get(id, (0, 0)):
            raise Cannot(f"needs a newer torch than {torch.__version__}")
        if "v2" in code:
            try:
                import torchvision.transforms.v2  # noqa: F401
            except ImportError:
                raise Cannot("needs torchvision") from None
        return checks.get(id)

    def prepared(id, code):
        own = dict(scope)
        own["model"] = torch.nn.Linear(3, 3)
        own["images"] = torch.zeros(2, 3) if id != "device-preprocessing" else scope["images"]
        own["optimizer"] = torch.optim.SGD(own["model"].parameters(), 0.1)
        if "v2" in code:
            from torchvision.transforms import v2
            own["v2"] = v2
        if gpu and id in copies:
            own.update(device="cuda", local_rank=0, copies=torch.cuda.Stream())
        if id == "copy-overlap":
            own["images"] = own["images"].pin_memory() if gpu else own["images"]
        if id == "narrow-dtype":
            own["images"] = torch.zeros(2, 3, dtype=torch.uint8)
        if id == "precomputed-augmentation":
            own.update(epoch=5, augment=lambda image: torch.zeros(3) + image)
        if id == "sharding":
            own["rank"] = 0
        if "num_shards" in code:
            try:
                own["wds"] = __import__("webdataset")
                own["dataset"] = __import__("datasets").Dataset.from_dict({"x": list(range(16))})
            except ImportError:
                raise Cannot("needs datasets and webdataset") from None
            own["samples"] = 16
        if id == "strategy":
            if not torch.distributed.is_available():
                raise Cannot("needs a torch with torch.distributed")
            if not torch.distributed.is_initialized():
                torch.distributed.init_process_group(
                    "gloo", rank=0, world_size=1, init_method=f"file://{folder}/group")
            code = code.replace("\nwith model", "\ncount_reductions(model)\nwith model")
            own["count_reductions"] = count_reductions
        if id == "serial-source":
            for name in ("read", "decode"):
                own[name] = numbers
        if id == "record-format":
            try:
                own["wds"] = __import__("webdataset")
            except ImportError:
                raise Cannot("needs webdataset") from None
            import PIL.Image
            PIL.Image.new("RGB", (8, 8)).save("image.jpg")
            own["dataset"] = type("Folder", (), {"samples": [("image.jpg", 1)] * 4})
            code = code.replace("data-{00000..00009}.tar", "data-00000.tar")
        if id == "slow-shard":
            own.update(files=[0, 1], read=numbers)
        if id in ("cache", "cache-place"):
            own["labels"] = torch.zeros(64)
        if id == "memory-risk" and "backward()" in code:
            own["dataset"] = torch.utils.data.TensorDataset(torch.ones(64, 3), torch.zeros(64, 3))
            own["optimizer"] = torch.optim.Adam(own["model"].parameters(), 0.1)
        if "cache.pt" in code:
            torch.save(torch.zeros(2), "cache.pt")
        if id == "decode-scaled":
            import PIL.Image
            PIL.Image.new("RGB", (64, 64)).save("image.jpg")
            own.update(PIL=PIL, file="image.jpg")
        if id == "map-and-batch":
            code = code.replace("def __getitems__", "def __len__(self):\n        return 16\n    "
                                "def __getitems__")
        return own, code

    return check_of, prepared


def main():
    framework, path = sys.argv[1:]
    try:
        check_of, prepared = tensorflow() if framework == "tf.data" else pytorch()
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    ran, compiled, failed = 0, 0, 0
    with open(path) as text:
        advice = json.load(text)
    for one in advice:
        id, code = one["id"], one["code"]
        try:
            compile(code, id, "exec")
            check = check_of(id, code)
            assert check is not None, "no check for it"
            after, runs = prepared(id, code)
            exec(compile(runs, id, "exec"), after)
            check(after, code)
            ran += 1
        except Cannot as why:
            compiled += 1
            print(f"{id}: only compiled: {why}")
        except Exception as error:  # each snippet is its own case
            failed += 1
            print(f"{id}: {type(error).__name__}: {error}\n{code}\n")
    print(f"{framework}: {ran} ran, {compiled} compiled, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
