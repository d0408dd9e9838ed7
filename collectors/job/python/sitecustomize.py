"""Loads the shim into every Python of a recorded job, then the sitecustomize that it stands in for.

Runs before anything else in each interpreter: keep it short, import nothing heavy, never fail. Even
Python 2 can read this file; the shim itself needs 3.8.
"""
import os
import sys


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.version_info >= (3, 8) and os.environ.get("STALLSCOPE_SESSION"):
        # Compiled once, beside the sources in the session's folder, whatever the job's settings are:
        # compiling the shim in each process costs more than all the rest.
        settings = sys.dont_write_bytecode, sys.pycache_prefix
        sys.dont_write_bytecode, sys.pycache_prefix = False, None
        try:
            import stallscope_shim

            stallscope_shim.start(os.environ["STALLSCOPE_SESSION"])
        except Exception:
            pass  # nothing is recorded; the job runs as it would
        sys.dont_write_bytecode, sys.pycache_prefix = settings
    # The job sees the path it would have; children get theirs from PYTHONPATH.
    sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]


def _find_next():
    from _frozen_importlib_external import PathFinder

    return PathFinder.find_spec("sitecustomize", sys.path)


_load()
if sys.version_info < (3, 8):
    del sys.modules["sitecustomize"]
    import sitecustomize  # fails as it would without us where there is none
else:
    _spec = _find_next()
    if _spec is not None and _spec.loader is not None:
        from _frozen_importlib import module_from_spec

        _module = module_from_spec(_spec)
        sys.modules["sitecustomize"] = _module
        _spec.loader.exec_module(_module)
    else:
        # What `site` expects where there is none; an `import sitecustomize` of the job fails as well.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
