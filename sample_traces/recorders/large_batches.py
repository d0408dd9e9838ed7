"""PyTorch's DataLoader sends batches of many small Python objects from its workers."""
import torch
from torch.utils.data import DataLoader, Dataset


class Records(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, index):
        return [{"word": str(number), "at": number} for number in range(4000)]


def keep(batch):
    return batch


if __name__ == "__main__":
    torch.set_num_threads(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    for batch in DataLoader(Records(), batch_size=8, num_workers=2, collate_fn=keep):
        optimizer.zero_grad()
        model(torch.full((8,), float(len(batch)))).sum().backward()
        optimizer.step()
