"""The causal check of a job (`run --probe`): in short windows, in random order, the batches of one
stage take longer by a quarter of their own work, and the trace records when, which and by how much.
The loss of throughput shows how much the stage bounds the job (analyzer/attribution/METHOD.md).

The process that trains plans the windows once, when it knows how long a step takes, and writes the
plan into a file. Every process of the loader reads it and follows the clock that they all share, so
nothing needs to be sent while the job runs. The thread that did the work makes the delay right after
it: burning for work that burned CPU, sleeping for work that waited. The job's data is untouched. A
loader that hands out whatever batch is ready would hand out another one, so it is left alone.
"""
import os
from binascii import crc32
from time import sleep

from . import ring, session

BY = 0.25  # share of its work by which a stage takes longer
LEAST_NS = 100_000_000  # of a window
STEPS = 8  # in a window, at least
LONGEST = 3  # times the shortest window
MOST_ROUNDS = 8
ROUNDS = 4  # for a job whose end is unknown
WATCH_AFTER_NS = 2_000_000_000
PROBE_AFTER_NS = 4_000_000_000
MOST_NS = 120_000_000_000  # for a job whose end is unknown
LEAST_WORK = 0.03  # share of the time: a stage that works less cannot bound the run
LEAST_DELAY_NS = 20_000
NEARLY_ALL = 0.97  # of the work is on the CPU: the clocks are read one after the other
_BLOCK = bytes(1 << 15)
_LOOK_NS = 20_000_000  # between two looks for the plan

STAGES = ("sampler", "fetch", "collate", "transport", "pin", "trainer")
_BY_WORKERS = ("fetch", "collate")  # if the loader has any


def plan_windows(stages, left_ns, step_ns, begin, seed=1):
    """[(from, to, stage or None)], one after the other: each slowed window is between two undisturbed
    ones, each round has every stage once, in a random order. Empty: no time for a round."""
    least = max(LEAST_NS, STEPS * step_ns)
    each = 2 * len(stages)
    rounds = min(MOST_ROUNDS, (left_ns // least - 1) // each) if stages else 0
    if rounds < 1:
        return []
    length = min(LONGEST * least, left_ns // (rounds * each + 1))
    order = []
    for _ in range(rounds):
        mixed = list(stages)
        for left in range(len(mixed), 1, -1):
            seed = (seed * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
            at = (seed >> 33) % left
            mixed[left - 1], mixed[at] = mixed[at], mixed[left - 1]
        for stage in mixed:
            order += [None, stage]
    order.append(None)
    return [(begin + i * length, begin + (i + 1) * length, name) for i, name in enumerate(order)]


class Prober:
    """The delays of one process for one loader. Its threads may call pay() at any time."""

    def __init__(self, loader, owner, number):
        self.loader = loader
        self.owner = owner  # of the plan: pid and start of the process that trains
        self.number = number  # of the loader there
        self.plan = None
        self.looked = 0
        self.watched = None  # stage → ns of work, while the process that trains measures it

    def pay(self, loader, stage, work, cpu):
        """A batch's work in this stage is done, on the calling thread."""
        if work <= 0 or loader is not self.loader:
            return
        if self.watched is not None:
            self.watched[stage] = self.watched.get(stage, 0) + work
        window = self._now()
        if window is None or window[2] != stage:
            return
        delay = int(BY * work)
        if delay < LEAST_DELAY_NS:
            return
        share = min(1.0, cpu / work) if cpu > 0 else 0.0
        begin = ring.now()
        burn = delay if share >= NEARLY_ALL else int(delay * share)
        _burn(burn, window[1])
        rest = min(delay - burn, window[1] - ring.now())
        if rest > 0:
            sleep(rest / 1e9)
        session.note("slowed", {"from": window[0], "to": window[1], "elements": 1, "work": work,
                                "delay": ring.now() - begin})

    def _now(self):
        time = ring.now()
        if self.plan is None:
            if time - self.looked < _LOOK_NS:
                return None
            self.looked = time
            found = _read(self.owner)
            if found is None:
                return None
            number, self.plan = found
            if number != self.number:
                self.plan = []
        plan = self.plan
        if not plan or time < plan[0][0] or time >= plan[-1][1]:
            return None
        return plan[(time - plan[0][0]) // (plan[0][1] - plan[0][0])]


class Director(Prober):
    """In the process that trains: plans the windows, and records how they went."""

    def __init__(self):
        Prober.__init__(self, None, session.key(), None)
        self.plan = []
        self.decided = False
        self.first = None  # (time, steps) when the first step was done
        self.mark = None  # (time, steps) when watching began
        self.last = None  # the last boundary
        self.feed = None
        self.disturbed = []  # stretches with more than steps
        self.next = 0  # the next window

    def boundary(self, trainer):
        """Between two steps, on the thread that trains."""
        step = trainer.current
        time = ring.now()
        if step is not None and step.feed.feeds:
            loader = step.feed.loader
            if self.loader is None and hasattr(loader, "fetch"):
                self.loader, self.number = loader, loader.id
            self.pay(loader, "trainer", time - step.received, ring.cpu() - step.cpu)
        if self.decided:
            self._follow(step, time)
        else:
            self._decide(trainer, time)
        self.last = time

    def _decide(self, trainer, time):
        steps = trainer.count
        if steps == 0 or self.loader is None:
            return
        if self.first is None:
            self.first = time, steps
        limit = trainer.limit
        if self.mark is None:
            if steps >= limit // 4 if limit else time - self.first[0] >= WATCH_AFTER_NS:
                self.mark = time, steps
                self.watched = {}
            return
        if steps <= self.mark[1]:
            return
        if steps < limit // 2 if limit else time - self.first[0] < PROBE_AFTER_NS:
            return
        from . import profile

        if profile.windows.open:
            return
        self.decided = True
        if self.loader.workers and not self.loader.ordered:
            session.say("no stage is slowed: the loader's batches come in any order")
            return
        profile.windows.enough()
        watched, self.watched = self.watched, None
        since = time - self.mark[0]
        step_ns = since // (steps - self.mark[1])
        stages = self._worth(watched, since)
        if limit:
            left = (limit - steps) * step_ns
        else:
            left = min(MOST_NS, max(LEAST_NS, STEPS * step_ns) * (2 * len(stages) * ROUNDS + 1))
        self.plan = plan_windows(stages, left, step_ns, time)
        if not self.plan:
            session.say("the job is too short to slow its stages one by one; run more steps")
            return
        _write(self.owner, self.number, self.plan)

    def _worth(self, watched, since):
        """The loader's stages that work enough; the work of workers is not visible here."""
        loader = self.loader
        blind = _BY_WORKERS if loader.workers else ()
        return [stage for stage in STAGES
                if (stage == "trainer" or hasattr(loader, stage)) and (
                    stage == "trainer" or stage in blind or
                    watched.get(stage, 0) >= LEAST_WORK * since)]

    def _follow(self, step, time):
        """Records the windows that have ended, except those with more than steps: the next pass or an
        evaluation would count as the cost of the slowed stage."""
        feed = None if step is None else step.feed
        own = feed is not None and feed.loader is self.loader
        if feed is None or not feed.feeds or own and self.feed is not None and feed is not self.feed:
            self.disturbed.append((self.last, time))
        if own:
            self.feed = feed
        while self.next < len(self.plan) and self.plan[self.next][1] <= time:
            begin, end, stage = self.plan[self.next]
            self.next += 1
            if any(since < end and until > begin for since, until in self.disturbed):
                continue
            line = {"from": begin, "to": end}
            if stage is not None:
                line["stage"] = self._id(stage)
            session.note("probe", line)
        del self.disturbed[:-8]

    def _id(self, stage):
        from . import loaders

        return loaders.trainer if stage == "trainer" else getattr(self.loader, stage)


director = None  # in the process that trains
mine = None  # in any process; None: nothing is slowed
_works = False  # this process is a loader's worker, so its own iterations train nothing


def _forked():
    global director, mine, _works
    director = mine = None
    _works = False


session.fork_hooks.append(_forked)


def wanted():
    return session.settings().get("probe") is True


def begin():
    """This process trains."""
    global director, mine
    if director is None and not _works and wanted():
        director = mine = Director()


def begin_worker(loader, owner, number):
    global mine, _works
    _works = True
    if wanted():
        mine = Prober(loader, owner, number)


def pay(loader, stage, since, since_cpu, time, cpu):
    """A batch's work from `since` until now. Returns the wall and CPU time at which work continues."""
    if mine is None:
        return time, cpu
    try:
        mine.pay(loader, stage, time - since, cpu - since_cpu)
    except Exception as error:
        stand_back(error)
    return ring.now(), ring.cpu()


def boundary(trainer):
    """Between two steps."""
    if director is not None:
        try:
            director.boundary(trainer)
        except Exception as error:
            stand_back(error)


def stand_back(error):
    global director, mine
    director = mine = None
    session.say("stages are no longer slowed: %s: %s" % (type(error).__name__, error))


def _burn(ns, until):
    """Burns CPU without the interpreter's lock, so that other threads go on, as beside numeric work."""
    end = ring.cpu() + ns
    while ring.cpu() < end and ring.now() < until:
        crc32(_BLOCK)


def _path(owner):
    return os.path.join(session.folder, owner + ".probe")


def _write(owner, number, plan):
    lines = "%d\n" % number + "".join("%d %d %s\n" % (begin, end, stage or "-") for begin, end, stage in plan)
    hidden = os.path.join(session.folder, "." + owner + ".probe")
    fd = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, lines.encode())
    finally:
        os.close(fd)
    os.rename(hidden, _path(owner))


def _read(owner):
    """The plan; None: none yet."""
    try:
        text = session.content(_path(owner)).decode()
    except (OSError, ValueError):
        return None
    number, *lines = text.splitlines()
    plan = []
    for line in lines:
        begin, end, stage = line.split()
        plan.append((int(begin), int(end), None if stage == "-" else stage))
    return int(number), plan
