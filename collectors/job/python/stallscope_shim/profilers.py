"""The profilers of TensorFlow, JAX and PyTorch, as `profile.py` opens them."""
import os
import sys

from . import profile
from .watch import Method, uses


class TensorFlow(profile.Profiler):
    name = "TensorFlow's profiler"
    kind = "xplane"
    hushed = ("profiler_session.cc", "Profiler session", "session_manager.cc", "save_profile.cc",
              "profiler_lock.cc", "cupti_tracer", "cupti_error_manager", "cupti_collector")

    def __init__(self):
        from tensorflow.python.profiler import profiler_v2

        self.module = profiler_v2
        if not hasattr(profiler_v2._profiler_lock, "ours"):
            profiler_v2._profiler_lock = profile.Gate(profiler_v2._profiler_lock)
        self.gate = profiler_v2._profiler_lock

    def busy(self):
        return self.module._profiler is not None

    def start(self, folder):
        self.gate.ours = True
        try:
            self.module.start(folder, self.module.ProfilerOptions(
                host_tracer_level=2, python_tracer_level=0, device_tracer_level=1))
        finally:
            self.gate.ours = False

    def stop(self, folder):
        ours, self.gate.ours = self.gate.ours, True
        try:
            self.module.stop()
        finally:
            self.gate.ours = ours
        return profile.found(folder, ".xplane.pb")

    def mark(self, text):
        from tensorflow.python.profiler import trace

        return trace.Trace(text)


class Jax(profile.Profiler):
    name = "JAX's profiler"
    kind = "xplane"
    hushed = TensorFlow.hushed

    def __init__(self):
        from jax._src import profiler

        self.module = profiler
        state = profiler._profile_state
        self.session = "session" if hasattr(state, "session") else "profile_session"
        getattr(state, self.session)  # raises on an unknown version of JAX: no window
        if not hasattr(state.lock, "ours"):
            state.lock = profile.Gate(state.lock)
        self.gate = state.lock

    def busy(self):
        return getattr(self.module._profile_state, self.session) is not None

    def start(self, folder):
        options = {}
        if hasattr(self.module, "ProfileOptions"):
            options["profiler_options"] = chosen = self.module.ProfileOptions()
            chosen.python_tracer_level = 0
        self.gate.ours = True
        try:
            self.module.start_trace(folder, **options)
        finally:
            self.gate.ours = False

    def stop(self, folder):
        ours, self.gate.ours = self.gate.ours, True
        try:
            self.module.stop_trace()
        finally:
            self.gate.ours = ours
        return profile.found(folder, ".xplane.pb")

    def mark(self, text):
        return self.module.TraceAnnotation(text)


class _JobsTorch:
    """Whether the job itself uses torch's profiler at the moment: from the warm-up of a schedule on,
    when torch does not call it enabled yet."""

    def __init__(self):
        self.job = None  # the id of the one that the job has prepared or started
        self.ours = False  # we do that ourselves
        self.known = False

    def attach(self, module):
        if uses(module.profile, "_prepare_trace", "_prepare_profiler"):
            Method(module.profile, "_prepare_trace", self._begins)
            Method(module.profile, "__exit__", self._ends)
            self.known = True

    def _begins(self, opened):
        if not self.ours:
            self.job = id(opened)
            profile.windows.job_profiles()

    def _ends(self, opened):
        if id(opened) == self.job:
            self.job = None


jobs_torch = _JobsTorch()


class Torch(profile.Profiler):
    name = "torch.profiler"
    kind = "kineto"
    hushed = ("ActivityProfilerController.cpp", "CuptiActivityProfiler.cpp",
              "CuptiActivityApi.cpp", "ActivityProfilerHandler.cpp", "DeviceProperties.cpp",
              "output_json.cpp", "Completed Stage")

    def __init__(self):
        import torch.profiler

        self.torch = torch
        self.open = None
        if not jobs_torch.known:
            raise AttributeError("profile._prepare_trace")

    def busy(self):
        enabled = getattr(self.torch._C._autograd, "_profiler_enabled", None)
        return jobs_torch.job is not None or (enabled is not None and enabled())

    def start(self, folder):
        from torch.profiler import ProfilerActivity

        activities = [ProfilerActivity.CPU]
        if self.torch.cuda.is_initialized():
            activities.append(ProfilerActivity.CUDA)
        jobs_torch.ours = True
        try:
            self.open = self.torch.profiler.profile(activities=activities)
            self.open.start()
        finally:
            jobs_torch.ours = False

    def stop(self, folder):
        opened, self.open = self.open, None
        opened.stop()
        path = os.path.join(folder, "trace.json")
        opened.export_chrome_trace(path)
        return path

    def mark(self, text):
        return self.torch.profiler.record_function(text)


def of_torch():
    """The profiler for a job that trains with PyTorch; None if it would show too little."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    # Not is_available(): querying the device would initialize it.
    device = cuda is not None and cuda.is_initialized()
    return Torch() if profile.wanted(everything=not device) else None


def of_jax():
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "devices"):
        return None
    device = jax.default_backend() != "cpu"
    return Jax() if profile.wanted(everything=not device) else None
