"""A writer after RING.md and nothing else: python3 writer.py SPANS"""
import json
import mmap
import os
import struct
import sys
import threading
import time

session = os.environ["STALLSCOPE_SESSION"]
with open("/proc/self/stat", "rb") as file:
    start = int(file.read().rsplit(b")", 1)[1].split()[19])
key = "%d.%d" % (os.getpid(), start)


def name(kind, value):
    with open(os.path.join(session, key + ".names"), "ab", buffering=0) as file:
        file.write(json.dumps({kind: value}).encode() + b"\n")


class Ring:
    SLOTS = 8192

    def __init__(self):
        tid = threading.get_native_id()
        path = "%s.%d.0.ring" % (key, tid)
        hidden = os.path.join(session, "." + path)
        fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        size = 4096 + 24 * self.SLOTS
        os.posix_fallocate(fd, 0, size)
        self.map = mmap.mmap(fd, size)
        os.close(fd)
        self.words = memoryview(self.map).cast("Q")
        self.map[0:64] = b"\x89SSTRING" + struct.pack(
            "<7Q", 1, self.SLOTS, os.getpid(), tid, start, 0, 0)
        os.rename(hidden, os.path.join(session, path))
        self.published = 0

    def put(self, *slots):
        if self.published + len(slots) - self.words[16] > self.SLOTS:
            self.words[9] += 1
            return
        for slot in slots:
            struct.pack_into("<3Q", self.map, 4096 + 24 * (self.published % self.SLOTS), *slot)
            self.published += 1
        self.words[8] = self.published

    def close(self):
        self.words[13] = 1


name("process", {"pid": os.getpid(), "parent": os.getppid(), "name": "writer.py",
                 "python": "%d.%d.%d" % sys.version_info[:3],
                 "argv": ["python3", "writer.py", "--token", "hunter2"]})
name("framework", {"name": "torch", "version": "2.9.0"})
name("loader", {"id": 0, "kind": "torch.utils.data.DataLoader", "dataset": "Images",
                "where": {"file": "/train.py", "line": 12}, "settings": {"num_workers": 0}})
name("queue", {"id": 0, "name": "loader", "capacity": 4, "loader": 0})
name("stage", {"id": 0, "name": "fetch", "kind": "map", "loader": 0, "workers": 1, "queue": 0})
name("stage", {"id": 1, "name": "trainer", "kind": "trainer", "inputs": [0]})
name("op", {"id": 0, "name": "Resize", "file": "/train.py", "line": 30})
name("track", {"id": 0, "tid": threading.get_native_id(), "name": "main", "stage": 1})
name("said", "the pinning thread is not seen")
ring = Ring()
for i in range(int(sys.argv[1])):
    begin = time.monotonic_ns()
    end = time.monotonic_ns()
    item = 3 << 32 | i
    ring.put((begin, 17 | 7 << 8 | (end - begin) << 24, 1 << 32))
    ring.put((begin, 1 | 0 << 8 | (end - begin) << 24, item), (1000, 3, end - begin))
    ring.put((begin, 14 | 16 << 24, item), (end, end, end), (i, 0, 0))
    if i % 500 == 499:
        time.sleep(0.03)
ring.close()
