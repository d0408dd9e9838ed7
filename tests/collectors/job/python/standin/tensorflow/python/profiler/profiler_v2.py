"""One profiler at a time; its file names the spans that were traced."""
import collections
import os
import sys
import threading

from tensorflow.python.profiler import trace

_profiler = None
_profiler_lock = threading.Lock()
ProfilerOptions = collections.namedtuple(
    "ProfilerOptions", "host_tracer_level python_tracer_level device_tracer_level")


def start(logdir, options=None):
    global _profiler
    with _profiler_lock:
        if _profiler is not None:
            raise RuntimeError("Another profiler is running.")
        os.write(2, b"I0000 profiler_session.cc:104] Profiler session started.\n")
        _profiler = logdir
        trace.spans = []


def stop(save=True):
    global _profiler
    with _profiler_lock:
        if _profiler is None:
            raise RuntimeError("No profiler is running.")
        os.write(2, b"I0000 profiler_session.cc:139] Profiler session tear down.\n")
        if "NOISE" in os.environ:
            os.write(2, b"another thread says this\n")
        folder = os.path.join(_profiler, "plugins", "profile", "today")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "host.xplane.pb"), "w") as f:
            f.write("\n".join(trace.spans))
        _profiler = None
    sys.stderr.flush()
