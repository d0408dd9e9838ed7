"""The trainer's steps: from one request for a batch to the next.

A pass over a loader that feeds an optimizer is training, another one evaluation; in a job without
an optimizer every batch is a step. As this is known at the optimizer's step only, what a pass has
handed out until then is held back, up to `_HELD` batches. A batch that is asked for while torch
records no gradients is for evaluation, whoever steps next: Lightning and Accelerate fetch one batch
ahead, so that counting alone would take two batches of a sanity check for training.

Passes that take turns between two steps of the optimizer, as with zip(a, b), feed one step: its batch is the
last one, of which the others become a part, and it waits from the first request to the last batch, apart
from what the trainer does meanwhile.

Each thread that takes batches has steps of its own. If one takes them ahead of another one, whose optimizer
steps (prefetch_generator), the latter's steps go from one step of the optimizer to the next: it waits only
for a batch that has not come by then. So do the steps of a loop that trains on batches which it has kept
(itertools.cycle, list), once it has made more of them than a loop may fetch ahead; and those of one that
stays on a single batch, once an optimizer has stepped on it that often.
"""
import functools
import os
import sys
from _thread import _local, get_ident
from collections import deque

from . import loaders, probe, profile, ring, session
from .watch import Method, guarded, uses

_HELD = 16
_AHEAD = 32  # batches that a thread may be ahead
_AGAIN = 1 << 31  # in the index of an item: a step on a batch that was trained on before


class Feed:
    """One pass over a loader, as far as it is training."""

    __slots__ = ("loader", "feeds", "began", "chain", "base", "count", "item", "samples", "ahead")

    def __init__(self, loader):
        self.loader = loader
        self.item = None  # the last batch
        self.samples = 0  # of the first one
        self.chain = loader.chain  # of the digest; later passes of the loader may have another one
        self.feeds = False
        self.ahead = False  # a library fetches one batch ahead of the loop
        self.began = ring.now()
        self.base = self.count = 0  # of its items, if they are counted here


class _Step:
    __slots__ = ("feed", "item", "samples", "requested", "received", "stepped", "cpu", "done",
                 "learns", "others")


class _Here(_local):
    """Of the calling thread."""

    loop = None


_here = _Here()


class _Loop:
    """A thread that takes batches, or whose optimizer steps."""

    def __init__(self):
        self.thread = get_ident()
        self.requested = None  # since when it waits for a batch
        self.takes = False  # it has taken one
        self.last = None  # the pass of the last batch
        self.current = None  # the step under way
        self.since = {}  # Feed → batches since the last optimizer step
        self.gave = set()  # several loaders that have given a batch each for the last optimizer step
        self.turns = False  # that was one step
        self.parts = []  # batches since that may be a part of one
        self.held = []  # steps of which it is not known yet whether they are training
        self.optimizer = None  # the id of the one that stepped last on a batch just taken
        self.kept = []  # steps after the end of a pass, of batches that were fetched ahead or kept
        self.keeps = False  # they were kept
        self.cpu = 0  # when the last of them ended
        self.again = []  # (time, CPU time) of the steps of one optimizer on the current batch
        self.stays = False  # it makes more of them, each of which counts
        self.ring = None  # its thread's, while there are steps to write


class _Behind:
    """A thread whose optimizer steps once on each batch, in the order in which another thread takes
    them. It waits only for a batch that has not come when its last step ends."""

    def __init__(self, steps):
        self.thread = get_ident()
        self.steps = deque(steps)  # whose batches are taken, and not trained on
        self.latest = steps[-1].feed if steps else None  # the pass of the last batch
        self.feed, self.time, self.cpu = None, 0, 0  # the last step's pass, and its end

    def take(self, step):
        self.latest = step.feed
        self.steps.append(step)

    def step(self):
        """What the optimizer has just stepped on; None if it does not step once per batch."""
        time, cpu = ring.now(), ring.cpu()
        feed = self.latest
        over = self.feed is None or feed.loader is self.feed.loader
        if not over and any(step.feed is self.feed for step in self.steps):
            feed = self.feed  # the others are for evaluation
        while self.steps and self.steps[0].feed is not feed:
            self.steps.popleft()
        if not self.steps or len(self.steps) > _AHEAD:
            return None
        step = self.steps.popleft()
        if feed is self.feed:
            step.requested, step.received = self.time, max(self.time, step.received)
            step.cpu = cpu - self.cpu
        else:
            step.cpu = time - step.received  # its begin is not known
        step.stepped = step.done = time
        self.feed, self.time, self.cpu = feed, time, cpu
        return step


class Trainer:
    def __init__(self):
        self.limit = 0  # of steps, 0: none
        self.ended = False  # it has been reached
        self.count = 0
        self.optimizer = False  # some optimizer has made a step on a batch
        self.before = False  # or before there was one
        self.learns = False  # some batch was handed out while torch records gradients
        self.loops = {}  # thread → _Loop
        self.latest = None  # the one that got the last batch
        self.behind = None  # the optimizer's thread, if it takes none itself
        self.evaluations = 0  # active loops that a framework calls evaluation
        self.deepest = 0  # most batches that one optimizer step took

    def loop(self):
        """The calling thread's. One that has ended leaves its loop to the next thread of its number."""
        loop = _here.loop
        if loop is None:
            thread = get_ident()
            loop = _here.loop = self.loops.get(thread) or _Loop()
            self.loops[thread] = loop
            if loop.takes:
                _takes()
        return loop

    @property
    def current(self):
        return self.loop().current

    @property
    def requested(self):
        return self.loop().requested

    def _is_behind(self, loop):
        if self.behind is not None:
            return self.behind.thread == loop.thread
        return self.latest is not None and not loop.takes

    def _takes_ahead(self, loop):
        return self.behind is not None and self.behind.thread != loop.thread

    def request(self):
        """The trainer wants a batch: the step before ends."""
        loop = _here.loop or self.loop()
        if self.behind is not None and self._takes_ahead(loop):
            loop.requested = ring.now()
            return loop.requested, ring.cpu()
        if probe.director is not None:
            probe.boundary(self)
        time, cpu = ring.now(), ring.cpu()
        if loop.current is not None:
            self._close(loop, time, cpu)
            if not (loop.held or loop.parts):
                loop.ring = None
        if loop.kept:
            loop.kept = []
            loop.stays = False
        if profile.windows.makers and profile.windows.boundary(self.count + len(loop.held)):
            time, cpu = ring.now(), ring.cpu()
        here = ring.mine()
        if here.pending:
            here.put(time, ())
        loop.requested = time
        return time, cpu

    def pause(self):
        """Ends the current step without beginning another one."""
        loop = self.loop()
        if loop.current is not None:
            self._close(loop, ring.now(), ring.cpu())
        profile.windows.close()

    def forget(self, feed):
        """The current step's batch does not exist."""
        loop = self.loop()
        if loop.current is not None and loop.current.feed is feed:
            loop.current = None

    def receive(self, feed, item, samples, time, cpu):
        loop = _here.loop or self.loop()
        requested, loop.requested = loop.requested, None
        if requested is None:
            return
        step = _Step()
        step.feed, step.item, step.samples = feed, item, samples
        step.requested, step.received, step.stepped = requested, time, None
        step.cpu, step.others = cpu, ()
        if not loop.takes:
            loop.takes = True
            _takes()
        loop.last, self.latest = feed, loop
        feed.item, feed.samples = item, feed.samples or samples
        step.learns = bool(gradients())
        self.learns = self.learns or step.learns
        if self.behind is not None and self._takes_ahead(loop):
            self.behind.take(step)
            return
        loop.current = step
        loop.ring = ring.mine()
        if loop.again:
            loop.again = []
        if step.learns and not self.evaluations:
            loop.since[feed] = loop.since.get(feed, 0) + 1

    def optimizer_step(self, optimizer=None):
        own = self.loop()
        if self._is_behind(own):
            self.optimizer = True
            return self._train_behind(own)
        loop = own if own.last is not None else self.latest
        if loop is None:
            from . import found

            self.before = True
            found.hint()
            return
        self.optimizer = True
        step = loop.current
        # Behind a loop, it is the loop's: of a whole pass, or by another thread.
        feed = step.feed if step is not None else loop.last
        if step is None and not loop.since:
            ended = loop.requested or loop.kept
            if feed.feeds and loop is own and ended and loop.optimizer == id(optimizer):
                self._train_again(loop, feed)
            return
        if loop is not own:
            session.say("a thread takes the loader's batches for another one, whose optimizer steps: "
                        "how long that one waits for them is not seen")
        if step is not None:
            if (step.stepped is not None and not loop.since and loop is own and step.feed.feeds and
                    loop.optimizer == id(optimizer)):
                self._stay(loop, step)
                return
            step.stepped = ring.now()
            loop.again = []
        loop.optimizer = id(optimizer)
        taken, loop.since = loop.since, {}
        if loop.turns:
            _leave(loop, taken)
        if not taken:
            return  # another optimizer's step on the same batches
        if feed not in taken:  # an evaluation has come between
            feed = next(reversed(taken))
        share = taken[feed]
        together = [each for each, count in taken.items() if count == share]
        self.deepest = max(self.deepest, share)
        for each in together:
            if each.feeds:
                each.loader.accumulated(share)
            each.feeds = True
        if loop.held or loop.parts or loop.gave or len(together) > 1:
            self._train(loop, step, together if share == 1 else [])

    def _train(self, loop, current, together):
        """An optimizer has stepped: no batch of what trains is held any longer. If passes that have given one
        each take turns, as with zip(a, b), these make one step."""
        steps = sorted(loop.parts + [step for step in loop.held if step.feed.feeds],
                       key=lambda step: step.received)
        loop.parts, loop.held = [], [step for step in loop.held if not step.feed.feeds]
        behind = 1 + max((i for i, step in enumerate(steps) if step.stepped is not None), default=-1)
        ready, batches = steps[:behind], [step for step in steps[behind:] if step.feed in together]
        if current is not None and current.feed in together:
            batches.append(current)
        gave, loop.gave = loop.gave, {each.loader for each in together} if len(together) > 1 else set()
        complete = 1 < len(batches) == len(together) == len(loop.gave) and (
            not any(each.loader.profiled for each in together))
        loop.turns = complete and (
            loop.gave == gave or all(each.began <= batches[0].requested for each in together))
        if loop.turns:
            if loop.gave == {step.feed.loader for step in ready}:
                ready = [_joined(ready)]
            ready.append(_joined(batches))
        elif complete:
            loop.parts = batches  # a short evaluation, perhaps, and the first training step
        else:
            ready = steps
        # The current one is written, or becomes a part, when it ends.
        loop.parts = [step for step in loop.parts if step is not current]
        for step in ready:
            if step is not current:
                self._write(step, loop)

    def _train_behind(self, loop):
        """An optimizer has stepped in a thread that takes no batches itself."""
        if loop.current is not None and self.behind is not None:
            self._close(loop, ring.now(), ring.cpu())  # of an evaluation by this thread
        if self.behind is None:
            ring.name_thread(stage=loaders.trainer)
            known = []
            for other in list(self.loops.values()):
                known += other.held + other.parts + ([] if other.current is None else [other.current])
                other.held, other.parts, other.current = [], [], None
            self.behind = _Behind(sorted(known, key=lambda step: step.received))
        step = self.behind.step()
        if step is None:
            self.behind = None
            loop.takes = True
            return
        step.feed.feeds = True
        for other in list(self.loops.values()):
            other.since.clear()
        self._write(step)
        self._end_if_reached()

    def _train_again(self, loop, feed):
        """An optimizer has stepped, and the loop's pass has ended: on a batch that was fetched ahead of
        the others or, behind the first `_HELD` of these, that the job has kept."""
        before = loop.kept[-1] if loop.kept else None
        time, cpu = ring.now(), ring.cpu()
        since = loop.requested if before is None else before.done
        step = _again(feed, (feed.item if before is None else before.item) + 1,
                      feed.samples * feed.loader.share, since, time,
                      time - since if before is None else cpu - loop.cpu)
        loop.cpu = cpu
        if not (loop.keeps or loop.stays) and len(loop.kept) < _HELD:
            loop.kept.append(step)
            return
        if not (loop.keeps or loop.stays):
            loop.keeps = True
            session.say("the job trains again on batches that it has kept, as itertools.cycle does: its "
                        "loader is not used for these steps, which go from one step of the optimizer to "
                        "the next")
            for each in loop.kept:
                self._write(each)
        loop.kept = [step]
        self._write(step)
        self._end_if_reached()

    def _stay(self, loop, step):
        """An optimizer has stepped again on a batch, with nothing fetched meanwhile. Behind `_HELD` such
        steps the loop stays on this batch (`next(iter(loader))`): each was a step of its own."""
        time, cpu = ring.now(), ring.cpu()
        if not loop.again:
            worked = max(1, time - step.received)
            used = (cpu - step.cpu) * (step.stepped - step.received) // worked
            loop.again = [(step.stepped, step.cpu + used)]
        loop.again.append((time, cpu))
        step.stepped = time
        if len(loop.again) <= _HELD:
            return
        session.say("the job makes many steps on one batch: they go from one step of the optimizer to "
                    "the next")
        again, loop.again = loop.again, []
        step.stepped, used = again[0]
        self._close(loop, step.stepped, used, last=True)
        loop.stays = True
        item, samples = step.item | _AGAIN, step.samples * step.feed.loader.share
        for (since, before), (time, cpu) in zip(again, again[1:]):
            loop.kept = [_again(step.feed, item, samples, since, time, cpu - before)]
            self._write(loop.kept[0])
            item += 1
        loop.cpu = cpu
        self._end_if_reached()

    def finish(self):
        """The process ends."""
        time, cpu = ring.now(), ring.cpu()
        mine = self.loop()
        for loop in sorted(self.loops.values(), key=lambda each: each is not mine):
            step = loop.current
            if step is not None:
                # The job's work after its loop belongs to no step.
                end, used = (time, cpu) if loop is mine else (step.received, step.cpu)
                if step.stepped is not None:
                    most = step.cpu + step.stepped - step.received
                    end, used = step.stepped, min(cpu, most) if loop is mine else most
                if self._is_left(loop, step):
                    loop.current = None
                else:
                    self._close(loop, end, used, last=True)
            for step in loop.parts + loop.held:
                if not self._is_left(loop, step):
                    self._judge(step, loop)
            loop.parts, loop.held = [], []
        ring.mine().put(ring.now(), ())

    def _is_left(self, loop, step):
        """The job ends, with a batch that it did not train on."""
        if not (self.optimizer and step.feed.feeds):
            return False
        if step.feed.ahead:  # the optimizer's last step was on the batch before
            return step is loop.current and not loop.since
        return step.stepped is None and loop.since.get(step.feed) == 1

    def _close(self, loop, time, cpu, last=False):
        step, loop.current = loop.current, None
        if step is None:  # a thread whose optimizer steps has taken it
            return
        step.done = time
        step.cpu = cpu - step.cpu
        if step.feed.feeds and loop.gave and (step.stepped is None or not loop.turns):
            loop.parts.append(step)
            if len(loop.parts) > _HELD:
                self._write(loop.parts.pop(0), loop)
        elif step.feed.feeds:
            self._write(step, loop)
        else:
            loop.held.append(step)
            # With no optimizer there, the user's limit need not wait for one to step.
            all_steps = self.limit and not _optimizers and (
                self.count + len(loop.held) >= self.limit)
            while len(loop.held) > (0 if all_steps else max(_HELD, 2 * self.deepest)):
                self._judge(loop.held.pop(0), loop)
        if self.limit and not last:
            self._end_if_reached()

    def _judge(self, step, loop):
        # torch.compile takes the hooks of optimizers off, and a captured graph replays their steps without
        # one: then gradients tell.
        if not step.feed.feeds and (
                self.optimizer or not step.learns and (self.before or _optimizers and self.learns)):
            name = session.string("evaluation")
            out = loop.ring or ring.mine()
            out.put(step.done, ring.named(ring.EVALUATION, name, step.requested, step.done))
        else:
            self._write(step, loop)

    def _write(self, step, loop=None):
        """Into the ring of the loop's thread, which may not be the calling one's."""
        out = loop and loop.ring or ring.mine()
        end = step.stepped or step.done
        words = ()
        for other in step.others:
            words += ring.work(loaders.trainer, step.item, other.received, other.done, other.cpu)
            words += ring.lineage(loaders.trainer, other.item, step.item)
        if not step.feed.loader.profiled:
            words += ring.work(loaders.trainer, step.item, step.received, end, step.cpu)
        out.put(step.done, words + ring.step(
            step.item, step.requested, step.received, step.done, step.samples, self.count))
        self.count += 1
        for each in (*step.others, step):
            if each.feed.chain is not None:
                each.feed.chain.steps += 1

    def _end_if_reached(self):
        if self.limit and self.count >= self.limit + self.ended:
            self._end()

    def _end(self):
        """The user's --steps: the job ends as if its loop had. One that catches even that is ended
        behind its next step."""
        import threading

        if not self.ended:
            self.ended = True
            session.note("ended", {"steps": self.count})
            if threading.current_thread() is threading.main_thread():
                raise SystemExit(0)
        import multiprocessing

        _write_digests()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        for child in multiprocessing.active_children():
            child.terminate()
        os._exit(0)


def _takes():
    """The calling thread takes batches of a loader that another one may have been the first to use."""
    if ring.stage_of_thread() is None:
        ring.name_thread(stage=loaders.trainer)


def _again(feed, item, samples, since, time, cpu):
    """A step on a batch that the job has kept: it waits for nothing."""
    step = _Step()
    step.feed, step.item, step.samples, step.cpu, step.others = feed, item, samples, cpu, ()
    step.requested = step.received = since
    step.stepped = step.done = time
    return step


def _joined(batches):
    """One step that takes all of these, each of which was one until now."""
    *others, step = batches
    step.others = others
    step.requested = others[0].requested
    step.samples += sum(other.samples for other in others)
    return step


def _leave(loop, taken):
    """Where passes take turns, the end of one ends them all, with batches of some of the others that are not
    trained on. That is known once their loaders have begun other passes."""
    begun = [feed.loader for feed in taken if not feed.feeds]
    left = [feed for feed in taken if feed.feeds and feed.loader in begun]
    if len(left) < len(begun):  # else the optimizer has left a step out, as with overflows
        for feed in left:
            del taken[feed]
        loop.parts = [step for step in loop.parts if step.feed not in left]


def _always():
    return True


gradients = _always  # whether torch records them; its own function, once it is imported
making = None  # tells the iterator, not a DataLoader's, whose batch the calling thread makes (plain.py)
trainer = Trainer()
_registered = False
_optimizers = True  # the job may have made one


def _forked():
    global trainer, _here
    trainer = Trainer()
    _here = _Here()


session.fork_hooks.append(_forked)


def prepare():
    """Before the first step of the process that trains."""
    global _registered, gradients
    gradients = getattr(sys.modules.get("torch"), "is_grad_enabled", _always)
    probe.begin()
    if not _registered:
        import atexit

        _registered = True
        steps = session.settings().get("steps", 0)
        trainer.limit = steps if isinstance(steps, int) and steps > 0 else 0
        pid = os.getpid()
        atexit.register(lambda: os.getpid() == pid and _finish())
        os.execv, os.execve = _last_call(os.execv), _last_call(os.execve)


def _last_call(replace):
    """`replace` puts another program into this process, so `atexit` does not run. It is also called with
    programs that do not exist, once for each folder of PATH."""

    @functools.wraps(replace)
    def wrapper(path, *args, **kwargs):
        guarded(_replaced, path)
        try:
            return replace(path, *args, **kwargs)
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            raise

    return wrapper


def _replaced(path):
    if isinstance(path, int) or os.access(path, os.X_OK):
        _finish()


def _finish():
    for finish in (trainer.finish, profile.windows.close):
        try:
            finish()
        except Exception:
            pass
    _write_digests()


def _write_digests():
    digest = sys.modules.get(__package__ + ".digest")
    if digest is not None:
        guarded(digest.write)


def _constructed(_):
    global _optimizers
    _optimizers = True


def attach(module):
    """`module` is torch.optim.optimizer. Every optimizer's step ends with a call of
    `_optimizer_step_code`, from torch 1.12 on; where it does not, there is a hook."""
    global _optimizers
    optimizer = module.Optimizer
    if "add_param_group" in optimizer.__dict__:  # each constructor calls it
        _optimizers = False
        Method(optimizer, "add_param_group", _constructed)
    if "_optimizer_step_code" in optimizer.__dict__ and uses(optimizer, "_optimizer_step_code"):
        Method(optimizer, "_optimizer_step_code", lambda each: trainer.optimizer_step(each))
    elif hasattr(module, "register_optimizer_step_post_hook"):
        module.register_optimizer_step_post_hook(lambda each, *_: trainer.optimizer_step(each))
    else:
        session.say("this version's optimizers are not recognized: every batch counts as a step")
