"""The trainer's steps: from one request for a batch to the next.

A pass over a loader that feeds an optimizer is training, another one evaluation; in a job without
an optimizer every batch is a step. As this is known at the optimizer's step only, what a pass has
handed out until then is held back, up to `_HELD` batches. A batch that is asked for while torch
records no gradients is for evaluation, whoever steps next: Lightning and Accelerate fetch one batch
ahead, so that counting alone would take two batches of a sanity check for training.
"""
import functools
import os
import sys

from . import loaders, probe, profile, ring, session
from .watch import Method, guarded, uses

_HELD = 16


class Feed:
    """One pass over a loader, as far as it is training."""

    __slots__ = ("loader", "feeds", "chain", "base", "count")

    def __init__(self, loader):
        self.loader = loader
        self.chain = loader.chain  # of the digest; later passes of the loader may have another one
        self.feeds = False
        self.base = self.count = 0  # of its items, if they are counted here


class _Step:
    __slots__ = ("feed", "item", "samples", "requested", "received", "stepped", "cpu", "done")


class Trainer:
    def __init__(self):
        self.limit = 0  # of steps, 0: none
        self.count = 0
        self.optimizer = False  # some optimizer has made a step
        self.current = None  # the step under way
        self.requested = None
        self.evaluations = 0  # active loops that a framework calls evaluation
        self.since = {}  # Feed → batches since the last optimizer step
        self.held = []  # steps that are neither yet
        self.deepest = 0  # most batches that one optimizer step took

    def request(self):
        """The trainer wants a batch: the step before ends."""
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
        if self.requested is None:
            return
        step = self.current = _Step()
        step.feed, step.item, step.samples = feed, item, samples
        step.requested, step.received, step.stepped = self.requested, time, None
        step.cpu = cpu
        self.requested = None
        if gradients() and not self.evaluations:
            self.since[feed] = self.since.get(feed, 0) + 1

    def optimizer_step(self):
        step = self.current
        self.optimizer = True
        if step is None:
            return
        step.stepped = ring.now()
        if step.feed.feeds and len(self.since) == 1:
            _, share = self.since.popitem()
            self.deepest = max(self.deepest, share)
            step.feed.loader.accumulated(share)
            return
        # Passes that take turns feed the same step, as with zip(a, b).
        share = self.since.get(step.feed)
        for feed, count in self.since.items():
            if feed is step.feed or count == share:
                feed.feeds = True
        self.deepest = max(self.deepest, share or 0)
        self.since.clear()
        if self.held:
            held, self.held = self.held, []
            for step in held:
                if step.feed.feeds:
                    self._write(step)
                else:
                    self.held.append(step)

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
        step.done = time
        step.cpu = cpu - step.cpu
        if step.feed.feeds:
            self._write(step)
        else:
            self.held.append(step)
            while len(self.held) > max(_HELD, 2 * self.deepest):
                self._judge(self.held.pop(0))
        if self.limit and self.count >= self.limit and not last:
            self._end()

    def _judge(self, step):
        if self.optimizer:
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
        """The user's --steps: the job ends as if its loop had."""
        import threading

        session.note("ended", {"steps": self.count})
        self.limit = 0
        if threading.current_thread() is threading.main_thread():
            raise SystemExit(0)
        import multiprocessing

        _write_digests()
        sys.stdout.flush()
        sys.stderr.flush()
        for child in multiprocessing.active_children():
            child.terminate()
        os._exit(0)


def samples(data, collated, depth=0):
    """How many samples a batch has: the first dimension of its first tensor."""
    shape = getattr(data, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    if depth < 4 and isinstance(data, dict) and data:
        return samples(next(iter(data.values())), collated, depth + 1)
    if depth < 4 and isinstance(data, (list, tuple)) and data:
        first = samples(data[0], collated, depth + 1)
        return len(data) if first == 1 and not hasattr(data[0], "shape") and collated else first
    return 1


def _always():
    return True


gradients = _always  # whether torch records them; its own function, once it is imported
trainer = Trainer()
_registered = False


def _forked():
    global trainer
    trainer = Trainer()


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
        if os.access(path, os.X_OK):
            _finish()
        try:
            return replace(path, *args, **kwargs)
        except BaseException as error:
            error.__traceback__ = error.__traceback__.tb_next
            raise

    return wrapper


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


def attach(module):
    """`module` is torch.optim.optimizer. Every optimizer's step ends with a call of
    `_optimizer_step_code`, from torch 1.12 on; where it does not, there is a hook."""
    optimizer = module.Optimizer
    if "_optimizer_step_code" in optimizer.__dict__ and uses(optimizer, "_optimizer_step_code"):
        Method(optimizer, "_optimizer_step_code", lambda _: trainer.optimizer_step())
    elif hasattr(module, "register_optimizer_step_post_hook"):
        module.register_optimizer_step_post_hook(lambda *_: trainer.optimizer_step())
    else:
        session.say("this version's optimizers are not recognized: every batch counts as a step")
