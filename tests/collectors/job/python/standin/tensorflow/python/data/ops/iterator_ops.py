from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.eager import context


class OwnedIterator:
    def __init__(self, dataset):
        self._dataset = dataset
        self._element_spec = dataset.element_spec
        self._elements = dataset.elements()

    def __iter__(self):
        return self

    def _next_internal(self):
        if not context.executing_eagerly():
            return None
        values = next(self._elements)
        ret = [dataset_ops.Tensor(values, (len(values),))]
        self._element_spec
        return ret[0]

    def __next__(self):
        return self._next_internal()
