"""A stand-in for torch: what the shim looks at of its DataLoader, built like torch's own, without
tensors. Batches are lists."""
from . import optim, utils
from .threads import get_num_threads, set_num_threads
from .utils import data

__version__ = "0.1+standin"

_gradients = True


def is_grad_enabled():
    return _gradients


class no_grad:
    def __enter__(self):
        global _gradients
        self.before, _gradients = _gradients, False

    def __exit__(self, *_):
        global _gradients
        _gradients = self.before
