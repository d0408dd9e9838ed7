"""Which code of a data set is looked into, while a fetch of it is watched.

The job's data sets and those of libraries: where WebDataset, Hugging Face's datasets and grain call
the job's functions, and what they decode with.
"""
import sys
import types

from .loaders import installed
from .watch import own

_ENTRIES = ("__getitem__", "__getitems__", "__iter__", "__next__")
# Libraries whose data sets are chains of generators: each of those is an op, and so is what it calls.
_CHAINS = ("webdataset", "datasets.iterable_dataset", "torchdata", "torch.utils.data.datapipes.iter")
_GENERATOR = 0x20  # in a code's flags
_FUNCTION = types.FunctionType


class Sight:
    """Which code is looked into: `roots`, where every call counts, and `own`. Those of the roots that
    are `entries` are ops themselves."""

    def __init__(self, fetcher):
        self.roots = set()
        self.own = set()
        self.entries = {}  # code → its name, if that is not the code's own
        self.chains = set()
        fetch = type(fetcher).fetch
        self.fetch = getattr(fetch, "__wrapped__", fetch).__code__
        if type(fetcher.dataset) is not types.GeneratorType:
            self._data_set(fetcher.dataset, 0)
        else:
            code = fetcher.dataset.gi_code
            self.roots.add(code)
            self.entries[code] = fetcher.dataset.__qualname__
            frame = fetcher.dataset.gi_frame
            self._functions(frame.f_globals if frame is not None else {})
        self.own -= self.roots

    def _data_set(self, data_set, depth):
        for cls in type(data_set).__mro__:
            module = cls.__module__
            if module.startswith(_CHAINS):
                self._chain(next(c for c in _CHAINS if module.startswith(c)))
            if module.startswith("grain."):
                self._nodes()
            if module.startswith("datasets."):
                self._features()
            if module.startswith("torch.utils.data") or module in ("builtins", "typing", "abc"):
                continue
            for name, value in list(vars(cls).items()):
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                if isinstance(value, _FUNCTION):
                    (self.roots if name in _ENTRIES else self.own).add(value.__code__)
                    if name in _ENTRIES:
                        self.entries.setdefault(value.__code__, None)
            if cls is not type(data_set):
                continue  # a base class's module has helpers of many data sets
            source = sys.modules.get(module)
            self._functions(vars(source) if source is not None else {})
        if depth < 4:
            inner = own(data_set)
            below = [inner.get("dataset"), inner.get("source_datapipe")]
            if isinstance(inner.get("datasets"), (list, tuple)):
                below += inner["datasets"][:8]
            for each in below:
                if each is not None:
                    self._data_set(each, depth + 1)

    def _functions(self, module):
        """Those that the job's own module defines; `module` is its dictionary."""
        if not installed(module.get("__file__") or ""):
            for value in list(module.values()):
                if isinstance(value, _FUNCTION) and value.__module__ == module.get("__name__"):
                    self.own.add(value.__code__)

    def _chain(self, library):
        """All generators of the library, by the names of their functions, without "_"."""
        if library in self.chains:
            return
        self.chains.add(library)
        for name, module in list(sys.modules.items()):
            if name != library and not name.startswith(library + "."):
                continue
            for holder in [module] + [v for v in vars(module).values() if isinstance(v, type)]:
                for value in list(vars(holder).values()):
                    # A filter of WebDataset holds its function.
                    code = getattr(value, "__code__", None) or getattr(
                        getattr(value, "f", None), "__code__", None)
                    if code is None or not code.co_flags & _GENERATOR:
                        continue
                    self.roots.add(code)
                    owner = holder.__name__ if isinstance(holder, type) else library
                    self.entries[code] = owner + "." + code.co_name.strip("_")

    def _nodes(self):
        """Of grain: each node's `__next__` and `__getitem__`."""
        if "grain" in self.chains:
            return
        self.chains.add("grain")
        for name, module in list(sys.modules.items()):
            if not name.startswith("grain._src.python.dataset.transformations."):
                continue
            for cls in [v for v in vars(module).values() if isinstance(v, type)]:
                if cls.__module__ != name:
                    continue
                for method, function in list(vars(cls).items()):
                    while hasattr(function, "__wrapped__"):
                        function = function.__wrapped__
                    code = getattr(function, "__code__", None)
                    if code is not None:
                        self.roots.add(code)
                        if method in ("__next__", "__getitem__"):
                            self.entries[code] = cls.__name__.strip("_")

    def _features(self):
        """Of Hugging Face's datasets: decoders are ops, and so is a transform of the job's."""
        if "datasets.features" in self.chains:
            return
        self.chains.add("datasets.features")
        for name, module in list(sys.modules.items()):
            if not name.startswith(("datasets.features.", "datasets.formatting.")):
                continue
            for cls in [v for v in vars(module).values() if isinstance(v, type)]:
                code = getattr(vars(cls).get("decode_example"), "__code__", None)
                if code is not None and cls.__name__ != "Features":
                    self.roots.add(code)
                    self.entries[code] = cls.__name__ + ".decode_example"
                if cls.__name__ == "CustomFormatter":
                    for method in ("format_row", "format_column", "format_batch"):
                        code = getattr(vars(cls).get(method), "__code__", None)
                        if code is not None:
                            self.roots.add(code)

    def composed(self, obj):
        """True of a Compose: then its calls are ops, instead of it."""
        if not isinstance(own(obj).get("transforms"), (list, tuple)):
            return False
        for name in ("__call__", "forward"):
            code = getattr(getattr(type(obj), name, None), "__code__", None)
            if code is not None and code.co_name == name:
                self.roots.add(code)
        return True


def shares(sight):
    """True if a function that may run in a fetch has one inside that changes its variables, as a
    thread may. Before Python 3.12, profiling and tracing put the variables of a function back as they
    were when an event began: what another thread has changed meanwhile is lost."""
    if not any(code.co_cellvars for code in sight.roots | sight.own):
        return False
    import dis

    reached = set()
    more = list(sight.roots) or list(sight.own)
    names = set()  # of what these use
    while more:
        for code in more:
            reached.add(code)
            for inner in _within(code):
                names.update(inner.co_names)
        more = [code for code in sight.own - reached if code.co_name in names]
    return any(
        each.opname in ("STORE_DEREF", "DELETE_DEREF") and each.argval in inner.co_freevars
        for code in reached if code.co_cellvars
        for inner in _within(code) if inner.co_freevars
        for each in dis.get_instructions(inner))


def _within(code):
    """This code, and that of all functions inside of it."""
    found = [code]
    for each in found:
        found += [const for const in each.co_consts if type(const) is types.CodeType]
    return found


class CollateSight:
    """The job's own function that makes a batch of its elements: one op."""

    def __init__(self, collate):
        self.roots = set()
        self.own = set()
        self.entries = {}
        self.fetch = None
        function = collate.__func__ if type(collate) is types.MethodType else collate
        if type(function) is _FUNCTION:
            name = function.__qualname__
        else:  # an object; a partial has none of the job's own
            name = type(collate).__qualname__
            function = getattr(type(collate), "__call__", None)
        code = getattr(function, "__code__", None)
        if code is not None and not installed(code.co_filename):
            self.own.add(code)
            self.entries[code] = name

    def composed(self, obj):
        return False
