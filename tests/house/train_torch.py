"""The same with PyTorch's DataLoader."""
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, index):
        time.sleep(0.005)
        return torch.full((8,), float(index))


if __name__ == "__main__":
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    for batch in DataLoader(Images(), batch_size=4, num_workers=0):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
