"""PyTorch's DataLoader restarts its workers in each of many short epochs."""
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, index):
        time.sleep(0.001)
        return torch.full((8,), float(index))


if __name__ == "__main__":
    torch.set_num_threads(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    loader = DataLoader(Images(), batch_size=8, num_workers=2)
    for epoch in range(8):
        for batch in loader:
            optimizer.zero_grad()
            model(batch).sum().backward()
            optimizer.step()
            time.sleep(0.01)
