#!/usr/bin/env python3
"""Records sample_traces/pytorch_workers_*.json.gz: a small training loop of PyTorch's on the CPU.

    python3 -m venv torch && torch/bin/pip install torch numpy
    torch/bin/python pytorch_dataloader.py --workers 0 -o pytorch_workers_0.json.gz
    torch/bin/python pytorch_dataloader.py --workers 2 -o pytorch_workers_2.json.gz

Fetching a sample takes 4 ms in which the CPU has nothing to do, as from a store over the network:
with no workers the trainer's own thread waits for all 8 of a batch, with two they are fetched while
it computes.
"""
import argparse
import gzip
import os
import tempfile
import time

import torch
from torch.profiler import ProfilerActivity, profile, schedule

BATCH = 8
FETCH_S = 0.004
WIDTH = 1280


class Store(torch.utils.data.Dataset):
    def __len__(self):
        return 100 * BATCH

    def __getitem__(self, index):
        time.sleep(FETCH_S)
        generator = torch.Generator().manual_seed(index)
        return torch.rand(WIDTH, generator=generator), index % 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()

    torch.manual_seed(7)
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Store(), BATCH, shuffle=True, num_workers=arguments.workers
    )
    model = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 2 * WIDTH), torch.nn.ReLU(), torch.nn.Linear(2 * WIDTH, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = torch.nn.CrossEntropyLoss()

    warm_up = 3
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=warm_up, active=arguments.steps),
    ) as profiler:
        for step, (samples, labels) in enumerate(loader):
            if step == 1 + warm_up + arguments.steps:
                break
            # Several passes over a batch: a step that is worth waiting for.
            for _ in range(4):
                optimizer.zero_grad()
                criterion(model(samples), labels).backward()
                optimizer.step()
            profiler.step()
    with tempfile.TemporaryDirectory() as folder:
        # The file's name stands in the trace: one without a folder is the same everywhere.
        back = os.getcwd()
        os.chdir(folder)
        profiler.export_chrome_trace(f"workers_{arguments.workers}.json")
        os.chdir(back)
        with open(os.path.join(folder, f"workers_{arguments.workers}.json"), "rb") as file:
            text = file.read()
    with open(arguments.output, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as out:
        out.write(text)


if __name__ == "__main__":
    main()
