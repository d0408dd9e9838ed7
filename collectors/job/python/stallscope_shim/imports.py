"""Calls back once a module has been imported, in front of the importers that find it."""
import sys

_wanted = {}
_offered = {}  # name of a module of ours → its file


def call(name, callback):
    """Calls `callback(module)` when the module has been executed, or now if it has been."""
    module = sys.modules.get(name)
    if module is not None:
        _safely(callback, module)
        return
    _wanted[name] = callback
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def _safely(callback, module):
    settings = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode, sys.pycache_prefix = False, None  # as in sitecustomize
    try:
        callback(module)
    except Exception as error:
        from . import session, watch

        watch.pass_on(error)
        session.say("%s is not recognized (%s: %s): nothing in it is recorded" %
                    (module.__name__, type(error).__name__, error))
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = settings


def offer(name, file):
    """Lets the job import our module `name`, unless it has a module of that name itself."""
    _offered[name] = file
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def _own(name):
    from importlib.util import spec_from_file_location

    return spec_from_file_location(name, _offered[name])


class _Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in _offered:
            for finder in sys.meta_path:
                if finder is not cls and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(name, path, target)
                    if spec is not None and spec.origin is not None:  # otherwise a folder of that name
                        return spec
            return _own(name)
        if name not in _wanted:
            return None
        for finder in sys.meta_path:
            if finder is not cls and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    _hook(spec, name)
                    return spec
        return None


def _hook(spec, name):
    """On the loader's instance, and only until the module has been executed: the module's
    `__loader__` and `__spec__` stay what they would be."""
    loader = spec.loader
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return

    def exec_module(module):
        try:
            del loader.exec_module
        except AttributeError:
            pass
        try:
            execute(module)
        except BaseException as error:  # the traceback stays as it would be (Python 3.11 and later)
            error.__traceback__ = error.__traceback__.tb_next
            raise
        # Only now: who looks for a module does not always import it.
        callback = _wanted.pop(name, None)
        if callback is not None:
            _safely(callback, module)

    try:
        loader.exec_module = exec_module
    except AttributeError:
        pass
