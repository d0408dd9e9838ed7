"""What `stallscope run` puts into the Python processes of a job.

`start` costs a Python that imports no framework less than 2 ms; the rest of the package is imported
when a framework is. Standard library only, Python 3.8 and later.

    session   who this process is, and the file that names what its rings refer to
    ring      where a thread writes its events
    imports   calls back when a module has been imported
    watch     sees a method being called, or a field being used, without standing in the call chain
    loaders   identity, settings and stages of the job's DataLoaders
    call_site the call that constructs a loader, as it is written
    steps     the trainer's steps, told from evaluation
    data      PyTorch's DataLoader, in the process that iterates over it
    worker    fetching a batch, there or in a worker, and what else a worker does
    digest    what the trainer got, as one number, in a run that asks for it
    ops       names for what a data set does inside of a fetch

The rule of every hook: catch your own errors, say once what is not seen, stand back. The job's
tracebacks, warnings, output and batches stay as they are.
"""


def start(folder):
    from . import imports, session

    session.start(folder)
    imports.call("torch.utils.data.dataloader", _data)
    imports.call("torch.optim.optimizer", _optimizer)
    for name in ("tensorflow", "grain", "nvidia.dali"):
        imports.call(name, _unknown)


def _data(module):
    from . import data

    data.attach(module)


def _optimizer(module):
    from . import steps

    steps.attach(module)


def _unknown(module):
    from . import session

    session.say("the loaders of " + module.__name__ + " are not seen, only those of PyTorch")
