"""How many samples are in a batch, which may be any object of the job's."""
from collections.abc import Mapping

from .watch import field, pass_on


def samples(data, collated, asked=None):
    """How many samples a batch has. `asked`: the loader has asked its data set for so many, which need not
    all be there."""
    try:
        found = _samples(data, collated, 0)
    except Exception as error:
        pass_on(error)
        found = 0
    if asked is None:
        return found or 1
    # In a list of images, the first dimension is the color.
    listed = isinstance(data, (list, tuple)) and data and (
        len(data) == asked or isinstance(data[0], (list, tuple)) and len(data[0]) == asked)
    return asked if listed or not found else min(found, asked)


def _samples(data, collated, depth):
    """The first dimension of its first tensor; 0 where there is none."""
    shape = field(data, "shape")
    if shape is not None and not callable(shape):
        return int(shape[0]) if len(shape) else 0
    if depth < 4 and isinstance(data, Mapping) and len(data):
        return _samples(next(iter(data.values())), collated, depth + 1)
    if depth < 4 and isinstance(data, (list, tuple)) and data:
        return _samples(data[0], collated, depth + 1) or (len(data) if collated else 0)
    return 0
