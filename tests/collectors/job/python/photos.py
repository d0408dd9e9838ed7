"""A data set's base class, and a function beside it."""
import time

from torch.utils.data import Dataset


class Photos(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return self.augment(index)


def pause():
    time.sleep(0.002)
