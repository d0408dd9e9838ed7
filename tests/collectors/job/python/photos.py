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


def own_part(count):
    from torch.utils.data import get_worker_info

    info = get_worker_info()
    return range(0 if info is None else info.id, count, 1 if info is None else info.num_workers)
