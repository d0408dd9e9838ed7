"""Sees a method being called, or a field being used, without standing in the call chain.

A wrapper around a method leaves its frame in tracebacks, in `inspect.stack()`, in what
`warnings.warn(stacklevel=2)` points at, and in every sampling profiler. So the shim replaces the
attribute of the class by a descriptor: looking a method up on an instance is the instant before its
call, and reading or writing a field right behind a call is the instant after it. Which fields those
are is checked in the code of the methods (`uses`), never assumed.
"""
import functools
import gc
import operator
import sys

from . import session


class Method:
    """Calls `seen(obj)` whenever the method is looked up on an instance."""

    def __init__(self, cls, name, seen):
        self.original = cls.__dict__[name]
        self.label = "%s.%s" % (cls.__name__, name)
        self.seen = seen
        setattr(cls, name, self)

    def __get__(self, obj, owner=None):
        if obj is None:
            return self._wrapper
        try:
            self.seen(obj)
        except Exception as error:
            self.seen = _stand_back(self.label, error)
        return self.original.__get__(obj, owner)

    @property
    def _wrapper(self):
        """For those who take the method from the class, to patch it or to put it back: they get one
        that still reports."""
        def before(obj, args, kwargs):
            try:
                self.seen(obj)
            except Exception as error:
                self.seen = _stand_back(self.label, error)
            return args, kwargs

        return wrapped(self.original, before)


class Written:
    """Calls `wrote(obj, value)` whenever a field of an instance is written. What `replace(obj, value)`
    returns is stored instead of the value. Reading costs nothing: a descriptor without `__get__` leaves that
    to the interpreter, which gives it to who reads a field that the instance does not have."""

    def __init__(self, cls, name, wrote=None, replace=None):
        self.name = name
        self.label = "%s.%s" % (cls.__name__, name)
        self.wrote = wrote or _nothing
        self.replace = replace
        setattr(cls, name, self)

    def __bool__(self):
        return False

    def __set__(self, obj, value):
        try:
            if self.replace is not None:
                value = self.replace(obj, value)
        except Exception as error:
            self.replace = None
            _stand_back(self.label, error)
        obj.__dict__[self.name] = value
        try:
            self.wrote(obj, value)
        except Exception as error:
            self.wrote = _stand_back(self.label, error)

    def __delete__(self, obj):
        try:
            del obj.__dict__[self.name]
        except KeyError:
            raise AttributeError(self.name) from None


class Field(Written):
    """Also calls `read(obj, value)` whenever the field is read; what `give(obj, value)` returns is what
    the reader gets."""

    def __init__(self, cls, name, read=None, wrote=None, replace=None, give=None):
        Written.__init__(self, cls, name, wrote, replace)
        self.read = read
        self.give = give

    def __get__(self, obj, owner=None):
        if obj is None:
            raise AttributeError(self.name)
        try:
            value = obj.__dict__[self.name]
        except KeyError:
            raise AttributeError("%r object has no attribute %r" %
                                 (type(obj).__name__, self.name)) from None
        try:
            if self.read is not None:
                self.read(obj, value)
            if self.give is not None:
                return self.give(obj, value)
        except Exception as error:
            _stand_back(self.label, error)
            self.read = self.give = None
        return value


def guarded(function, *args):
    """Calls a hook where no descriptor does."""
    try:
        function(*args)
    except Exception as error:
        pass_on(error)
        _say("%s failed" % getattr(function, "__qualname__", function), error)


def hook(callback, label, stop):
    """The callback of an interpreter's hook, which `stop` ends after an error."""
    def seen(*args):
        try:
            return callback(*args)
        except Exception as error:
            _stand_back(label, error)
            stop()

    return seen


# Of the job's objects nothing runs here: a data set with a `__getattr__` or slots may answer, print or raise
# anything. Nor is the dictionary asked for of one whose methods run in the job's loops: in Python 3.11 and 3.12, each
# of its fields takes twice as long from then on.


def own(obj):
    """An object's dictionary."""
    try:
        return object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}


def part(obj, name, default=None):
    """A field that the object itself has."""
    of_class = next((vars(cls)[name] for cls in type(obj).__mro__ if name in vars(cls)), None)
    if hasattr(type(of_class), "__get__"):
        return default
    try:
        value = object.__getattribute__(obj, name)
    except AttributeError:
        return default
    return default if value is of_class else value


def parts(obj):
    """The values of its fields."""
    if not _LAZY or not type(obj).__flags__ & _MANAGED_DICT or issubclass(type(obj), _CONTAINERS):
        return list(own(obj).values())
    found = []
    for each in gc.get_referents(obj):
        if type(each) is dict and all(type(key) is str for key in each):  # perhaps its dictionary
            found += each.values()
        if each is not type(obj):
            found.append(each)
    return found


_LAZY = (3, 11) <= sys.version_info < (3, 13)  # no dictionary until it is asked for
_MANAGED_DICT = 1 << 4
_CONTAINERS = (list, tuple, dict, set, frozenset)


def field(obj, name, default=None):
    """A field or property of an object that has one: its `__getattr__` is not asked."""
    try:
        return getattr(obj, name) if hasattr(type(obj), name) else object.__getattribute__(obj, name)
    except AttributeError:
        return default
    except Exception as error:
        pass_on(error)
        return default


def uses(cls, method, *names):
    """True if the class defines a plain method whose code uses these names."""
    code = getattr(cls.__dict__.get(method), "__code__", None)
    return code is not None and all(name in code.co_names for name in names)


def wrapped(function, before, after=None):
    """For the few places where arguments have to be changed: `before(obj, args, kwargs)` returns
    what the function is called with, `after(obj)` comes behind it. From Python 3.11 on the traceback
    of what it raises stays as it would be; before, a re-raise restores our frame."""

    @functools.wraps(function)
    def wrapper(obj, *args, **kwargs):
        args, kwargs = before(obj, args, kwargs)
        try:
            result = function(obj, *args, **kwargs)
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            raise
        if after is not None:
            after(obj)
        return result

    return wrapper


def surrounded(function, begin, end):
    """For what has to be timed or counted: `begin(*args, **kwargs)` comes before the function, and
    `end(begun)`, with what that returned, behind it, whether it returns or raises. Its traceback
    stays as `wrapped` leaves it."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        begun = None
        try:
            begun = begin(*args, **kwargs)
        except Exception as error:
            pass_on(error)
            _say("%s is not recorded" % function.__qualname__, error)
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            raise
        finally:
            if begun is not None:
                guarded(end, begun)

    return wrapper


class Instead:
    """Stands for an object of the job's where one must be in the call chain. It has the class, the fields
    and the special methods of that object, and is copied and pickled as that object."""

    def __new__(cls, original, *_):
        special = {name: _passed_on(name) for name in _SPECIAL
                   if hasattr(type(original), name) and not hasattr(cls, name)}
        return object.__new__(type(cls.__name__, (cls,), special) if special else cls)

    def __init__(self, original):
        self._stallscope_original = original

    @property
    def __class__(self):
        return type(self._stallscope_original)

    def __getattr__(self, name):
        if name.startswith("_stallscope_"):
            raise AttributeError(name)
        return getattr(self._stallscope_original, name)

    def __setattr__(self, name, value):
        if name.startswith("_stallscope_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._stallscope_original, name, value)

    def __delattr__(self, name):
        delattr(self._stallscope_original, name)

    def __bool__(self):
        return bool(self._stallscope_original)

    def __repr__(self):
        return repr(self._stallscope_original)

    def __str__(self):
        return str(self._stallscope_original)

    def __copy__(self):
        import copy

        return copy.copy(self._stallscope_original)

    def __reduce_ex__(self, _):
        return operator.getitem, ((self._stallscope_original,), 0)


_SPECIAL = ("__len__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__reversed__",
            "__call__", "__enter__", "__exit__")


def _passed_on(name):
    def method(self, *args, **kwargs):
        return getattr(self._stallscope_original, name)(*args, **kwargs)

    return method


def _nothing(*_):
    return None


def _stand_back(label, error):
    pass_on(error)
    _say("%s is no longer watched" % label, error)
    return _nothing


def _say(what, error):
    try:
        session.say("%s: %s: %s" % (what, type(error).__name__, error))
    except Exception:
        pass  # the interpreter is shutting down, or the error has no text


def pass_on(error):
    """Raises it again where a signal handler of the job's has raised it, which may happen to run while
    a hook does: it is the job's, like KeyboardInterrupt."""
    signals = sys.modules.get("signal")
    handlers = set()
    for number in range(1, 65) if signals is not None else ():
        try:
            handler = signals.getsignal(number)
        except ValueError:
            continue
        if callable(handler):
            function = getattr(handler, "__func__", handler)
            code = getattr(function, "__code__", None)
            handlers.add(code or getattr(type(handler).__call__, "__code__", None))
    at = error.__traceback__
    while at is not None:
        if at.tb_frame.f_code in handlers:
            error.__traceback__ = at
            raise error
        at = at.tb_next
