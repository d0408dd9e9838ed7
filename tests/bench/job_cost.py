"""What `stallscope run` costs a PyTorch job: the group `jobs` of `run`, and the jobs that it times.

    python3 job_cost.py calibrate [--ms N] [--element-us N]
    python3 job_cost.py steps [--workers N] [--steps N] [--batch N] [--per-step N] [--per-element N]
    python3 job_cost.py events [--processes N] [--rate N] [--seconds N]
    python3 job_cost.py start
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SHIM = os.path.join(HERE, "..", "..", "collectors", "job", "python")
STAND_IN = os.path.join(HERE, "..", "collectors", "job", "python", "standin")


class Work:
    """A step's and an element's, in calls: a clock is work that recording slows, too."""

    def __init__(self):
        import torch

        torch.set_num_threads(1)
        self.a, self.x = torch.ones(96, 96), torch.arange(1024.0)

    def multiply(self, times):
        for _ in range(times):
            self.a = (self.a @ self.a) / 96

    def decode(self, times):
        y = self.x
        for _ in range(times):
            y = y * 1.0001 + 0.5
        return y


def calibrate(options):
    """How many calls take that long: the same for every job that is compared."""
    work = Work()

    def calls(seconds, function):
        took = []
        for _ in range(5):
            begin = time.thread_time()
            function(2000)
            took.append((time.thread_time() - begin) / 2000)
        return round(seconds / sorted(took)[2])

    print(json.dumps(["--per-step", calls(options.ms / 1e3, work.multiply),
                      "--per-element", calls(options.element_us / 1e6, work.decode)]))


def cpu_of(pid):
    """ns, of all threads of a process."""
    total = 0
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, thread)) as f:
            total += int(f.read().split()[0])
    return total


def steps(options):
    """Trains; prints the mean ns of a step behind the first ones, the CPU time of the process, of its
    workers and of what records it, and when it ended."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    work = Work()

    class Elements(Dataset):
        def __len__(self):
            return 10**9

        def __getitem__(self, index):
            return work.decode(options.per_element)

    net = torch.nn.Linear(1024, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    loader = DataLoader(Elements(), batch_size=options.batch, num_workers=options.workers,
                        **({"multiprocessing_context": "fork"} if options.workers else {}))
    skipped = max(10, options.steps // 20)
    batches = iter(loader)
    seen = {"cpu_ns": [os.getpid()], "workers_ns": [w.pid for w in getattr(batches, "_workers", ())],
            "recorder_ns": [os.getppid()] if os.environ.get("STALLSCOPE_SESSION") else []}

    def used():
        return {name: sum(map(cpu_of, pids)) for name, pids in seen.items()}

    for i, batch in enumerate(batches):
        loss = net(batch[:16]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        work.multiply(options.per_step)
        if i == skipped:
            before, begin = used(), time.monotonic_ns()
        if i == skipped + options.steps:
            break
    ended = time.monotonic_ns()
    after = used()
    print(json.dumps({"ns": (ended - begin) / options.steps,
                      **{name: (after[name] - before[name]) / options.steps for name in seen}}))
    del batches, loader
    sys.stdout.flush()
    print(time.monotonic_ns(), file=sys.stderr, flush=True)


def events(options):
    """Processes that write `rate` spans of work a second between them, as the shim does."""
    children = []
    for _ in range(options.processes):
        child = os.fork()
        if child == 0:
            _write_events(options.rate / options.processes, options.seconds)
            os._exit(0)
        children.append(child)
    sys.exit(max(os.waitpid(child, 0)[1] for child in children))


def _write_events(rate, seconds):
    from stallscope_shim import ring, session

    fetch = session.define("stage", name="fetch", kind="map", workers=1, ordered=True, inputs=[])
    out = ring.mine()
    begin = ring.now()
    done, most = 0, int(rate * seconds)
    while done < most:
        due = min(most, int((ring.now() - begin) / 1e9 * rate))
        for i in range(done, due):
            time_ns = ring.now()
            out.put(time_ns, ring.work(fetch, i, time_ns - 100, time_ns))
        done = due
        time.sleep(0.002)


def start(options):
    """A process that loads a batch. Prints resident KiB at the end."""
    from torch.utils.data import DataLoader

    for batch in DataLoader(range(options.batch), batch_size=options.batch):
        pass
    with open("/proc/self/status") as status:
        print(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))


class Bench:
    def __init__(self, build, repeats, row, interval):
        self.program = os.path.abspath(os.path.join(build, "bin", "stallscope"))
        self.python = os.environ.get("STALLSCOPE_TORCH_PYTHON", "/usr/bin/python3")
        self.repeats, self.row, self.interval = repeats, row, interval

    def command(self, *words):
        return [self.python, os.path.abspath(__file__), *(str(w) for w in words)]

    def job(self, folder, recorded, *words):
        before = ["run", "--quiet", "-o", f"{folder}/r.sst", "--"] if recorded else []
        out = subprocess.run([*([self.program] if recorded else []), *before,
                              *self.command("steps", *words)],
                             check=True, capture_output=True, text=True).stdout
        return json.loads(out)

    def pairs(self, folder, name, goal, ms, element_us, *words):
        """Rates in turns, with and without; each pair is ABBA, so that a drift cancels."""
        costs, plain, cpu = [], [], []
        more = {"cpu_ns": [], "workers_ns": [], "recorder_ns": []}
        words += tuple(json.loads(subprocess.run(
            self.command("calibrate", "--ms", ms, "--element-us", element_us), check=True,
            capture_output=True, text=True).stdout))
        for i in range(self.repeats):
            used = {True: collections.Counter(), False: collections.Counter()}
            for turn in (0, 1, 1, 0):
                recorded = turn == i % 2
                used[recorded].update(self.job(folder, recorded, *words))
            costs.append(100 * (used[True]["ns"] / used[False]["ns"] - 1))
            plain.append(used[False]["ns"] / 2 / 1e6)
            for which, of_which in more.items():
                of_which.append((used[True][which] - used[False][which]) / 2 / 1000)
            cpu.append(100 * (sum(used[True][n] for n in more) / sum(used[False][n] for n in more)
                              - 1))
        self.row(f"{name}: a step, ms", "", plain)
        for what, values in (("recording costs, %", costs), ("CPU time of all processes, %", cpu)):
            low, middle, high = self.interval(values)
            print(f"{'  ' + what:<58} {goal:>12}   {middle:.2f}, 95% of medians "
                  f"{low:.2f} .. {high:.2f} ({len(values)} times ABBA)", flush=True)
        for what, which in (("the main process", "cpu_ns"), ("the workers", "workers_ns"),
                            ("stallscope", "recorder_ns")):
            self.row(f"  more CPU time of {what} per step, us", "", more[which], 1)
        return plain, costs

    def start(self, folder):
        """Python processes alone, in turns with and without the shim. A torch takes seconds to load,
        and so much more or less each time that the shim's milliseconds are seen with a stand-in."""
        shutil.copytree(SHIM, f"{folder}/shim", ignore=shutil.ignore_patterns("__pycache__"))
        os.makedirs(f"{folder}/session")
        without = {**os.environ, "PYTHONPATH": STAND_IN}
        with_it = {**os.environ, "PYTHONPATH": f"{folder}/shim:{STAND_IN}",
                   "STALLSCOPE_SESSION": f"{folder}/session"}
        for name, words in (("a Python that imports nothing", ["-c", "pass"]),
                            ("a process that loads one batch", self.command("start", "--batch", 4)[1:])):
            seconds, cpu, memory = [], [], []
            for i in range(2 * self.repeats + 1):
                seen = {}
                for recorded in ((True, False) if i % 2 else (False, True)):
                    began = time.monotonic()
                    child = subprocess.Popen([self.python, *words], stdout=subprocess.PIPE, text=True,
                                             env=with_it if recorded else without)
                    text = child.stdout.read()
                    _, status, used = os.wait4(child.pid, 0)
                    child.returncode = os.waitstatus_to_exitcode(status)
                    seen[recorded] = (time.monotonic() - began, used.ru_utime + used.ru_stime,
                                      int(text) if text else used.ru_maxrss)
                if i == 0:
                    continue  # compiles
                seconds.append(1000 * (seen[True][0] - seen[False][0]))
                cpu.append(1000 * (seen[True][1] - seen[False][1]))
                memory.append((seen[True][2] - seen[False][2]) / 1024)
            self.row(f"{name}: the shim adds, ms", "<= 30", seconds, 1)
            self.row("  of CPU time, ms", "", cpu, 1)
            self.row("  resident, MiB", "<= 5", memory)

    def lost(self, folder):
        processes, rate = 8, 200_000
        lost, seen = [], []
        for _ in range(max(1, self.repeats // 3)):
            subprocess.run([self.program, "run", "--quiet", "-o", f"{folder}/r.sst", "--",
                            *self.command("events", "--processes", processes, "--rate", rate)],
                           check=True)
            trust = self.trust(folder)
            lost.append(trust["dropped"])
            seen.append(trust["spans"] / 1e6)
        self.row(f"{rate} events/s over {processes} processes: lost", "0", lost, 0)
        self.row("  M events in the trace", "2", seen)

    def trust(self, folder):
        return json.loads(subprocess.run(
            [self.program, "analyze", f"{folder}/r.sst", "--format", "json", "--no-price"],
            capture_output=True, text=True).stdout)["trust"]

    def verdict(self, folder, count):
        """From the end of a job with as many events as one of five minutes to the verdict."""
        seconds, sizes = [], []
        for _ in range(max(1, self.repeats // 3)):
            job = subprocess.Popen(
                [self.program, "run", "-o", f"{folder}/r.sst", "--", *self.command(
                    "steps", "--workers", 2, "--steps", count)],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            _, err = job.communicate()
            lines = err.splitlines()
            ended = next(int(line) for line in lines if line.isdigit())
            seconds.append((time.monotonic_ns() - ended) / 1e9)
            sizes.append(self.trust(folder)["spans"] / 1e3)
            verdict = [line for line in lines if line.startswith("stallscope:")]
        self.row(f"{count} steps, from the job's end to the verdict, s", "<= 2", seconds)
        self.row("  thousands of spans", "", sizes, 0)
        print(f"  {verdict[-1] if verdict else 'no verdict'}", flush=True)


def jobs(build, repeats, row, interval):
    bench = Bench(build, repeats, row, interval)
    with tempfile.TemporaryDirectory() as folder:
        sixteen = ("--batch", 16, "--steps", 300)
        bench.pairs(folder, "10 ms steps on 16 elements, 2 workers", "<= 1", 10, 400,
                    "--workers", 2, *sixteen)
        bench.pairs(folder, "10 ms steps on 16 elements, 0 workers", "<= 1", 4, 375, *sixteen)
        plain, costs = bench.pairs(folder, "elements of nothing, batches of 256, 0 workers", "", 0,
                                   0, "--batch", 256, "--steps", 1000)
        row("  per element, us", "<= 1.0",
            [cost / 100 * ms * 1000 / 256 for cost, ms in zip(costs, plain)], 3)
        bench.start(folder)
        bench.lost(folder)
        bench.verdict(folder, 30_000)


# Loaders of the accuracy table's sound jobs, with steps of 10 ms.
LOADERS = ("sound_map_2w_10ms", "sound_generator", "sound_thread", "sound_pool", "sound_webdataset",
           "sound_datasets", "sound_datasets_stream", "sound_stateful", "sound_nodes",
           "sound_streaming", "sound_litdata", "sound_lightning", "sound_accelerate", "sound_trainer",
           "sound_grain", "sound_tf", "sound_tf_store", "sound_keras")
JOBS = os.path.join(HERE, "..", "accuracy", "jobs")


def loaders(build, repeats, row, interval):
    """A step's time with and without recording, in turns, for each loader that one of the Pythons has."""
    program = os.path.abspath(os.path.join(build, "bin", "stallscope"))
    pythons = os.environ.get("STALLSCOPE_LOADERS_PYTHON", "/usr/bin/python3").split(":")
    pythons += os.environ.get("STALLSCOPE_TENSORFLOW_PYTHON", "").split(":")
    worst = []
    with tempfile.TemporaryDirectory() as folder:
        for job in LOADERS:
            command = _command_of(job, pythons)
            if command is None:
                print(f"{job}: no Python has its libraries", flush=True)
                continue
            costs, cpu = [], []
            for i in range(repeats):
                wall_ms, cpu_ms = collections.Counter(), collections.Counter()
                for turn in (0, 1, 1, 0):
                    recorded = turn == i % 2
                    before = [program, "run", "--quiet", "-o", f"{folder}/r.sst", "--"]
                    out = subprocess.run([*(before if recorded else []), *command], check=True,
                                         capture_output=True, text=True).stdout
                    for line in out.splitlines():
                        if line.startswith("a step, ms "):
                            wall_ms[recorded] += float(line.split()[-1])
                        if line.startswith("of CPU time, ms "):
                            cpu_ms[recorded] += float(line.split()[-1])
                costs.append(100 * (wall_ms[True] / wall_ms[False] - 1))
                cpu.append(1000 * (cpu_ms[True] - cpu_ms[False]) / 2)
            low, middle, high = interval(costs)
            worst.append((middle, job))
            print(f"{job + ', 10 ms steps: recording costs, %':<58} {'<= 1':>12}   {middle:.2f}, 95% of "
                  f"medians {low:.2f} .. {high:.2f} ({len(costs)} times ABBA)", flush=True)
            row("  more CPU time of the main process per step, us", "<= 100", cpu, 0)
    for middle, job in sorted(worst, reverse=True)[:3]:
        print(f"  among the worst: {job}, {middle:.2f}%", flush=True)


def _command_of(job, pythons):
    for python in filter(None, pythons):
        for file in ("jobs.py", "loader_jobs.py", "tf_data_jobs.py"):
            listed = subprocess.run([python, os.path.join(JOBS, file), "--list"], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if listed.returncode == 0 and job in json.loads(listed.stdout)["sound"]:
                return [python, os.path.join(JOBS, file), job, "--step-ms", "10", "--steps", "300",
                        "--rate"]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("job", choices=("calibrate", "steps", "events", "start"))
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--ms", type=float, default=10)
    parser.add_argument("--element-us", type=float, default=375)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--per-step", type=int, default=0)
    parser.add_argument("--per-element", type=int, default=0)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rate", type=float, default=200_000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    globals()[options.job](options)


if __name__ == "__main__":
    main()
