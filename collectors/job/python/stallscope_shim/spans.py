"""Stages that a job names, while they run: in a thread, or in the making of a batch.

A stage within another one counts in both; what is written of many short ones is a sum per stage.
"""
from . import session

_MOST = 64  # spans of stages per batch; more of them are added up


class Spans:
    """The stages under way, innermost last, and those that have ended: of a thread or a batch."""

    def __init__(self):
        self.open = []  # [name, since or None while paused, CPU then, ns inside, CPU ns inside]
        self.ended = []  # (end, name, start, CPU ns)
        self.ops = []  # (end, words), of the ops inside of them
        self.sums = {}  # name → [own ns, own CPU ns]

    def enter(self, name, time, cpu):
        self.open.append([name, time, cpu, 0, 0])

    def leave(self, time, cpu):
        if self.open:
            self._end(len(self.open) - 1, time, cpu)
            self.open.pop()

    def _end(self, index, time, cpu):
        name, since, before, inside, inside_cpu = self.open[index]
        if since is None:
            return
        wall, used = time - since, cpu - before
        if index:
            self.open[index - 1][3] += wall
            self.open[index - 1][4] += used
        if len(self.ended) < _MOST:
            self.ended.append((time, name, since, used))
        own = self.sums.setdefault(name, [0, 0])
        own[0] += wall - inside
        own[1] += used - inside_cpu

    def pause(self, time, cpu):
        """A generator has yielded within a stage: that goes on with the next request."""
        for index in range(len(self.open) - 1, -1, -1):
            self._end(index, time, cpu)
            self.open[index][1] = None

    def resume(self, time, cpu):
        for entry in self.open:
            if entry[1] is None:
                entry[1:] = [time, cpu, 0, 0]

    def add(self, end, words):
        """An op has been seen in the innermost one."""
        self.ops.append((end, words))

    def words(self, begin, write):
        """What has ended since the last time, as words; many spans as one per stage."""
        if not self.sums:
            return ()
        ended, sums, ops = self.ended, self.sums, self.ops
        self.ended, self.sums, self.ops = [], {}, []
        words = ()
        if len(ended) < _MOST:
            ops += [(end, write(name, start, end, cpu)) for end, name, start, cpu in ended]
        for _, each in sorted(ops, key=lambda op: op[0]):
            words += each
        if len(ended) < _MOST:
            return words
        for name, (wall, cpu) in sums.items():
            words += write(name, begin, begin + wall, cpu)
            begin += wall
        return words


def stage_of(loader, name):
    """The id of a stage that the job has named; the stages follow one another as they came up."""
    number = loader.named.get(name)
    if number is None:
        workers = max(1, loader.workers)
        number = loader.named[name] = session.define(
            "stage", name=name, kind="map", loader=loader.id, workers=workers, ordered=True,
            inputs=list(loader.named.values())[-1:])
        session.redefine("stage", loader.fetch, name="fetch", kind="map", loader=loader.id,
                         workers=1, ordered=True, inputs=[number])
    return number
