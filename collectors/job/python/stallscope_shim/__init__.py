"""What `stallscope run` puts into the Python processes of a job.

`start` costs a Python that imports no framework less than 2 ms; the rest of the package is imported
when a framework is. Standard library only, Python 3.8 and later.

    session   who this process is, and the file that names what its rings refer to
    ring      where a thread writes its events
    imports   calls back when a module has been imported
    watch     sees a method being called, or a field being used, without standing in the call chain
    loaders   identity, settings and stages of the job's DataLoaders
    plain     loops without a DataLoader: iterators of the job's own and of other libraries
    found     loops over iterators that nobody has named, from Python 3.12 on
    api       what the module `stallscope` does: the batches, stages and steps that a job names
    spans     such stages, while they run
    batch_size how many samples are in a batch
    call_site the call that constructs a loader, as it is written
    steps     the trainer's steps, told from evaluation
    data      PyTorch's DataLoader, in the process that iterates over it
    worker    fetching a batch, there or in a worker, and what else a worker does
    math_threads whether the job sets the number of its math library's threads
    libraries data sets of other libraries that are iterated over without a DataLoader
    nodes     torchdata.nodes
    stores    shards that MosaicML streaming and litdata download
    rewrites  settings of a re-run, for loaders other than PyTorch's
    trainers  evaluation and checkpoints of training frameworks
    digest    what the trainer got, as one number, in a run that asks for it
    ops       which batches are looked into, for what a data set does inside of a fetch
    samples   one such batch: its ops, under way and ended
    op_names  what they are named, and which calls count
    monitored their calls, on Python 3.12 and later
    profiled  before that
    sight     which code of a data set is watched
    codes     what is known of code objects
    lines     in which lines of the job's own its time goes
    pools     waits for the job's own pool
    locks     waits for locks that processes share, and how long a fetch holds them
    tensorflow tf.data, in Keras's fit and in loops of the job's own
    profile   windows of the framework's profiler
    probe     windows in which one stage at a time is slowed, in a run that asks for it
    profilers those of TensorFlow, JAX and PyTorch

The rule of every hook: catch your own errors, say once what is not recorded, stand back. The job's
tracebacks, warnings, output and batches stay as they are.
"""


def start(folder):
    from . import imports, session

    session.start(folder)
    imports.offer("stallscope", __file__[:-len("stallscope_shim/__init__.py")] + "stallscope.py")
    imports.call("torch", _torch)
    imports.call("multiprocessing.pool", _pools)
    imports.call("torch.utils.data.dataloader", _data)
    imports.call("torchdata.stateful_dataloader.stateful_dataloader", _stateful)
    imports.call("torch.optim.optimizer", _optimizer)
    imports.call("torch.autograd.profiler", _torch_profiler)
    for name in ("base_node", "_apply_udf", "map"):
        imports.call("torchdata.nodes." + name, _nodes)
    imports.call("webdataset.pipeline", _webdataset)
    imports.call("torch.serialization", _serialization)
    for name in ("streaming.base.stream", "streaming.base.dataset", "litdata.streaming.config"):
        imports.call(name, _store)
    for name in ("lightning.pytorch", "pytorch_lightning"):  # the same, by either name
        imports.call(name + ".trainer.trainer", _framework)
    for name in ("accelerate.accelerator", "transformers.trainer", "keras.src.models.model"):
        imports.call(name, _framework)
    for name in ("grain._src.python.dataset.dataset", "grain._src.python.data_loader"):
        imports.call(name, _grain)
    for name in ("pytorch", "jax", "jax.iterator", "mxnet", "paddle"):
        imports.call("nvidia.dali.plugin." + name, _dali)
    for name in ("arrow_dataset", "iterable_dataset"):
        imports.call("datasets." + name, _datasets)
    imports.call("tensorflow.python.data.ops.dataset_ops", _tf_datasets)
    imports.call("tensorflow.python.data.ops.iterator_ops", _tf_iterators)
    for name in ("keras.src.backend.tensorflow.trainer", "tf_keras.src.engine.training"):
        imports.call(name, _keras)
    imports.call("jax", _jax)
    for name in ("array", "api"):
        imports.call("jax._src." + name, _arrays)
    for name in ("tensorflow.python.data.ops.map_op", "tensorflow.python.data.ops.interleave_op"):
        imports.call(name, _rewrites)
    for name in ("grain._src.python.options", "nvidia.dali.pipeline",
                 "grain._src.python.dataset.transformations.process_prefetch"):
        imports.call(name, _options)


def _data(module):
    from . import data

    data.attach(module)


def _grain(module):
    from . import libraries

    libraries.grain(module)


def _dali(module):
    from . import libraries

    libraries.dali(module)


def _torch(module):
    from . import math_threads

    math_threads.attach(module)


def _pools(module):
    from . import pools

    pools.attach(module)


def _options(module):
    from . import libraries

    {"options": libraries.options_of_grain, "process_prefetch": libraries.processes_of_grain,
     "pipeline": libraries.pipelines_of_dali}[module.__name__.rpartition(".")[2]](module)


def _datasets(module):
    from . import libraries

    libraries.datasets(module)


def _store(module):
    from . import stores

    {"streaming.base.stream": stores.streaming, "streaming.base.dataset": stores.streaming_waits,
     "litdata.streaming.config": stores.litdata}[module.__name__](module)


def _serialization(module):
    from . import trainers

    trainers.torch(module)


def _framework(module):
    from . import trainers

    trainers.attach(module)


def _webdataset(module):
    from . import libraries

    libraries.webdataset(module)


def _rewrites(module):
    from . import session

    if session.settings().get("set"):
        from . import rewrites

        rewrites.attach(module)


def _stateful(module):
    from . import data

    data.stateful(module)


def _nodes(module):
    from . import nodes

    {"base_node": nodes.attach, "_apply_udf": nodes.attach_mapper, "map": nodes.attach_maps}[
        module.__name__.rpartition(".")[2]](module)


def _optimizer(module):
    from . import steps

    steps.attach(module)


def _tf_datasets(module):
    from . import tensorflow

    tensorflow.attach_datasets(module)


def _tf_iterators(module):
    from . import tensorflow

    tensorflow.attach_iterators(module)


def _keras(module):
    from . import tensorflow

    tensorflow.attach_keras(module)


def _torch_profiler(module):
    from . import profile, profilers

    if profile.wanted():
        profilers.jobs_torch.attach(module)


def _jax(module):
    from . import profile, profilers, session

    session.note("framework", {
        "name": "jax", "version": str(getattr(module, "__version__", None))})
    profile.windows.use(profilers.of_jax)


def _arrays(module):
    from . import found

    {"array": found.attach_arrays, "api": found.attach_waits}[
        module.__name__.rpartition(".")[2]](module)
