"""Graphs of nodes that are run one element after the other."""


class _Shape(tuple):
    pass


class Tensor:
    def __init__(self, values, shape):
        self.values, self.shape = values, _Shape(shape)


class Spec:
    def __init__(self, shape):
        self.shape = shape


class Function:
    def __init__(self, func):
        self._func = func


class DatasetV2:
    element_spec = Spec(())

    def __init__(self, before=None):
        self._input_dataset = before

    def _inputs(self):
        return [] if self._input_dataset is None else [self._input_dataset]

    @staticmethod
    def range(count):
        return _RangeDataset(count)

    def map(self, func, num_parallel_calls=None):
        return _ParallelMapDataset(self, func, num_parallel_calls)

    def batch(self, size):
        return _BatchDataset(self, size)

    def prefetch(self, size):
        return _PrefetchDataset(self, size)

    def __iter__(self):
        from tensorflow.python.data.ops import iterator_ops

        return iterator_ops.OwnedIterator(self)

    def elements(self):
        return self._input_dataset.elements()


class _RangeDataset(DatasetV2):
    def __init__(self, count):
        super().__init__()
        self._stop = count

    def elements(self):
        return iter(range(self._stop))


class _ParallelMapDataset(DatasetV2):
    def __init__(self, before, func, calls):
        self._map_func = Function(func)
        self._num_parallel_calls = calls
        super().__init__(before)

    def elements(self):
        return (self._map_func._func(x) for x in self._input_dataset.elements())


class _BatchDataset(DatasetV2):
    def __init__(self, before, size):
        self._batch_size = size
        super().__init__(before)

    @property
    def element_spec(self):
        return Spec((None,))

    def elements(self):
        batch = []
        for x in self._input_dataset.elements():
            batch.append(x)
            if len(batch) == self._batch_size:
                yield batch
                batch = []


class _PrefetchDataset(DatasetV2):
    def __init__(self, before, size):
        self._buffer_size = size
        super().__init__(before)

    @property
    def element_spec(self):
        return self._input_dataset.element_spec
