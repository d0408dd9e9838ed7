"""Loops over data sets of libraries, where no DataLoader hands out the batches.

    WebDataset   a pipeline around a DataLoader (`WebLoader(...).unbatched().batched(8)`), or without one
    datasets     `data.iter(batch_size)`

Inside of a DataLoader these data sets are a part of its fetch: `ops.py` names what they do there.
"""
import functools
import sys

from . import loaders, plain, session


def webdataset(module):
    """`module` is webdataset.pipeline."""
    loaders.framework("webdataset")
    pipeline = module.DataPipeline
    iterate = pipeline.__dict__["__iter__"]

    @functools.wraps(iterate)
    def __iter__(data):
        iterator = iterate(data)
        try:
            stages = data.pipeline
            if _free() and not (len(stages) == 1 and _is_data_loader(stages[0])):
                return plain.watch(iterator, data, loaders.place_of(data), _shape(stages))
        except Exception as error:
            session.say("the batches of a WebDataset pipeline are not seen: %s" % error)
        return iterator

    pipeline.__iter__ = __iter__


def _shape(stages):
    """What a pipeline's stages are called: "SimpleShardList, split_by_worker, map"."""
    names = []
    for stage in stages:
        function = getattr(stage, "f", stage)
        names.append(getattr(function, "__name__", type(stage).__name__).strip("_"))
    return ", ".join(names)[:200]


def datasets(name):
    """For `name`, a class of Hugging Face's datasets, in the module that is passed then."""

    def attach(module):
        loaders.framework("datasets")
        cls = getattr(module, name)
        iterate = cls.__dict__["iter"]

        @functools.wraps(iterate)
        def iter(data, batch_size, *args, **kwargs):
            iterator = iterate(data, batch_size, *args, **kwargs)
            if not _free():
                return iterator
            try:
                return plain.watch(iterator, data, loaders.place_of(data), "", samples=_rows)
            except Exception as error:
                session.say("the batches of a data set are not seen: %s" % error)
                return iterator

        cls.iter = iter

    return attach


def _rows(batch):
    """A batch is a dictionary of columns."""
    return len(next(iter(batch.values()))) if isinstance(batch, dict) and batch else len(batch)


def _free():
    """No DataLoader is about to iterate: it would do so for its own batches."""
    data = sys.modules.get(__package__ + ".data")
    return data is None or not data.busy()


def _is_data_loader(stage):
    torch = sys.modules.get("torch.utils.data.dataloader")
    return torch is not None and isinstance(stage, torch.DataLoader)
