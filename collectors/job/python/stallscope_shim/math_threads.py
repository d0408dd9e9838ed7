"""Whether the job's own code sets the number of its math library's threads: what is set from outside has
no effect then."""
import os

from . import loaders
from .watch import surrounded

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")

_place = None


def attach(torch):
    """`torch` is imported, has read the variables, and documents no more functions: it documents none
    that is written in Python."""
    global _place
    with open("/proc/self/environ", "rb") as file:  # as the process was given them
        given = dict(line.partition(b"=")[::2] for line in file.read().split(b"\0"))
    if b"STALLSCOPE_SESSION" not in given:
        given = dict(os.environb)  # written over, by setproctitle for one
    for name in _VARIABLES:
        if os.environb.get(name.encode()) != given.get(name.encode()):
            _place = name
    torch.set_num_threads = surrounded(torch.set_num_threads, _set, None)


def _set(*_):
    global _place
    line = loaders.job_line()
    if line:  # torch's own threads do it, too, for themselves
        _place = loaders.in_short(line)


def place():
    """The line that sets it, or the variable; None where nothing does."""
    return _place
