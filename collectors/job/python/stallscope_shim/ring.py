"""A thread's ring: where it writes its events. RING.md has the layout.

`mine()` is the calling thread's ring, made at its first event; a thread that cannot have one gets a
ring that discards. Nothing here waits or raises. A put costs 1 us warm and ten times that between
other work, whatever its size: what a thread does for one batch is put together.
"""
import mmap
import os
import struct
import time
from _thread import _local, get_native_id

from . import session

now = time.monotonic_ns  # bound now: a job may replace what is in `time`
cpu = getattr(time, "thread_time_ns")

SLOTS = 8192
NONE = (1 << 64) - 1
WORK, WAIT, COST, DURATION, RELEASE, LINEAGE, BATCH = 1, 2, 3, 4, 7, 8, 9
STEP, GAP, NAMED = 14, 16, 17
EMPTY, FULL, IO, LOCK, STARTUP = 1, 2, 3, 5, 6  # causes of a wait
ANNOTATION, OP, EVALUATION = 4, 7, 8  # activities of a named span

_HEADER = 4096
_MAGIC = b"\x89SSTRING"
_PUBLISHED, _DROPPED, _GAP_FROM, _GAP_TO, _GAP_DROPPED, _CLOSED, _TAIL = 8, 9, 10, 11, 12, 13, 16
_SHORT = 1 << 40
_packers = {}
_MAX_RINGS = 1000  # of a process, at a time

_here = _local()
_rings = 0
_kept = []  # mappings that cannot be closed safely


def mine():
    try:
        return _here.ring
    except AttributeError:
        _here.ring = ring = _make()
        return ring


def later(words):
    """Writes them with the calling thread's next put, in front."""
    try:
        _here.ring.pending += words
    except AttributeError:
        mine().pending += words


def name_thread(name=None, stage=None):
    """What the calling thread is called in the trace, and the stage that it works for."""
    _here.name = name = name or _name_of(get_native_id())
    _here.stage = stage
    ring = getattr(_here, "ring", None)
    if ring is not None and isinstance(ring, _Ring) and ring.track is not None:
        session.redefine("track", ring.track, tid=get_native_id(), name=name, **_works_for())


def stage_of_thread():
    return getattr(_here, "stage", None)


def _works_for():
    stage = getattr(_here, "stage", None)
    return {} if stage is None else {"stage": stage}


def _name_of(tid):
    name = getattr(_here, "name", None)
    return name or ("main" if tid == os.getpid() else _thread_name())


def _forked():
    global _here, _rings
    _here = _local()
    _rings = 0


session.fork_hooks.append(_forked)


def _make():
    global _rings
    if session.broken() or _rings >= _MAX_RINGS:
        return _Nowhere()
    tid = get_native_id()
    try:
        ring = _Ring(tid)
    except (OSError, ValueError) as error:
        session.say("a thread cannot write its events: %s" % error)
        return _Nowhere()
    _rings += 1
    ring.track = session.define("track", tid=tid, name=_name_of(tid), **_works_for())
    return ring


def _thread_name():
    import threading

    # Not current_thread(): for a thread that is not Python's it registers a dummy.
    thread = threading._active.get(threading.get_ident())
    return "thread" if thread is None else thread.name[:60]


# What can be written: each returns the words of an event, three per slot. They may be added up.


def work(stage, item, start, end, cpu=0, size=0, kind=WORK):
    """Any span has this form, its `kind` says what `stage` and `item` are. Not in a function behind this one:
    each costs its cold caches."""
    duration = end - start
    kind |= stage << 8
    if 0 < duration < _SHORT:
        words = (start, kind | duration << 24, item)
    elif duration <= 0:
        words = (start, kind, item)
    else:
        words = (start, kind, item, duration, DURATION, 0)
    if cpu > 0 or size:
        words += (size, COST, cpu if cpu > 0 else 0)
    return words


def wait(cause, queue, start, end):
    return work(cause | queue << 3, 0xFFFFFFFF, start, end, kind=WAIT)


def named(activity, name, start, end, stage=None, cpu=0):
    c = name if stage is None else name | stage + 1 << 32
    return work(activity, c, start, end, cpu, kind=NAMED)


def release(stage, item, completed, released):
    return work(stage, item, completed, released, kind=RELEASE)


def lineage(stage, item, into):
    return item, LINEAGE | stage << 8, into


def batch(stage, item, size, time, last=NONE):
    """`last`: the last batch of another loader that went into this one."""
    return (time, BATCH | stage << 8 | (size & 0xFFFFFFFF) << 24, item, last, 0xFFFFFFFF, 0)


def step(item, requested, received, done, samples, index):
    return (requested, STEP | (samples & 0xFFFFFFFF) << 24, item,
            received, received, done, index, 0, 0)


class _Nowhere:
    track = None
    pending = property(lambda self: (), lambda self, words: None)

    def put(self, time, words):
        pass


class _Ring:
    track = None

    def __init__(self, tid):
        self.slots = SLOTS
        self.mask = SLOTS - 1
        self.head = 0
        self.limit = SLOTS
        self.busy = False
        self.pending = ()
        self.pid = os.getpid()
        self.map, self.fd = _create(tid, SLOTS)
        self.words = memoryview(self.map)[:_HEADER].cast("Q")

    def put(self, time, words):
        """Writes events that end at `time`, all of them or none."""
        if self.pending:
            words, self.pending = self.pending + words, ()
        if not words:
            return
        if self.busy:  # a finalizer or a signal handler in the middle of a put
            self.words[_DROPPED] += 1
            return
        self.busy = True
        try:
            size = len(words)
            count = size // 3
            if self.head + count > self.limit and not self._make_room(time, count):
                return
            head = self.head
            at = head & self.mask
            if at + count <= self.slots:
                (_packers.get(size) or _pack(size))(self.map, _HEADER + 24 * at, *words)
            else:
                for i in range(count):
                    _one(self.map, _HEADER + 24 * ((at + i) & self.mask), *words[3 * i:3 * i + 3])
            self.head = head = head + count
            self.words[_PUBLISHED] = head
        finally:
            self.busy = False

    def _make_room(self, time, count):
        words = self.words
        self.limit = min(words[_TAIL], self.head) + self.slots
        gap = words[_GAP_DROPPED]
        if gap and self.head + 2 + count <= self.limit:
            for slot in ((words[_GAP_FROM], GAP, gap), (words[_GAP_TO], 0, 0)):
                _one(self.map, _HEADER + 24 * (self.head & self.mask), *slot)
                self.head += 1
            words[_PUBLISHED] = self.head
            words[_GAP_DROPPED] = 0
            return True
        if not gap and self.head + count <= self.limit:
            return True
        if not gap:
            words[_GAP_FROM] = time
        words[_GAP_TO] = time
        words[_GAP_DROPPED] = gap + 1
        words[_DROPPED] += 1
        self.limit = self.head  # look at the tail again with the next event
        return False

    def __del__(self, getpid=os.getpid, fstat=os.fstat, closed=_CLOSED):
        """The thread has ended, or this is a forked child, which leaves the file alone."""
        global _rings
        try:
            if getpid() == self.pid:
                self.put(0, ())
                self.words[closed] = 1
                _rings -= 1
            if self.fd is None:
                self.words.release()
                self.map.close()
                return
            # Python closes a descriptor of its own with the mapping: not if the job has closed that
            # already, and has another file under its number.
            number, inode = self.fd
            if fstat(number).st_ino == inode:
                self.words.release()
                self.map.close()
                return
        except Exception:
            pass
        try:
            _kept.append(self.map)
        except Exception:
            pass


def _pack(words):
    packer = _packers[words] = struct.Struct("=%dQ" % words).pack_into
    return packer


_one = _pack(3)


def _create(tid, slots):
    """The mapping, and its descriptor's number and inode if Python keeps one."""
    start = session.key()
    pid, _, ticks = start.partition(".")
    n = 0
    while True:
        name = "%s.%d.%d.ring" % (start, tid, n)
        hidden = os.path.join(session.folder, "." + name)
        # A hidden one was left by an exception, of a signal handler's, say.
        if not os.path.exists(hidden) and not os.path.exists(os.path.join(session.folder, name)):
            break
        n += 1
    length = _HEADER + 24 * slots
    fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(fd, 0, length)
        shared = getattr(mmap, "MAP_SHARED", 1) | 0x8000  # MAP_POPULATE
        try:
            mapping = mmap.mmap(fd, length, shared, trackfd=False)
            kept = None
        except TypeError:  # before Python 3.13
            mapping = mmap.mmap(fd, length, shared)
            kept = _twin(fd)
    finally:
        os.close(fd)
    struct.pack_into("=8s7Q", mapping, 0, _MAGIC, 1, slots, int(pid), tid, int(ticks), 0, 0)
    os.rename(hidden, os.path.join(session.folder, name))
    return mapping, kept


def _twin(fd):
    """The descriptor that `mmap` has made of `fd`."""
    inode = os.fstat(fd).st_ino
    for other in range(fd + 1024):
        if other != fd:
            try:
                if os.fstat(other).st_ino == inode:
                    return other, inode
            except OSError:
                pass
    return -1, inode
