"""One rank of a distributed job, which torchrun starts: data parallel, on gloo, with workers."""
import torch
import torch.distributed
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def main():
    torch.distributed.init_process_group("gloo")
    data = TensorDataset(torch.arange(64.0).reshape(-1, 1))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler, num_workers=1,
                        multiprocessing_context="fork")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
