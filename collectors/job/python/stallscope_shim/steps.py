"""The trainer's steps: from one request for a batch to the next.

A pass over a loader that feeds an optimizer is training, another one evaluation; in a job without
an optimizer every batch is a step. As this is known at the optimizer's step only, what a pass has
handed out until then is held back, up to `_HELD` batches. A batch that is asked for while torch
records no gradients is for evaluation, whoever steps next: Lightning and Accelerate fetch one batch
ahead, so that counting alone would take two batches of a sanity check for training.

If a thread takes batches ahead of the one whose optimizer steps (prefetch_generator), the latter's steps
go from one step of the optimizer to the next: it waits only for a batch that has not come by then.
"""
import functools
import os
import sys
from _thread import _local, get_ident
from collections import deque
from collections.abc import Mapping

from . import loaders, probe, profile, ring, session
from .watch import Method, field, guarded, pass_on, uses

_HELD = 16
_AHEAD = 32  # batches that a thread may be ahead


class Feed:
    """One pass over a loader, as far as it is training."""

    __slots__ = ("loader", "feeds", "chain", "base", "count")

    def __init__(self, loader):
        self.loader = loader
        self.chain = loader.chain  # of the digest; later passes of the loader may have another one
        self.feeds = False
        self.base = self.count = 0  # of its items, if they are counted here


class _Step:
    __slots__ = ("feed", "item", "samples", "requested", "received", "stepped", "cpu", "done",
                 "learns")


class _Here(_local):
    """Of the calling thread."""

    requested = None  # since when it waits for a batch


_here = _Here()


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
        self.optimizer = False  # some optimizer has made a step
        self.learns = False  # some batch was handed out while torch records gradients
        self.current = None  # the step under way
        self.last = self.thread = None  # who got the last batch
        self.takers = set()  # threads that got one
        self.behind = None  # the optimizer's thread, if it takes none itself
        self.evaluations = 0  # active loops that a framework calls evaluation
        self.since = {}  # Feed → batches since the last optimizer step
        self.held = []  # steps that are neither yet
        self.deepest = 0  # most batches that one optimizer step took

    @property
    def requested(self):
        return _here.requested

    @requested.setter
    def requested(self, time):
        _here.requested = time

    def _is_behind(self, thread):
        if self.behind is not None:
            return self.behind.thread == thread
        return self.last is not None and thread not in self.takers

    def _takes_ahead(self):
        return self.behind is not None and self.behind.thread != get_ident()

    def request(self):
        """The trainer wants a batch: the step before ends."""
        if self._takes_ahead():
            self.requested = ring.now()
            return self.requested, ring.cpu()
        probe.boundary(self)
        time, cpu = ring.now(), ring.cpu()
        if self.current is not None:
            self._close(time, cpu)
        if profile.windows.boundary(self.count + len(self.held)):
            time, cpu = ring.now(), ring.cpu()
        ring.mine().put(time, ())
        self.requested = time
        return time, cpu

    def pause(self):
        """Ends the current step without beginning another one."""
        if self.current is not None:
            self._close(ring.now(), ring.cpu())
        profile.windows.close()

    def receive(self, feed, item, samples, time, cpu):
        requested, self.requested = self.requested, None
        if requested is None:
            return
        step = _Step()
        step.feed, step.item, step.samples = feed, item, samples
        step.requested, step.received, step.stepped = requested, time, None
        step.cpu = cpu
        self.thread, self.last = get_ident(), feed
        self.takers.add(self.thread)
        step.learns = bool(gradients())
        self.learns = self.learns or step.learns
        if self._takes_ahead():
            self.behind.take(step)
            return
        self.current = step
        if step.learns and not self.evaluations:
            self.since[feed] = self.since.get(feed, 0) + 1

    def optimizer_step(self):
        self.optimizer = True
        thread = get_ident()
        if self._is_behind(thread):
            return self._train_behind()
        step = self.current
        # Behind a loop, it is the loop's: of a whole pass, or by another thread.
        feed = step.feed if step is not None else self.last
        if feed is None or (step is None and feed not in self.since):
            return
        if self.thread != thread:
            session.say("a thread takes the loader's batches for another one, whose optimizer steps: "
                        "how long that one waits for them is not seen")
        if step is not None:
            step.stepped = ring.now()
        if feed.feeds and len(self.since) == 1:
            _, share = self.since.popitem()
            self.deepest = max(self.deepest, share)
            feed.loader.accumulated(share)
            return
        # Passes that take turns feed the same step, as with zip(a, b).
        share = self.since.get(feed)
        for other, count in self.since.items():
            if other is feed or count == share:
                other.feeds = True
        self.deepest = max(self.deepest, share or 0)
        self.since.clear()
        if self.held:
            held, self.held = self.held, []
            for step in held:
                if step.feed.feeds:
                    self._write(step)
                else:
                    self.held.append(step)

    def _train_behind(self):
        """An optimizer has stepped in a thread that takes no batches itself."""
        if self.current is not None and self.behind is not None:
            self._close(ring.now(), ring.cpu())  # of an evaluation by this thread
        if self.behind is None:
            ring.name_thread(stage=loaders.trainer_stage())
            known = self.held + ([] if self.current is None else [self.current])
            self.held, self.current = [], None
            self.behind = _Behind(known)
        step = self.behind.step()
        if step is None:
            self.behind = None
            self.takers.add(get_ident())
            return
        step.feed.feeds = True
        self.since.clear()
        self._write(step)
        if self.limit and self.count >= self.limit + self.ended:
            self._end()

    def finish(self):
        """The process ends."""
        step = self.current
        if step is not None:
            # The job's work after its loop belongs to no step.
            time, cpu = ring.now(), ring.cpu()
            if step.stepped is not None:
                time, cpu = step.stepped, min(cpu, step.cpu + step.stepped - step.received)
            self._close(time, cpu, last=True)
        for step in self.held:
            self._judge(step)
        self.held = []
        ring.mine().put(ring.now(), ())

    def _close(self, time, cpu, last=False):
        step, self.current = self.current, None
        if step is None:  # another thread was faster
            return
        step.done = time
        step.cpu = cpu - step.cpu
        if step.feed.feeds:
            self._write(step)
        else:
            self.held.append(step)
            # With no optimizer there, the user's limit need not wait for one to step.
            all_steps = self.limit and not _optimizers and (
                self.count + len(self.held) >= self.limit)
            while len(self.held) > (0 if all_steps else max(_HELD, 2 * self.deepest)):
                self._judge(self.held.pop(0))
        if self.limit and not last and self.count >= self.limit + self.ended:
            self._end()

    def _judge(self, step):
        # torch.compile takes the hooks of optimizers off: then gradients tell.
        if self.optimizer or (_optimizers and self.learns and not step.learns):
            name = session.string("evaluation")
            ring.mine().put(step.done, ring.named(ring.EVALUATION, name, step.requested, step.done))
        else:
            self._write(step)

    def _write(self, step):
        end = step.stepped or step.done
        words = ()
        if not getattr(step.feed.loader, "profiled", False):
            words = ring.work(loaders.trainer_stage(), step.item, step.received, end, step.cpu)
        ring.mine().put(step.done, words + ring.step(
            step.item, step.requested, step.received, step.done, step.samples, self.count))
        self.count += 1
        if step.feed.chain is not None:
            step.feed.chain.steps += 1

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


def samples(data, collated, asked=None, exact=False):
    """How many samples a batch has. `asked`: the loader has asked its data set for so many, which are
    all there if that is `exact`. A batch may be any object of the job's."""
    if exact:
        return asked
    try:
        found = _samples(data, collated, 0)
    except Exception as error:
        pass_on(error)
        found = 0
    if asked is None:
        return found or 1
    # In a list of images, the first dimension is the color.
    listed = isinstance(data, (list, tuple)) and data and (
        len(data) == asked or isinstance(data[0], (list, tuple)) and len(data[0]) == asked)
    return asked if listed or not found else min(found, asked)


def _samples(data, collated, depth):
    """The first dimension of its first tensor; 0 where there is none."""
    shape = field(data, "shape")
    if shape is not None and not callable(shape):
        return int(shape[0]) if len(shape) else 0
    if depth < 4 and isinstance(data, Mapping) and len(data):
        return _samples(next(iter(data.values())), collated, depth + 1)
    if depth < 4 and isinstance(data, (list, tuple)) and data:
        return _samples(data[0], collated, depth + 1) or (len(data) if collated else 0)
    return 0


def _always():
    return True


gradients = _always  # whether torch records them; its own function, once it is imported
trainer = Trainer()
_registered = False
_optimizers = True  # the job may have made one


def _forked():
    global trainer
    trainer = Trainer()
    _here.requested = None


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
        Method(optimizer, "_optimizer_step_code", lambda _: trainer.optimizer_step())
    elif hasattr(module, "register_optimizer_step_post_hook"):
        module.register_optimizer_step_post_hook(lambda *_: trainer.optimizer_step())
    else:
        session.say("this version's optimizers are not recognized: every batch counts as a step")
