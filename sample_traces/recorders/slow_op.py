"""PyTorch's DataLoader in the trainer's own process, whose data set spends most of its time in one
function."""
import time

import torch
from torch.utils.data import DataLoader, Dataset


def read(index):
    time.sleep(0.0005)
    return [index + at for at in range(2000)]


def tokenize(values):
    total = 0
    for _ in range(6):
        for value in values:
            total += value * value % 7
    return total


class Texts(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, index):
        return torch.full((8,), float(tokenize(read(index))))


if __name__ == "__main__":
    torch.set_num_threads(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    for batch in DataLoader(Texts(), batch_size=8, num_workers=0):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        time.sleep(0.004)
