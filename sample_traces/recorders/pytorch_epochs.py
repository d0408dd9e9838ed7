#!/usr/bin/env python3
"""Records three epochs of PyTorch on the CPU, with workers that stay or are started anew for each.

    python3 -m venv torch && torch/bin/pip install torch numpy
    torch/bin/python pytorch_epochs.py --start fork -o forked.json
    torch/bin/python pytorch_epochs.py --start fork --persistent -o kept.json

Prints the fetches around each epoch's end. The figures in analyzer/findings/restarts.h are from
PyTorch 2.15 on two cores.
"""
import argparse
import json
import time

import torch
from torch.profiler import ProfilerActivity, profile

BATCH = 8
BATCHES = 30
EPOCHS = 3
WIDTH = 1280


class Store(torch.utils.data.Dataset):
    def __len__(self):
        return BATCHES * BATCH

    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.rand(64), index % 10


def train(loader):
    model = torch.nn.Sequential(
        torch.nn.Linear(64, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = torch.nn.CrossEntropyLoss()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(EPOCHS):
            for samples, labels in loader:
                for _ in range(10):
                    optimizer.zero_grad()
                    criterion(model(samples), labels).backward()
                    optimizer.step()
    return profiler


def print_ends(path):
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    fetches = sorted(
        (event["ts"], event["dur"])
        for event in events
        if event.get("name", "").startswith("enumerate(DataLoader)#")
    )
    median = sorted(duration for _, duration in fetches)[len(fetches) // 2]
    print(f"a fetch takes {median:.0f} us")
    for epoch in range(1, EPOCHS):
        last = epoch * (BATCHES + 1) - 1
        between = fetches[last + 1][0] - fetches[last][0] - fetches[last][1]
        print(
            f"end of epoch {epoch}: {fetches[last][1]:.0f} us, {between:.0f} us between, "
            f"first of the next: {fetches[last + 1][1]:.0f} us"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--start", choices=["fork", "spawn"], default="fork")
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Store(),
        BATCH,
        shuffle=True,
        num_workers=2,
        persistent_workers=arguments.persistent,
        multiprocessing_context=arguments.start,
    )
    train(loader).export_chrome_trace(arguments.output)
    print_ends(arguments.output)


if __name__ == "__main__":
    main()
