from . import _utils
from .dataloader import DataLoader, Dataset, IterableDataset, Subset, get_worker_info
