"""What `stallscope run` puts into the Python processes of a job.

`start` costs a Python that imports no framework less than 2 ms; the rest of the package is imported
when a framework is. Standard library only, Python 3.8 and later.

    session   who this process is, and the file that names what its rings refer to
    ring      where a thread writes its events
    imports   calls back when a module has been imported
    watch     sees a method being called, or a field being used, without standing in the call chain
    loaders   identity, settings and stages of the job's DataLoaders
    steps     the trainer's steps, told from evaluation
    data      PyTorch's DataLoader, in the process that iterates over it
    worker    fetching a batch, there or in a worker, and what else a worker does
    digest    what the trainer got, as one number, in a run that asks for it
    ops       names for what a data set does inside of a fetch
    tensorflow  tf.data, in Keras's fit and in loops of the job's own
    profile   windows of the framework's profiler
    profilers those of TensorFlow, JAX and PyTorch

The rule of every hook: catch your own errors, say once what is not seen, stand back. The job's
tracebacks, warnings, output and batches stay as they are.
"""


def start(folder):
    from . import imports, session

    session.start(folder)
    imports.call("torch.utils.data.dataloader", _data)
    imports.call("torch.optim.optimizer", _optimizer)
    imports.call("tensorflow.python.data.ops.dataset_ops", _datasets)
    imports.call("tensorflow.python.data.ops.iterator_ops", _iterators)
    for name in ("keras.src.backend.tensorflow.trainer", "tf_keras.src.engine.training"):
        imports.call(name, _keras)
    imports.call("jax", _jax)
    for name in ("grain", "nvidia.dali"):
        imports.call(name, _unknown)


def _data(module):
    from . import data

    data.attach(module)


def _optimizer(module):
    from . import steps

    steps.attach(module)


def _datasets(module):
    from . import tensorflow

    tensorflow.attach_datasets(module)


def _iterators(module):
    from . import tensorflow

    tensorflow.attach_iterators(module)


def _keras(module):
    from . import tensorflow

    tensorflow.attach_keras(module)


def _jax(module):
    from . import profile, profilers

    profile.windows.use(profilers.of_jax)


def _unknown(module):
    from . import session

    session.say("the loaders of " + module.__name__ + " are not seen, only those of PyTorch")
