class EpochIterator:
    """`unknown`: the number of batches; then the one behind the last is asked for, too."""

    def __init__(self, dataset, unknown=False):
        self._distributed_dataset = dataset
        self.data_adapter = None
        self.unknown = unknown
        self._current_iterator = None

    def _enumerate_iterator(self):
        self._current_iterator = list(self._distributed_dataset.elements())
        yield from self._current_iterator
        if self.unknown:
            yield None

    def __iter__(self):
        return self._enumerate_iterator()

    def ran_out(self):
        self._current_iterator = None
