"""What the calls that a sample sees are named, and which of them count as ops."""
import functools
import sys
import types

from . import session
from .codes import MOST
from .loaders import installed

LIBRARIES = frozenset(
    "fcntl PIL cv2 torchvision torchaudio torchcodec turbojpeg imageio skimage decord av soundfile librosa "
    "h5py zarr lmdb pyarrow pandas tifffile rasterio nibabel pydicom albumentations kornia "
    "requests urllib3 urllib boto3 botocore s3fs gcsfs fsspec aiohttp transformers tokenizers "
    "webdataset datasets sqlite3 zipfile tarfile gzip lzma bz2 zlib".split())
_TRIVIAL = frozenset((len, isinstance, range, getattr, hasattr, super, int, float, type, id, iter))
_FUNCTION = types.FunctionType
_CACHED = type(functools.lru_cache(lambda: None))
_NATIVE = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)

known = {}  # what a call is known by → the op's id
_kept = []  # the codes whose ids are in these keys


def of(callee, caller, line, at=None):
    """The id of the op, by what is called and where."""
    callee = _uncached(callee)
    kind = type(callee)
    code = variables = None
    if kind is types.MethodType:
        code = getattr(callee.__func__, "__code__", None)
        variables = getattr(callee.__func__, "__globals__", None)
        name = getattr(callee.__func__, "__qualname__", str(kind))
    elif kind is _FUNCTION:
        code, name, variables = callee.__code__, callee.__qualname__, callee.__globals__
        if "." not in name and installed(code.co_filename):
            name = callee.__module__.rpartition(".")[2] + "." + name
    elif isinstance(callee, type):
        name = callee.__qualname__
        code = getattr(callee.__dict__.get("__init__"), "__code__", None)
    elif native(callee):
        name = callee.__qualname__
        holder = getattr(callee, "__module__", None) or getattr(
            getattr(callee, "__self__", None), "__name__", None)
        if name.startswith("_VariableFunctions"):
            name = "torch." + callee.__name__
        elif isinstance(holder, str) and "." not in name and holder != "builtins":
            name = holder + "." + name
    else:  # an instance: a transform
        name = kind.__qualname__
        for method in ("forward", "__call__"):
            function = kind.__dict__.get(method)
            code = code or getattr(function, "__code__", None)
    return define(name, code, caller, line, at, variables)


def key_of(code, place, callee, at):
    """Of a call in `code`, for `known`."""
    return id(code), place, callee, at and (id(at[0]), at[1])


def learn(key, op, *codes):
    """From now on `known` has it; `codes`: those that the key has the ids of."""
    if len(known) >= MOST:
        _forget()
    known[key] = op
    _kept.append(codes)
    return op


def _forget():
    known.clear()
    _kept.clear()


def _uncached(callee):
    function = callee.__func__ if type(callee) is types.MethodType else callee
    return function.__wrapped__ if type(function) is _CACHED else callee


def define(name, code, caller, line, at=None, variables=None):
    """The id of the op; `at`: where the job calls the library that calls it. `variables`: the code's
    global ones, unless it runs."""
    name = name.replace("<locals>.", "")
    file = _file_of(caller)
    own = _file_of(code, variables) if code is not None else None
    if own is not None and not installed(own):
        file, line = own, code.co_firstlineno
    elif at is not None:
        file, line = _file_of(at[0]), at[1]
    elif own is not None and installed(file):
        file, line = own, code.co_firstlineno
    return session.string(name, session.absolute(file), line)


def _file_of(code, variables=None):
    """Code that cloudpickle has sent from another process does not know its file, but its module does."""
    if not code.co_filename.startswith("<"):
        return code.co_filename
    frame = sys._getframe(1)
    while frame is not None and variables is None:
        if frame.f_code is code:
            variables = frame.f_globals
        frame = frame.f_back
    return (variables or {}).get("__file__") or code.co_filename


def job_call(caller, sight):
    """(code, line) in the data set's own functions from where a library came to call an op, by way of a
    Compose, say; None for a call by the job itself."""
    if not installed(caller.co_filename):
        return None
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not sight.fetch:
        code = frame.f_code
        if (code in sight.roots or code in sight.own) and not installed(code.co_filename):
            return code, frame.f_lineno
        frame = frame.f_back
    return None


def counts(callee, code, sight):
    """Inside of the data set's own functions: is this call an op?"""
    if code is not None and (code in sight.own or code in sight.roots):
        return True
    module = getattr(callee, "__module__", None) or type(callee).__module__
    return isinstance(module, str) and module.partition(".")[0] in LIBRARIES


def native(callee):
    """A function without code in Python."""
    return type(callee) in _NATIVE or type(callee).__name__ == "cython_function_or_method"


def trivial(callee):
    # An object of the job's may hash and compare by code of its own.
    return type(callee) in (type, types.BuiltinFunctionType) and callee in _TRIVIAL


def code_of(callee):
    """Of a plain function or method, also behind an lru_cache: its end is not reported with the call."""
    callee = _uncached(callee)
    if type(callee) is types.MethodType:
        callee = callee.__func__
    return callee.__code__ if type(callee) is _FUNCTION else None


session.fork_hooks.append(_forget)
