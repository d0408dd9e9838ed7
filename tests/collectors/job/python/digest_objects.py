"""The digest of objects: `digest_objects.py SHIM [torch]` prints ok."""
import array
import collections
import dataclasses
import datetime
import decimal
import enum
import os
import pathlib
import sys

sys.path.insert(0, sys.argv[1])
from stallscope_shim import digest, session  # noqa: E402

session.folder = os.devnull  # nothing is written
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Sample:
    x: int
    y: list


class Plain:
    def __init__(self, x):
        self.x = x


class Slots:
    __slots__ = ("x",)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def of(value):
    """Its hash, and what of it is not hashed."""
    chain = digest.Chain(0, None)
    chain.add(value, True)
    return chain.hash.hexdigest(), chain.missing


def differ(*values):
    """Each is another value, and each has the same hash twice."""
    hashes = []
    for make in values:
        one, other = of(make()), of(make())
        assert one == other, make()
        assert not one[1], (make(), one[1])
        hashes.append(one[0])
    assert len(set(hashes)) == len(hashes), hashes


differ(*[lambda v=v: v for v in (
    None, True, False, 0, 1, 1.0, -0.0, 0.0, float("nan"), 1j, "", "1", "\udc80", b"", b"1",
    bytearray(b"12"), memoryview(b"12345678")[::2], [], [1], [[1]], [1, 1], (), (1,), {}, {"a": 1},
    {"a": 1, "b": 2}, {1: "a"}, set(), {"a", "b", "c"}, {"a", "b"}, frozenset("xy"), Pair(1, 2),
    Sample(1, [2]), Sample(1, [3]), Plain(1), Plain(2), Color.RED, Color.BLUE, range(3), slice(1),
    datetime.date(2020, 1, 1), decimal.Decimal("1.10"), pathlib.Path("/a"), len, dict,
    array.array("i", [1, 2]), array.array("I", [1, 2]), collections.OrderedDict(a=1, b=3),
    collections.UserDict(a=5))])
assert of({"a": 1}) == of(collections.OrderedDict(a=1))  # one mapping is as good as another
assert "Slots" in of(Slots())[1][0]
assert "generator" in of([i for i in [(x for x in "a")]])[1][0]
loop = []
loop.append(loop)
assert "deep" in of(loop)[1][0]


def tensors():
    import torch

    x = torch.arange(24.0).reshape(2, 3, 4)
    differ(*[lambda v=v: v for v in (
        x, x.double(), x.reshape(6, 4), x + 1, x.half(), x.bfloat16(), x.bool(), x.to(torch.int8),
        x[0], x[:, 1], x.permute(2, 1, 0), torch.tensor(3.0), torch.tensor(4), torch.empty(0, 3),
        torch.complex(x, x), torch.complex(x, x).conj(), torch.float32, x.shape[:2],
        torch.nn.Parameter(x + 2), {"a": [x, (x,)]})])
    assert of(x.t() if x.dim() == 2 else x[0].t()) == of(x[0].t().contiguous())
    assert of(x[0].clone()) == of(torch.nn.Parameter(x[0]))
    assert "sparse" in of(x[0].to_sparse())[1][0]
    packed = torch.nn.utils.rnn.pack_sequence([x[0], x[1]])
    assert not of(packed)[1] and of(packed)[0] != of(packed._replace(data=packed.data + 1))[0]


def arrays():
    import numpy as np

    x = np.arange(12.0).reshape(3, 4)
    differ(*[lambda v=v: v for v in (
        x, x.astype("f4"), x.T, x[:, ::2], x[:0], np.float32(3), np.int64(3), np.array(5),
        np.array(["a", "bc"]), np.array(["a", None], dtype=object), np.array("2020-01-01", "M8[D]"),
        np.array(["2020-01-01"], "M8[D]"), np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]))])
    assert of(x.T) == of(np.ascontiguousarray(x.T))


if sys.argv[2:] == ["torch"]:
    tensors()
try:
    import numpy  # noqa: F401
except ImportError:
    pass
else:
    arrays()
print("ok")
