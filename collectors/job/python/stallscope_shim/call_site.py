"""The call that constructs a loader, as written: its place, its parameters, and the lines around it,
from which reports make a diff.

Nothing is parsed here: on Python 3.11 and later an instruction knows its place in the source, before
that, only its line. Each call in the source is looked up once, and only in the job's own files that
are older than the process: otherwise the lines may not be those that run.
"""
import dis
import itertools
import os

from . import session

_AROUND = 6  # lines before and after the call
_BEHIND = 30  # lines after its first one, if its end is unknown
_FEWEST = 3  # lines after it, or those to the end of the file: a diff needs them
_MOST_BYTES = 4000  # of source
_LARGEST_FILE = 4 << 20
_MOST_NAMES = 64
_MOST_KNOWN = 256  # a job may keep making classes

_known = {}  # (code, instruction, class) → what `of` returns


def of(frame, cls):
    """The call of the constructor of `cls` that this frame is about to make."""
    code = frame.f_code
    key = (code, frame.f_lasti, cls)
    call = _known.get(key)
    if call is None:
        call = {"names": _names(frame, cls)}
        call.update(_parameters(cls))
        place = _place(code, frame.f_lasti)
        call.update(place)
        call.update(source(session.absolute(code.co_filename), place.get("line", frame.f_lineno),
                           place.get("end_line")))
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = call
    return call


def _place(code, instruction):
    """Lines from 1, columns in bytes from 0; the end is after the call."""
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return {}
    found = next(itertools.islice(positions(), instruction // 2, None), None)
    if found is None or None in found:
        return {}
    line, end_line, column, end_column = found
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


def _names(frame, cls):
    """The names of the class in this frame's code. A function's own variables are not looked at: before
    Python 3.13 that would change what its `locals()` has returned, and keep their values alive."""
    names = {cls.__name__}
    code = frame.f_code
    for name in code.co_names:
        if frame.f_globals.get(name) is cls:
            names.add(name)
    loaded = None
    for instruction in dis.get_instructions(code) if code.co_nlocals else ():
        name = instruction.argval
        if loaded and instruction.opname.startswith("STORE_"):
            # Imported or renamed by the function itself. Two instructions may be one.
            names.add(name[0] if isinstance(name, tuple) else name)
        loaded = isinstance(name, str) and name in names
    return sorted(names)[:_MOST_NAMES]


def _parameters(cls):
    """The constructor's parameters: by position, and by keyword only. One that passes its keywords on
    takes those of its base class too, except names in its own code, which it may pass itself."""
    positional, keywords, named = None, [], set()
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        code = _code(base.__init__)
        if code is None:
            break
        by_position = code.co_argcount
        by_keyword = by_position + code.co_kwonlyargcount
        taken = list(code.co_varnames[1:by_position])
        if positional is None:
            positional, taken = taken, []
        keywords += [name for name in taken + list(code.co_varnames[by_position:by_keyword])
                     if name not in named]
        if not code.co_flags & 0x08:
            return _signature(positional, keywords, False)
        named.update(positional, *map(_texts, code.co_consts))
    return {} if positional is None else _signature(positional, keywords, True)


def _signature(positional, keywords, any_keyword):
    return {"parameters": positional[:_MOST_NAMES], "keywords": keywords[:_MOST_NAMES],
            "any_keyword": any_keyword}


def _code(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "__code__", None)


def _texts(constant):
    """Its strings: a call keeps the names of its keywords in a tuple."""
    if isinstance(constant, tuple):
        return [each for each in constant if isinstance(each, str)]
    return [constant] if isinstance(constant, str) else []


def source(file, line, end_line):
    """Whole lines around the call, as in the file."""
    try:
        status = os.stat(file)
        if status.st_mtime > session.started or status.st_size > _LARGEST_FILE:
            return {}
        with open(file, "rb") as stream:
            lines = stream.read().split(b"\n")
    except OSError:
        return {}
    lines = [each + b"\n" for each in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    first = max(0, line - 1 - _AROUND)
    last = min(len(lines), end_line + _AROUND if end_line else line + _BEHIND)
    while sum(map(len, lines[first:last])) > _MOST_BYTES and (
            first < line - 1 or last > (end_line or line)):
        # Keeps the lines nearest to the call.
        if first < line - 1:
            first += 1
        if last > (end_line or line):
            last -= 1
    text = b"".join(lines[first:last])
    # Only Python ends a line at a lone carriage return.
    if len(text) > _MOST_BYTES or b"\r" in text.replace(b"\r\n", b""):
        return {}
    if last < len(lines) and last - (end_line or line) < _FEWEST:
        return {}
    try:
        return {"source": text.decode("utf-8"), "source_line": first + 1}
    except UnicodeDecodeError:
        return {}
