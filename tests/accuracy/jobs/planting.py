"""Shared by the job files of the accuracy table: the planted bottlenecks and their severity. Imports no
framework.

    python FILE --list                      the table, as JSON
    python FILE NAME [--severity 0|1|2] [--method fork|spawn|forkserver] [--steps N] [--seed N]
                     [--rate]

Each planted job trains a small model with steps of about 10 ms on batches of 16; a seed other than 0
changes both. The bottleneck costs about as much as a step at severity 0, two to three times as much at 1,
four to six times at 2. Any of the stages and causes in the table is right; an op is right if its name is
the table's, or ends with a dot and the table's. A sound job's loader is at least twice as fast as its
trainer.
"""
import argparse
import collections
import json
import random
import sys
import time

Planted = collections.namedtuple("Planted", "run stages causes op methods")

BATCH = 16
STEP_MS = 10
PLANTED = {}
SOUND = {}
options = None


def burn(seconds):
    """Burns its own CPU time: contention slows it, as it slows real work."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def timed(function):
    """The CPU time of a call, in seconds."""
    begin = time.thread_time()
    function()
    return time.thread_time() - begin


def cost(milliseconds):
    """The cost planted into one batch, in seconds, by severity; for steps of 10 ms."""
    return milliseconds * (1.5, 3, 6)[options.severity] / 1000 * STEP_MS / 10


def planted(stages, causes, op=None, methods=("fork", "spawn", "forkserver")):
    def add(run):
        PLANTED[run.__name__] = Planted(run, stages.split(), causes.split(), op, methods)
        return run

    return add


def step_ms(milliseconds):
    """The computation of a step, unless the command line changes it."""
    return options.step_ms or milliseconds or STEP_MS


def clocks():
    return time.monotonic(), time.process_time()


def finish(ended):
    """`ended`: the clocks at the end of each step."""
    print("trained", len(ended), "steps")
    if options.rate:
        warm = len(ended) // 5
        steps = [tuple(b - a for a, b in zip(*pair)) for pair in zip(ended[warm:], ended[warm + 1:])]
        wall, cpu = (sorted(values) for values in zip(*steps))
        print("a step, ms", 1000 * wall[len(wall) // 2])
        print("of CPU time, ms", 1000 * cpu[len(cpu) // 2])
        print("samples/s", len(steps) * BATCH / sum(wall))


def table():
    return {
        "planted": {name: {"stages": p.stages, "causes": p.causes, "op": p.op,
                           "methods": p.methods, "severities": 3} for name, p in PLANTED.items()},
        "sound": sorted(SOUND),
    }


def vary(name):
    """Varies batches and steps by the seed; the planted cost is in proportion to the step."""
    global BATCH, STEP_MS
    if options.seed:
        chance = random.Random("%s %d" % (name, options.seed))
        BATCH = chance.choice((8, 12, 16, 24, 32))
        STEP_MS = chance.uniform(8, 16)


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--severity", type=int, default=1, choices=(0, 1, 2))
    parser.add_argument("--method", default="fork", choices=("fork", "spawn", "forkserver"))
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", action="store_true", help="print the rate, without the first steps")
    parser.add_argument("--step-ms", type=float, help="step time of a sound job, instead of its own")
    options = parser.parse_args()
    vary(options.name)
    if options.list or options.name is None:
        json.dump(table(), sys.stdout, indent=1)
        print()
    elif options.name in PLANTED:
        PLANTED[options.name].run()
    else:
        SOUND[options.name]()
