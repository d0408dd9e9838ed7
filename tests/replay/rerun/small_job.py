"""A small training job, for re-runs: 240 elements of a millisecond in batches of 4. With torch or the
stand-in. Files in its folder say what else it does, so that a re-run can differ from the recording.
"""
import os
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 240

    def __getitem__(self, index):
        time.sleep(0.001)
        return index


def main():
    with open("pids", "a") as pids:
        pids.write("%d\n" % os.getpid())
    with open("environment", "w") as seen:
        seen.write("%s %s\n" % (os.environ.get("TMPDIR"), os.environ.get("OMP_NUM_THREADS")))
    with open("pids") as pids:
        runs = len(pids.readlines())
    if os.path.exists("hang") or (os.path.exists("hang_again") and runs > 1):
        time.sleep(1000)
    loader = DataLoader(Slow(), batch_size=4, num_workers=0)
    optimizer = torch.optim.SGD()
    for number, batch in enumerate(loader):
        optimizer.zero_grad()
        time.sleep(0.001)
        optimizer.step()
        if number == 20 and os.path.exists("fail"):
            sys.exit("no more memory on the moon")


if __name__ == "__main__":
    main()
