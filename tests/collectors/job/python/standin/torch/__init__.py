"""A stand-in for torch: what the shim looks at of its DataLoader, built like torch's own, without
tensors. Batches are lists."""
from . import optim, utils
from .utils import data

__version__ = "0.1+standin"
