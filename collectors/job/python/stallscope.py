"""Names the parts of a training loop for `stallscope run`. Outside of a recording, everything here
does nothing.

    import stallscope

    for batch in stallscope.loader(batches()):     # any iterable that hands out batches
        train(batch)
        stallscope.step()                          # where no PyTorch optimizer steps

    def batches():
        for file in files:
            with stallscope.stage("read"):         # or @stallscope.stage("read") on a function
                data = read(file)
            yield decode(data)

`stallscope run` provides this module. A program that also runs without stallscope needs this one
file, which is installed in share/stallscope/python.
"""
__all__ = ["loader", "stage", "step"]

import sys

if "stallscope_shim" in sys.modules:  # `stallscope run` has put it there
    from stallscope_shim.api import loader, stage, step
else:

    def loader(batches, name=None, samples=None, workers=0):
        """Returns `batches` unchanged. In a recording: the source of the loop's batches. `name` is
        the data's name in the report, `samples` the number per batch (or a function that returns
        it), `workers` the number of processes that make the batches."""
        return batches

    class stage:
        """A part of making a batch: a context manager, or a decorator of a function or generator."""

        __slots__ = ()

        def __init__(self, name):
            pass

        def __call__(self, function):
            return function

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    def step():
        """The model has been updated: the batches since the last call were for training."""
