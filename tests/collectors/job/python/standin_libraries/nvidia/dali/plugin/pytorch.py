"""A stand-in for DALI's iterators: the parts that the shim uses."""

from nvidia.dali.pipeline import Pipeline  # noqa: F401


class _DaliBaseIterator:
    def __init__(self, pipelines, count):
        self._pipes, self._count = pipelines, count

    def __iter__(self):
        return self


class DALIGenericIterator(_DaliBaseIterator):
    def __next__(self):
        if not self._count:
            raise StopIteration
        self._count -= 1
        return [{"data": [self._count] * 4}]


class DALIClassificationIterator(DALIGenericIterator):
    pass
