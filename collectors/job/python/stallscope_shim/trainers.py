"""The work of training frameworks besides their steps: evaluation and checkpoints.

They iterate over DataLoaders, whose hooks record their batches and steps; `steps.py` recognizes
evaluation where torch records no gradients. This module adds:

    checkpoint   a span of its own, whoever writes it: it is not a wait for data
    evaluation   transformers' loops, which disable gradients only for the forward pass; Keras's is in
                 tensorflow.py
"""
import sys

from . import loaders, ring, session, steps
from .watch import surrounded

# (module that defines the class, class, method): they write a checkpoint.
_CHECKPOINTS = (
    ("lightning.pytorch.trainer.trainer", "Trainer", "save_checkpoint"),
    ("pytorch_lightning.trainer.trainer", "Trainer", "save_checkpoint"),
    ("accelerate.accelerator", "Accelerator", "save_state"),
    ("accelerate.accelerator", "Accelerator", "save_model"),
    ("transformers.trainer", "Trainer", "_save_checkpoint"),
    ("keras.src.models.model", "Model", "save"),
    ("keras.src.models.model", "Model", "save_weights"),
)
_EVALUATIONS = (
    ("transformers.trainer", "Trainer", "evaluation_loop"),
    ("transformers.trainer", "Trainer", "prediction_loop"),
)

_writing = False  # a checkpoint is being written: nested calls are part of it


def _forked():
    global _writing
    _writing = False


session.fork_hooks.append(_forked)


def attach(module):
    """`module` is one of those in the tables."""
    loaders.framework(module.__name__.partition(".")[0])
    for where, cls, method in _CHECKPOINTS:
        if where == module.__name__:
            _surround(getattr(module, cls, None), method, _checkpoint_begins, _checkpoint_ends)
    for where, cls, method in _EVALUATIONS:
        # Not every version has both loops.
        if where == module.__name__ and (method == "evaluation_loop" or
                                         hasattr(getattr(module, cls, None), method)):
            _surround(getattr(module, cls, None), method, _evaluation_begins, _evaluation_ends)


def torch(module):
    """`module` is torch.serialization, whose `save` is also torch's."""
    for holder in (module, sys.modules.get("torch")):
        if holder is not None and "save" in vars(holder):
            _surround(holder, "save", _checkpoint_begins, _checkpoint_ends)


def _surround(holder, name, begin, end):
    function = vars(holder).get(name) if holder is not None else None
    if not callable(function):
        session.say("%s was not found: its time counts as the trainer's work" % name)
        return

    setattr(holder, name, surrounded(function, begin, end))


def _checkpoint_begins(*_, **__):
    global _writing
    if _writing or not loaders.trains():
        return None
    _writing = True
    return ring.now()


def _checkpoint_ends(since):
    global _writing
    _writing = False
    ring.later(ring.named(
        ring.EVALUATION, session.string("checkpoint"), since, ring.now()))


def _evaluation_begins(*_, **__):
    steps.trainer.evaluations += 1
    return steps.trainer


def _evaluation_ends(trainer):
    trainer.evaluations -= 1
