"""A stand-in for DALI's pipelines: the parts that the shim uses."""


class Pipeline:
    max_batch_size = 4

    def __init__(self, num_threads=2, prefetch_queue_depth=2):
        self.num_threads, self.prefetch_queue_depth = num_threads, prefetch_queue_depth
