"""What training frameworks do beside their steps: evaluation and checkpoints.

They iterate over DataLoaders, so that their batches and steps are seen already; `steps.py` tells
evaluation from training where torch records no gradients. What is left:

    checkpoint   a span of its own, whoever writes it: it is no wait for data
    evaluation   transformers' loops switch gradients off for the forward pass alone
"""
import functools
import sys

from . import loaders, ring, session, steps
from .watch import guarded

# (module that defines the class, class, method): they write a checkpoint.
_CHECKPOINTS = (
    ("lightning.pytorch.trainer.trainer", "Trainer", "save_checkpoint"),
    ("pytorch_lightning.trainer.trainer", "Trainer", "save_checkpoint"),
    ("accelerate.accelerator", "Accelerator", "save_state"),
    ("accelerate.accelerator", "Accelerator", "save_model"),
    ("transformers.trainer", "Trainer", "_save_checkpoint"),
)
_EVALUATIONS = (
    ("transformers.trainer", "Trainer", "evaluation_loop"),
    ("transformers.trainer", "Trainer", "prediction_loop"),
)

_writing = False  # a checkpoint is being written: what it calls is a part of it


def _forked():
    global _writing
    _writing = False


session.fork_hooks.append(_forked)


def attach(module):
    """`module` is one of those in the tables."""
    loaders.framework(module.__name__.partition(".")[0])
    for where, cls, method in _CHECKPOINTS:
        if where == module.__name__:
            _surround(getattr(module, cls, None), method, _Checkpoint)
    for where, cls, method in _EVALUATIONS:
        # Not every version has both loops.
        if where == module.__name__ and (method == "evaluation_loop" or
                                         hasattr(getattr(module, cls, None), method)):
            _surround(getattr(module, cls, None), method, _Evaluation)


def torch(module):
    """`module` is torch.serialization, whose `save` is also torch's."""
    for holder in (module, sys.modules.get("torch")):
        if holder is not None and "save" in vars(holder):
            _surround(holder, "save", _Checkpoint)


def _surround(holder, name, kind):
    function = vars(holder).get(name) if holder is not None else None
    if not callable(function):
        session.say("%s is not found: what it does counts as the trainer's work" % name)
        return

    @functools.wraps(function)
    def surrounded(*args, **kwargs):
        around = kind()
        guarded(around.begin)
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            raise
        finally:
            guarded(around.end)

    setattr(holder, name, surrounded)


class _Checkpoint:
    def __init__(self):
        self.since = None

    def begin(self):
        global _writing
        if not _writing and loaders.trains():
            _writing = True
            self.since = ring.now()

    def end(self):
        global _writing
        if self.since is not None:
            _writing = False
            ring.mine().later(ring.named(
                ring.EVALUATION, session.string("checkpoint"), self.since, ring.now()))


class _Evaluation:
    def begin(self):
        steps.trainer.evaluations += 1

    def end(self):
        steps.trainer.evaluations -= 1
