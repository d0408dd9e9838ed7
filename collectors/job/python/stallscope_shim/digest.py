"""`stallscope run --digest`: what the trainer got, as one number per loader.

Every batch is hashed when it is handed over, in that order, one chain for all passes over a loader;
loaders that one line of the job constructs, as in every epoch, count as one. Equal digests mean
equal data: dtype, shape and bytes of tensors and arrays, the values of their containers. `_Batch.add`
defines how each kind of object counts; one that it cannot look into counts by its class alone, and
the trace names it.

Imported only in a run that asked for it. Hashing takes the trainer's time; the trace has the sum.
"""
import ctypes
import hashlib
import struct
import sys
import types
from _thread import get_ident

from . import ring, session
from .watch import pass_on

_DEEPEST = 32
_PLAIN = (bool, int, float, complex)
_BY_TEXT = frozenset((
    "datetime.datetime", "datetime.date", "datetime.time", "datetime.timedelta", "decimal.Decimal",
    "fractions.Fraction", "uuid.UUID", "builtins.range", "builtins.slice", "builtins.ellipsis",
    "torch.dtype", "torch.device", "torch.Size", "pathlib.PosixPath", "pathlib.PurePosixPath",
    "pathlib._local.PosixPath"))

_chains = []  # of the process's loaders, in the order in which they were iterated over first


def _forked():
    del _chains[:]


session.fork_hooks.append(_forked)


class Chain:
    """Of one loader."""

    def __init__(self, loader, place):
        self.loader = loader
        self.place = (place["file"], place["line"]) if place else loader
        self.hash = hashlib.blake2b(digest_size=16)
        self.sum = 0  # of batches in no order
        self.ordered = True
        self.batches = self.steps = self.ns = 0
        self.missing = []  # why the digest is not of everything
        self.threads = set()
        _chains.append(self)

    def add(self, data, ordered):
        begin = ring.now()
        if not ordered:
            self.ordered = False
        self.threads.add(get_ident())
        target = self.hash if self.ordered else hashlib.blake2b(digest_size=16)
        try:
            _Batch(target.update, self.miss).add(data, 0)
        except Exception as error:
            pass_on(error)
            self.miss("a batch (%s: %s)" % (type(error).__name__, error))
        target.update(b".")
        if not self.ordered:
            self.sum += int.from_bytes(target.digest(), "big")
        self.batches += 1
        self.ns += ring.now() - begin

    def miss(self, what):
        if what not in self.missing and len(self.missing) < 8:
            self.missing.append(what)

    def value(self):
        return (self.sum + int.from_bytes(self.hash.digest(), "big")) % (1 << 128)


def write():
    """The process ends, or the job does."""
    places = {}
    for chain in _chains:
        if chain.batches or chain.missing:
            places.setdefault(chain.place, []).append(chain)
    for chains in places.values():
        # One line may construct a loader for training and one for evaluation.
        chains = [c for c in chains if c.steps] or chains
        first = chains[0]
        for chain in chains[1:]:
            for what in chain.missing:
                first.miss(what)
        if len(set().union(*(c.threads for c in chains))) > 1:
            first.miss("the order of batches that several threads take")
        value = first.value()
        if len(chains) > 1:
            together = b"".join(c.value().to_bytes(16, "big") for c in chains)
            value = int.from_bytes(hashlib.blake2b(together, digest_size=16).digest(), "big")
        session.note("digest", {
            "loader": first.loader, "hash": "%032x" % value,
            "batches": sum(c.batches for c in chains), "steps": sum(c.steps for c in chains),
            "ns": sum(c.ns for c in chains), "ordered": all(c.ordered for c in chains),
            "missing": first.missing})


class _Batch:
    """Feeds one batch to `update`, each object as a tag, its class or type, its size, its content."""

    def __init__(self, update, miss):
        self.update, self.miss = update, miss
        torch = sys.modules.get("torch")
        self.tensor = getattr(torch, "Tensor", ())  # the stand-in has none
        numpy = sys.modules.get("numpy")
        self.array = (numpy.ndarray, numpy.generic) if numpy is not None else ()

    def add(self, value, depth):
        if depth > _DEEPEST:
            self.miss("objects more than %d levels deep" % _DEEPEST)
        elif value is None:
            self.update(b"N")
        elif type(value) in _PLAIN:
            self.text("P", repr(value))
        elif isinstance(value, str):
            self.text("S", value)
        elif isinstance(value, self.tensor):
            self.add_tensor(value)
        elif isinstance(value, self.array):
            self.add_array(value, depth)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            self.bytes("B", memoryview(value))
        elif isinstance(value, (list, tuple)):
            self.items("L", value, value, depth)
        elif isinstance(value, (set, frozenset)):
            self.items("s", value, sorted(self.alone(each, depth) for each in value), depth)
        else:
            self.add_other(value, depth)

    def add_other(self, value, depth):
        cls = type(value)
        name = "%s.%s" % (cls.__module__, cls.__qualname__)
        fields = getattr(cls, "__dataclass_fields__", None)
        if hasattr(cls, "keys") and hasattr(cls, "__getitem__"):  # a dict, or what acts as one
            keys = list(value.keys())
            self.text("D", str(len(keys)))
            for key in keys:
                self.add(key, depth + 1)
                self.add(value[key], depth + 1)
        elif name in _BY_TEXT or isinstance(value, (int, float)):
            self.text("R", name + repr(value))
        elif isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
            self.text("C", "%s.%s" % (value.__module__, value.__qualname__))
        elif fields is not None:
            self.items("F", value, [(f, getattr(value, f, None)) for f in fields], depth)
        elif name.startswith("PIL."):
            self.text("I", "%s %s" % (value.mode, value.size))
            self.bytes("B", memoryview(value.tobytes()))
        elif cls.__module__ == "array":
            self.bytes("B" + value.typecode, memoryview(value))
        elif getattr(value, "__dict__", None) and not hasattr(cls, "__next__"):
            self.items("O", value, list(vars(value).items()), depth)
        else:
            self.text("?", name)
            self.miss("objects of class " + name)

    def items(self, tag, value, items, depth):
        cls = type(value)
        self.text(tag, "%s %d" % (cls.__qualname__, len(items)))
        for each in items:
            self.add(each, depth + 1)

    def alone(self, value, depth):
        """The hash of one member of a set, whose order means nothing."""
        one = hashlib.blake2b(digest_size=16)
        _Batch(one.update, self.miss).add(value, depth + 1)
        return one.digest()

    def text(self, tag, text):
        self.bytes(tag, memoryview(text.encode("utf-8", "surrogatepass")))

    def bytes(self, tag, view):
        self.update(tag.encode() + struct.pack("<Q", view.nbytes))
        self.update(view if view.c_contiguous else view.tobytes())

    def add_tensor(self, value):
        about = "%s %s" % (value.dtype, tuple(value.shape))
        layout = str(value.layout)
        if layout != "torch.strided" or value.is_quantized or value.device.type == "meta":
            self.text("?", about)
            self.miss("tensors that are sparse, nested, quantized or without data")
            return
        plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        size = plain.numel() * plain.element_size()
        self.text("T", about)
        if size:
            self.update((ctypes.c_char * size).from_address(plain.data_ptr()))

    def add_array(self, value, depth):
        self.text("A", "%s %s" % (value.dtype, value.shape))
        if value.dtype.hasobject:
            self.add(value.ravel().tolist() if value.shape else [value.item()], depth + 1)
            return
        try:
            view = memoryview(value)
        except (TypeError, ValueError, BufferError):  # dates have no buffer
            view = memoryview(value.tobytes())
        self.update(view if view.c_contiguous and view.nbytes else view.tobytes())
