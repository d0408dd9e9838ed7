"""A stand-in for JAX: what the shim looks at of it."""
from ._src.api import block_until_ready

__version__ = "0.1+standin"
