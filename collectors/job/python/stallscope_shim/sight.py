"""Which code of a data set is watched during a fetch.

Covers the job's data sets and those of libraries: where WebDataset, Hugging Face's datasets and grain
call the job's functions, and their decoders.
"""
import functools
import sys
import types
import weakref

from .codes import Codes
from .loaders import _SHIM, installed
from .watch import own, part, parts

_ENTRIES = ("__getitem__", "__getitems__", "__iter__", "__next__")
# Libraries whose data sets are chains of generators: each generator is an op, and so are its calls.
_CHAINS = ("webdataset", "datasets.iterable_dataset", "torchdata", "torch.utils.data.datapipes.iter")
_CALLS = ("__call__", "forward")
_WAITING = ("Prefetch", "ThreadPrefetch", "ProcessPrefetch")  # grain's, and torchdata's Prefetcher
_HOLD_A_DATA_SET = ("dataset", "source_datapipe", "datasets")
_GENERATOR = 0x20  # in a code's flags
_FUNCTION = types.FunctionType
_STREAMS = "/datasets/iterable_dataset.py"
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Sight:
    """The watched code: `roots`, in which every call counts, and `own`. Roots in `entries` are ops
    themselves. A comprehension (`inline`) is a part of the function around it, and no op."""

    def __init__(self, fetcher):
        self.roots = Codes()
        self.own = Codes()
        self.inline = Codes()
        self.entries = Codes()  # each with its name, if that is not the code's own
        self.chains = set()
        fetch = type(fetcher).fetch
        self.fetch = getattr(fetch, "__wrapped__", fetch).__code__
        if _is_a_call(fetcher.dataset):
            call = CollateSight(fetcher.dataset)
            self.own.update(call.own)
            self.entries = call.entries
            for code in call.own:
                self._functions(_module_of(code))
        elif type(fetcher.dataset) is not types.GeneratorType:
            self._data_set(fetcher.dataset, 0)
        else:
            code = fetcher.dataset.gi_code
            self.roots.add(code)
            self.entries.add(code, fetcher.dataset.__qualname__)
            frame = fetcher.dataset.gi_frame
            self._functions(frame.f_globals if frame is not None else {})
        add_inner(self)

    def _data_set(self, data_set, depth):
        for cls in type(data_set).__mro__:
            module = cls.__module__
            if module.startswith(_CHAINS):
                self._chain(next(c for c in _CHAINS if module.startswith(c)))
            if module.startswith("grain."):
                self._nodes("grain._src.python.dataset.transformations.")
                self._nodes("grain._src.python.data_loader")
            if module.startswith("torchdata.nodes."):
                self._nodes("torchdata.nodes.")
            if module.startswith("datasets."):
                self._features()
            if module.startswith("torch.utils.data") or module in ("builtins", "typing", "abc"):
                continue
            for name, value in list(vars(cls).items()):
                if isinstance(value, (staticmethod, classmethod)):
                    value = value.__func__
                if isinstance(value, _FUNCTION) and value.__code__.co_filename.startswith(_SHIM):
                    value = getattr(value, "__wrapped__", None)  # plain.py watches the class
                codes = [function.__code__ for function in _functions_behind(value)]
                (self.roots if name in _ENTRIES else self.own).update(codes)
                if name in _ENTRIES and codes and codes[0] not in self.entries:
                    self.entries.add(codes[0])
            if cls is not type(data_set):
                continue  # a base class's module has helpers for many data sets
            source = sys.modules.get(module)
            self._functions(vars(source) if source is not None else {})
        if depth < 4:
            for each in _below(data_set):
                self._data_set(each, depth + 1)

    def _functions(self, module):
        """Adds functions that the job's own module defines; `module` is its dictionary."""
        if not installed(module.get("__file__") or ""):
            name = module.get("__name__")
            for value in list(module.values()):
                if type(value) is _FUNCTION and not value.__dict__:  # most of them
                    if value.__module__ == name:
                        self.own.add(value.__code__)
                    continue
                for function in _functions_behind(value):
                    if function.__module__ == name:
                        self.own.add(function.__code__)

    def _chain(self, library):
        """Adds all generators of the library, by the names of their functions without "_"."""
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
                    self._nested(code)
                    owner = holder.__name__ if isinstance(holder, type) else library
                    called = owner + "." + code.co_name.strip("_")
                    if called in [known for _, known in self.entries.items()]:  # __iter__ beside _iter
                        called = owner + "." + code.co_name
                    self.entries.add(code, called)

    def _nested(self, code):
        """Functions that a function of the library's defines: they call the job's."""
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType) and (
                    not inner.co_name.startswith("<") or inner.co_name == "<lambda>"):
                self.roots.add(inner)
                self._nested(inner)

    def _nodes(self, modules):
        """For grain and torchdata: adds each node's `__next__`, `next` and `__getitem__`, and the functions
        of these modules that call the job's: grain's DataLoader makes a node's function of each operation."""
        if modules in self.chains:
            return
        self.chains.add(modules)
        for name, module in list(sys.modules.items()):
            if not name.startswith(modules):
                continue
            for function in [v for v in vars(module).values() if isinstance(v, _FUNCTION)]:
                if function.__module__ == name:
                    self._nested(function.__code__)
            for cls in [v for v in vars(module).values() if isinstance(v, type)]:
                if cls.__module__ != name:
                    continue
                waits = cls.__name__.strip("_").startswith(_WAITING)
                for method, function in list(vars(cls).items()):
                    while hasattr(function, "__wrapped__"):
                        function = function.__wrapped__
                    code = getattr(function, "__code__", None)
                    if code is not None:
                        # One that waits for threads asks hundreds of them whether they are done.
                        (self.own if waits else self.roots).add(code)
                        if method in ("__next__", "next", "__getitem__") and (
                                cls.__name__ != "BaseNode"):  # torchdata's, which calls `next`
                            self.entries.add(code, cls.__name__.strip("_"))

    def _features(self):
        """For Hugging Face's datasets: decoders are ops, and so is the job's transform."""
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
                    self.entries.add(code, cls.__name__ + ".decode_example")
                if cls.__name__ == "CustomFormatter":
                    for method in ("format_row", "format_column", "format_batch"):
                        code = getattr(vars(cls).get(method), "__code__", None)
                        if code is not None:
                            self.roots.add(code)

    def composed(self, obj):
        """True for a Compose, and for any object of the job that holds a list of callables: its calls
        are ops, instead of itself."""
        codes = [getattr(getattr(type(obj), name, None), "__code__", None) for name in _CALLS]
        codes = [code for code in codes if code is not None and code.co_name in _CALLS]
        if not isinstance(part(obj, "transforms"), (list, tuple)) and not (
                codes and not installed(codes[-1].co_filename) and _holds_callables(obj)):
            return False
        self.roots.update(codes)
        return True


def _functions_behind(value):
    """Itself, if it is one, and what its decorators have put into `__wrapped__`: a cache is no function."""
    found = []
    for _ in range(8):
        if type(value) is _FUNCTION:
            found.append(value)
        value = part(value, "__wrapped__")
        if value is None:
            break
    return found


def add_inner(sight):
    """Adds what the job's functions have inside: comprehensions are like the function around them, and
    functions that others call, by the same name, like the module's. The rest is a part of its caller."""
    names = set()
    for codes in (sight.roots, sight.own):
        for code in codes:
            names.update(code.co_names)
    for codes in (sight.roots, sight.own):
        more = list(codes)
        for code in more:
            inside = [each for each in code.co_consts if type(each) is types.CodeType]
            if not inside or installed(code.co_filename):
                continue
            for inner in inside:
                names.update(inner.co_names, inner.co_freevars)
            for inner in inside:
                if inner.co_name in _COMPREHENSIONS:
                    sight.inline.add(inner)
                    codes.add(inner)
                    more.append(inner)
                elif inner.co_name in names:
                    sight.own.add(inner)
                    if codes is sight.own:
                        more.append(inner)
    sight.own.discard(sight.roots)


def _is_a_call(data):
    """The job's own function, instead of a data set: what a thread calls for each element."""
    return callable(data) and not any(name in vars(cls) for cls in type(data).__mro__[:-1]
                                      for name in _ENTRIES)


def _module_of(code):
    """The dictionary of the module that the code is from."""
    for module in list(sys.modules.values()):
        known = own(module)
        if known.get("__file__") == code.co_filename:
            return known
    return {}


def _torchs(obj):
    return (getattr(obj, "__module__", None) or "").startswith("torch.")


def _holds_callables(obj):
    return any(isinstance(value, (list, tuple)) and value and all(map(callable, value))
               for value in parts(obj))


def _below(data_set):
    """The data sets inside this one, whatever their fields are called."""
    named = [part(data_set, name) for name in _HOLD_A_DATA_SET]
    found = _first_of(named) + [
        each for each in _first_of(parts(data_set))
        if any(cls.__module__.startswith("torch.utils.data") for cls in type(each).__mro__)]
    found = {id(each): each for each in found if each is not None and each is not data_set}
    return list(found.values())[:16]


def _first_of(values):
    return [each for value in values
            for each in (value[:8] if isinstance(value, (list, tuple)) else (value,))]


def sampler_code(sampler):
    """(code, name) of the job's own sampler; (None, "") for torch's."""
    inner = part(sampler, "sampler")  # of torch's BatchSampler
    for each in (sampler, inner):
        code = getattr(getattr(type(each), "__iter__", None), "__code__", None)
        if code is not None and not _torchs(type(each)) and not installed(code.co_filename):
            return code, type(each).__qualname__ + ".__iter__"
    return None, ""


def shares(sight):
    """True if a function that may run in a fetch has one inside that changes its variables, as a
    thread may. Before Python 3.12, profiling and tracing put the variables of a function back as they
    were when an event began: what another thread has changed meanwhile is lost. Hugging Face's streams
    count in such functions, in the thread alone that iterates."""
    watched = [code for codes in (sight.roots, sight.own) for code in codes
               if code.co_cellvars and not (_STREAMS in code.co_filename and installed(code.co_filename))]
    if not watched:
        return False
    import dis

    reached = Codes()
    more = list(sight.roots) or list(sight.own)
    names = set()  # of what these use
    while more:
        for code in more:
            reached.add(code)
            for inner in codes_within(code):
                names.update(inner.co_names)
        more = [code for code in sight.own if code.co_name in names and code not in reached]
    return any(
        each.opname in ("STORE_DEREF", "DELETE_DEREF") and each.argval in inner.co_freevars
        for code in watched if code in reached
        for inner in codes_within(code) if inner.co_freevars
        for each in dis.get_instructions(inner))


def codes_within(code):
    """This code, and that of all functions inside of it."""
    found = [code]
    for each in found:
        found += [const for const in each.co_consts if type(const) is types.CodeType]
    return found


class StageSight(Sight):
    """The function whose calls are a stage that the job names, or where it enters one."""

    def __init__(self, entered):
        self.roots = Codes([entered.code])
        self.own = Codes()
        self.inline = Codes()
        self.entries = Codes()
        if entered.called:
            self.entries.add(entered.code, entered.op)
        self.chains = set()
        self.fetch = None
        self._functions(_module_of(entered.code))
        add_inner(self)


def _called(obj):
    """The function behind a call of an object, and its name."""
    while isinstance(obj, functools.partial):
        obj = obj.func
    function = obj.__func__ if type(obj) is types.MethodType else obj
    if type(function) is _FUNCTION:
        return function, function.__qualname__
    return getattr(type(obj), "__call__", None), type(obj).__qualname__


def _held_by(obj):
    """What it may call: callables in its fields, or in the closure of a function."""
    values = parts(obj)
    for cell in getattr(_called(obj)[0], "__closure__", None) or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:
            pass  # it has none yet
    return [value for value in values if callable(value)]


def called_codes(obj):
    """What a call of the object runs: its own code, and that of a Compose's transforms. Nothing of a
    function that is not Python's."""
    called = [_called(obj)[0]]
    transforms = part(obj, "transforms")
    for each in transforms[:8] if isinstance(transforms, (list, tuple)) else ():
        function = _called(each)[0]
        called.append(getattr(type(each), "forward", None) or function)
    codes = [getattr(function, "__code__", None) for function in called]
    return [code for code in codes if code is not None]


_known = {}  # id of a data set → (weak reference, its Sight)


def of(fetcher):
    """The Sight of its data set, which stays the same from pass to pass."""
    data_set = fetcher.dataset
    known = _known.get(id(data_set))
    if known is not None and known[0]() is data_set:
        return known[1]
    sight = Sight(fetcher)
    try:
        # As in loaders.py, no Python runs when it goes away.
        gone = weakref.ref(data_set, functools.partial(_known.pop, id(data_set)))
        _known[id(data_set)] = gone, sight
    except TypeError:
        pass
    return sight


class CollateSight:
    """The function that makes a batch of its elements, as one op, unless it is torch's: the job's own, or a
    library's with those of the job's that it calls."""

    def __init__(self, collate):
        self.roots = Codes()
        self.own = Codes()
        self.inline = Codes()
        self.entries = Codes()
        self.fetch = None
        jobs, others = [], []
        for each in [collate] + _held_by(collate):
            function, name = _called(each)
            code = getattr(function, "__code__", None)
            if code is not None and not _torchs(function):
                (others if installed(code.co_filename) else jobs).append((code, name))
        for code, name in jobs + others:
            self.own.add(code)
            self.entries.add(code, name)
        if self.entries:
            add_inner(self)

    def composed(self, obj):
        return False
