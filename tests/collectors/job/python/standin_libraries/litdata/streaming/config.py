"""A stand-in for litdata's chunks."""
import os
import time


class ChunksConfig:
    def __init__(self, folder):
        self.folder = folder

    def download_filepath(self, index):
        return os.path.join(self.folder, "chunk-%d" % index)

    def download_chunk_from_index(self, index, skip_lock=False):
        if not os.path.exists(self.download_filepath(index)):
            time.sleep(0.002)
            open(self.download_filepath(index), "w").close()

    def try_decompress(self, path):
        sum(range(10000))
