"""Whether the workers of a loader divide an iterable data set among themselves."""
import functools
import itertools
import sys
import types

from .loaders import installed
from .sight import codes_within
from .watch import own, parts

# What gives each worker the same.
_PLAIN = frozenset(
    "PIL _abc abc array base64 binascii bisect builtins cmath codecs collections contextlib copy csv cv2 "
    "dataclasses datetime decimal enum fractions functools glob gzip h5py hashlib heapq html io itertools "
    "json keyword logging math numbers numpy operator os pandas pathlib pickle posixpath pyarrow re "
    "statistics string struct sys tarfile textwrap time token tokenize tokenizers torch torchaudio "
    "torchvision transformers types typing unicodedata warnings xml zipfile zlib".split())
_MOST_SEEN = 2000  # objects; a data set of more is not looked through
_DIFFERS = ("worker", "rand", "shuffle", "choice", "permut", "environ", "getpid", "uniform", "bernoulli",
            "multinomial", "initial_seed")
_DIFFERS_EXACTLY = frozenset(("normal", "normal_", "exponential_", "geometric_", "cauchy_"))


def whole_in_each_worker(data_set):
    """True if each worker yields all of an iterable data set, as far as its code shows: nothing that it may
    call asks which worker it is in, draws at random, or takes what another process may take. Nothing of the
    job's runs."""
    more = [data_set]
    seen = set()
    while more:
        each = more.pop()
        if id(each) in seen:
            continue
        if len(seen) == _MOST_SEEN:
            return False
        seen.add(id(each))
        found = _used_by(each)
        if found is None:
            return False
        more += found
    return True


def _used_by(value):
    """What a value leads to; None if it may differ from worker to worker."""
    kind = type(value)
    if kind is types.FunctionType:
        return _used_by_function(value)
    if kind is types.MethodType:
        return [value.__func__, value.__self__]
    if kind is functools.partial:
        return [value.func, *value.args, *value.keywords.values()]
    if kind in (list, tuple, set, frozenset):
        return list(itertools.islice(value, 8))  # the others are like these
    if kind is dict:
        return list(itertools.islice(value.values(), 8))
    if kind is types.ModuleType:
        return [] if _is_plain(value.__name__) or not _installed(value.__name__) else None
    if kind is _CACHED:
        return [value.__wrapped__]
    if issubclass(kind, type):
        return _used_by_class(value, [])
    if kind is types.GeneratorType:
        return None
    return _used_by_class(kind, parts(value))


def _used_by_class(cls, more):
    for each in cls.__mro__:
        module = each.__module__
        if not isinstance(module, str):
            return None
        if _installed(module):
            torchs = module.startswith("torch.utils.data")
            if not _is_plain(module) or torchs and each.__name__ not in ("Dataset", "IterableDataset"):
                return None
            continue
        for name, value in list(vars(each).items()):
            kind = type(value)
            if kind in (staticmethod, classmethod):
                value = value.__func__
            elif kind is property:
                value = value.fget
            elif kind is functools.cached_property:
                value = value.func
            if not name.startswith("__") or type(value) is types.FunctionType:
                more.append(value)
    return more


def _used_by_function(function):
    if _installed(function.__module__ or ""):
        return [] if _is_plain(function.__module__ or "") else None
    found = [vars(function).get("__wrapped__")]
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            pass  # it is empty
    known = function.__globals__
    for code in codes_within(function.__code__):
        for name in code.co_names:
            low = name.lower()
            if name in _DIFFERS_EXACTLY or any(word in low for word in _DIFFERS):
                return None
            if name in known:
                found.append(known[name])
                continue
            # Of a module of the job's that this function may call, or one that it imports itself.
            if name in sys.modules and not _is_plain(name):
                return None
            found += [vars(value)[name] for value in _modules_in(code, known) if name in vars(value)]
    return found


def _modules_in(code, known):
    modules = [known[name] for name in code.co_names if type(known.get(name)) is types.ModuleType]
    return [module for module in modules if not _installed(module.__name__)]


def _is_plain(module):
    return module.partition(".")[0] in _PLAIN


def _installed(module):
    """True for what is not the job's own."""
    file = own(sys.modules.get(module)).get("__file__")
    return not isinstance(file, str) or installed(file)


_CACHED = type(functools.lru_cache(_installed))
