"""Reads a session's folder the way `stallscope run` does, for tests.

    session = read(folder)
    session.processes → [Process]; process.names → {kind: [..]}; process.events → [Event]
"""
import collections
import json
import os
import struct

Event = collections.namedtuple("Event", "kind tid start end stage item cpu extra")

_TAGS = {1: "work", 2: "wait", 5: "push", 6: "pop", 7: "release", 8: "lineage", 9: "batch",
         14: "step", 16: "gap", 17: "named"}
_SLOTS = {8: 1, 9: 2, 14: 3, 16: 2}
_CAUSES = {0: "unknown", 1: "empty", 2: "full", 3: "io", 4: "device", 5: "lock", 6: "startup"}


class Process:
    def __init__(self, key):
        self.key = key
        self.pid = int(key.partition(".")[0])
        self.names = collections.defaultdict(list)
        self.events = []
        self.dropped = 0
        self.rings = 0

    def of(self, kind):
        """Definitions of a kind, by id; the last line counts."""
        return {d["id"]: d for d in self.names[kind]}

    def texts(self):
        found = {d["id"]: d["text"] for d in self.names["string"]}
        found.update({d["id"]: d["name"] for d in self.names["op"]})
        return found

    @property
    def name(self):
        return self.names["process"][-1]["name"] if self.names["process"] else ""

    @property
    def said(self):
        return self.names["said"]


class Session:
    def __init__(self):
        self.processes = []

    def events(self, kind=None, stage=None):
        return [(p, e) for p in self.processes for e in p.events
                if (kind is None or e.kind == kind) and (stage is None or e.stage == stage)]

    @property
    def steps(self):
        return sorted((e for _, e in self.events("step")), key=lambda e: e.start)

    @property
    def said(self):
        return [s for p in self.processes for s in p.said]

    @property
    def main(self):
        return next(p for p in self.processes if any(e.kind == "step" for e in p.events))


def read(folder):
    session = Session()
    keys = {}
    # A ring whose maker was killed in the middle of it has a name that begins with a dot.
    files = sorted(f for f in os.listdir(folder) if not f.startswith("."))
    for file in files:
        if file.endswith(".names"):
            with open(os.path.join(folder, file), "rb") as f:
                lines = f.read().split(b"\n")
            if lines == [b""]:
                continue  # on a full disk there may be no room for even one line
            process = keys[file[:-6]] = Process(file[:-6])
            session.processes.append(process)
            assert lines[-1] == b"", "a line without its end"
            for line in lines[:-1]:
                (kind, value), = json.loads(line.decode("ascii")).items()
                process.names[kind].append(value)
            assert list(process.names)[0] == "process", "the process comes first"
            for kind in ("loader", "queue", "stage", "track"):
                ids = sorted({d["id"] for d in process.names[kind]})
                assert ids == list(range(len(ids))), (kind, ids)
    for file in files:
        if file.endswith(".ring"):
            pid, start, tid, _, _ = file.split(".")
            _read_ring(os.path.join(folder, file), keys["%s.%s" % (pid, start)], int(tid))
    return session


def last_arrivals(folder):
    """Batch → the last batch of another loader that went into it."""
    found = {}
    for file in os.listdir(folder):
        if file.endswith(".ring"):
            with open(os.path.join(folder, file), "rb") as f:
                data = f.read()
            slots, published = struct.unpack_from("<Q", data, 16)[0], struct.unpack_from(
                "<Q", data, 64)[0]
            for i in range(min(slots, published)):
                _, b, item = struct.unpack_from("<3Q", data, 4096 + 24 * i)
                if b & 0xFF == 9:
                    last = struct.unpack_from("<Q", data, 4096 + 24 * (i + 1))[0]
                    if last != (1 << 64) - 1:
                        found[item] = last
    return found


def _read_ring(path, process, tid):
    with open(path, "rb") as f:
        data = f.read()
    words = struct.unpack_from("<17Q", data)
    assert data[:8] == b"\x89SSTRING" and words[1] == 1, "magic, version"
    slots, pid, in_header, published = words[2], words[3], words[4], words[8]
    assert len(data) == 4096 + 24 * slots and pid == process.pid and in_header == tid
    process.rings += 1
    process.dropped += words[9]
    stages = {d["id"]: d["name"] for d in process.names["stage"]}
    texts = process.texts()

    def slot(i):
        return struct.unpack_from("<3Q", data, 4096 + 24 * (i % slots))

    i = words[16]  # tail
    assert published - i <= slots, "the ring is overrun"
    while i < published:
        a, b, c = slot(i)
        tag, low, high = b & 0xFF, b >> 8 & 0xFFFF, b >> 24
        kind = _TAGS[tag]
        rest = [slot(i + k) for k in range(1, _SLOTS.get(tag, 1))]
        i += 1 + len(rest)
        cpu = size = None
        if tag in (1, 2, 17):
            if high == 0 and i < published and slot(i)[1] & 0xFF == 4:
                high = slot(i)[0]
                i += 1
            if tag != 2 and i < published and slot(i)[1] & 0xFF == 3:
                size, _, cpu = slot(i)
                i += 1
        if kind == "work":
            event = Event(kind, tid, a, a + high, stages[low], c, cpu, size)
        elif kind == "wait":
            queue = process.of("queue")[low >> 3]["name"] if low >> 3 != 0x1FFF else None
            event = Event(kind, tid, a, a + high, None, None, None, (_CAUSES[low & 7], queue))
        elif kind == "named":
            stage = (c >> 32) - 1
            event = Event(kind, tid, a, a + high, stages[stage] if stage >= 0 else None, None, cpu,
                          (low, texts[c & 0xFFFFFFFF]))
        elif kind == "release":
            event = Event(kind, tid, a, a + high, stages[low], c, None, None)
        elif kind == "lineage":
            event = Event(kind, tid, 0, 0, stages[low], a, None, c)
        elif kind == "batch":
            event = Event(kind, tid, a, a, stages[low], c, None, high)
        elif kind == "step":
            (received, issued, done), (index, _, _) = rest
            assert a <= received <= done
            event = Event(kind, tid, a, done, None, c, None,
                          {"received": received, "issued": issued, "samples": high, "index": index})
        else:
            event = Event(kind, tid, a, a, None, c, None, rest)
        process.events.append(event)
    assert i == published, "an event is cut"
