class DataLoaderShard:
    """Asks for the next batch before it hands one out."""

    def __init__(self, loader):
        self.base_dataloader = loader

    def __iter__(self):
        batches = iter(self.base_dataloader)
        batch = next(batches)
        while batch is not None:
            ahead = next(batches, None)
            yield batch
            batch = ahead
