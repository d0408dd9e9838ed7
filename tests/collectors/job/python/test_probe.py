"""Stages slowed on purpose (`run --probe`): the plan, the delays on the test's own clock, and a job with
the stand-in for torch."""
import os
import shutil
import sys
import tempfile
import types
import unittest

from test_shim import SHIM, Case

sys.path.insert(0, SHIM)
from stallscope_shim import probe, session  # noqa: E402

MS = 1_000_000


class Clock:
    """Stands in for the ring's clocks and for sleeping and burning."""

    def __init__(self):
        self.time = self.burned = self.slept = 0

    def now(self):
        return self.time

    def cpu(self):
        return self.burned

    def burn(self, _):
        self.time += 10_000
        self.burned += 10_000

    def sleep(self, seconds):
        self.time += round(seconds * 1e9)
        self.slept += round(seconds * 1e9)


class Feed:
    def __init__(self, loader, feeds=True):
        self.loader, self.feeds = loader, feeds


class Probes(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.lines = []
        self.folder = tempfile.mkdtemp(prefix="probe-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.loader = types.SimpleNamespace(id=3, workers=2, ordered=True, sampler=0, fetch=1,
                                            collate=2, transport=3)
        for owner, name, value in (
                (probe.ring, "now", self.clock.now), (probe.ring, "cpu", self.clock.cpu),
                (probe, "crc32", self.clock.burn), (probe, "sleep", self.clock.sleep),
                (session, "folder", self.folder), (session, "key", lambda: "7.8"),
                (session, "say", lambda text: self.lines.append(("said", text))),
                (session, "note", lambda kind, line: self.lines.append((kind, line)))):
            self.addCleanup(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)

    def prober(self, plan, number=3):
        probe._write("7.8", 3, plan)
        self.clock.time += probe._LOOK_NS
        return probe.Prober(self.loader, "7.8", number)

    def test_the_plan_has_each_stage_between_undisturbed_windows(self):
        plan = probe.plan_windows(["a", "b", "c"], 3000 * MS, 10 * MS, 50)
        names = [name for _, _, name in plan]
        self.assertEqual([None] * (len(plan) // 2 + 1), names[::2])
        for at in range(0, len(plan) - 1, 6):
            self.assertEqual(["a", "b", "c"], sorted(names[at + 1:at + 7:2]))
        orders = {tuple(names[at + 1:at + 7:2]) for at in range(0, len(plan) - 1, 6)}
        self.assertGreater(len(orders), 1)
        self.assertEqual(50, plan[0][0])
        self.assertTrue(all(a[1] == b[0] for a, b in zip(plan, plan[1:])))
        self.assertGreaterEqual(plan[0][1] - plan[0][0], 100 * MS)
        self.assertLessEqual(plan[-1][1], 50 + 3000 * MS)

    def test_a_window_has_eight_steps_and_a_round_its_time(self):
        plan = probe.plan_windows(["a"], 10_000 * MS, 50 * MS, 0)
        self.assertGreaterEqual(plan[0][1], 8 * 50 * MS)
        self.assertEqual([], probe.plan_windows(["a"], 299 * MS, 1, 0))
        self.assertEqual(3, len(probe.plan_windows(["a"], 300 * MS, 1, 0)))
        self.assertEqual([], probe.plan_windows([], 300 * MS, 1, 0))

    def test_work_on_the_cpu_burns_and_waiting_sleeps(self):
        prober = self.prober([(0, 1000 * MS, "fetch")])
        prober.pay(self.loader, "fetch", 40 * MS, 40 * MS)
        self.assertEqual((10 * MS, 0), (self.clock.burned, self.clock.slept))
        prober.pay(self.loader, "fetch", 40 * MS, 10 * MS)
        self.assertEqual((12_500_000, 7_500_000), (self.clock.burned, self.clock.slept))
        (kind, line), _ = self.lines
        self.assertEqual("slowed", kind)
        self.assertEqual({"from": 0, "to": 1000 * MS, "elements": 1, "work": 40 * MS,
                          "delay": 10 * MS}, line)

    def test_no_other_stage_loader_or_time(self):
        prober = self.prober([(0, 100 * MS, "fetch"), (100 * MS, 200 * MS, None)])
        prober.pay(self.loader, "collate", 40 * MS, 0)
        prober.pay(object(), "fetch", 40 * MS, 0)
        self.clock.time = 150 * MS
        prober.pay(self.loader, "fetch", 40 * MS, 0)
        self.clock.time = 250 * MS
        prober.pay(self.loader, "fetch", 40 * MS, 0)
        other = self.prober([(0, 1000 * MS, "fetch")], number=4)
        other.pay(self.loader, "fetch", 40 * MS, 0)
        self.assertEqual(0, self.clock.slept)
        self.assertEqual([], self.lines)

    def test_a_delay_ends_with_its_window(self):
        prober = self.prober([(0, 100 * MS, "fetch")])
        self.clock.time = 95 * MS
        prober.pay(self.loader, "fetch", 400 * MS, 0)
        self.assertEqual(100 * MS, self.clock.time)

    def test_no_plan_yet(self):
        prober = probe.Prober(self.loader, "7.8", 3)
        self.clock.time = 100 * MS
        prober.pay(self.loader, "fetch", 40 * MS, 0)
        self.assertEqual(0, self.clock.slept)
        self.assertIsNone(prober.plan)

    def directed(self, steps, during=lambda i, trainer: None, limit=1000, step=10 * MS):
        """A job whose trainer takes this long per step."""
        director = probe.Director()
        trainer = types.SimpleNamespace(current=None, count=0, limit=limit)
        feed = Feed(self.loader)
        for i in range(steps):
            trainer.current = types.SimpleNamespace(feed=feed, received=self.clock.time,
                                                    cpu=self.clock.burned)
            self.clock.time += step
            during(i, trainer)
            director.boundary(trainer)
            trainer.count += 1
        return director

    def test_windows_are_in_the_second_half_of_a_bounded_run(self):
        modules = __import__("stallscope_shim.loaders", fromlist=["loaders"])
        self.addCleanup(setattr, modules, "trainer", modules.trainer)
        modules.trainer = 9
        director = self.directed(1000)
        self.assertGreaterEqual(director.plan[0][0], 5000 * MS)
        windows = [line for kind, line in self.lines if kind == "probe"]
        self.assertTrue(windows)
        # Two workers: their work is not visible here, and the main process neither samples nor
        # receives anything.
        self.assertEqual({None, 1, 2, 9}, {line.get("stage") for line in windows})
        self.assertEqual({"probe", "slowed"}, {kind for kind, _ in self.lines})
        self.assertEqual((3, director.plan), probe._read("7.8"))

    def test_a_window_in_which_more_happened_is_not_believed(self):
        def passes(i, trainer):
            trainer.current.feed = feeds[i >= 700]
            if i == 700:
                changed.append(self.clock.time)

        changed = []
        feeds = [Feed(self.loader), Feed(self.loader)]
        director = self.directed(760, passes)
        kept = [(line["from"], line["to"]) for kind, line in self.lines if kind == "probe"]
        change = next(w for w in director.plan if w[0] <= changed[0] < w[1])
        self.assertNotIn(change[:2], kept)
        self.assertIn(director.plan[0][:2], kept)

    def test_an_evaluation_is_more_than_steps(self):
        def evaluates(i, trainer):
            if i == 650:
                trainer.current.feed = Feed(self.loader, feeds=False)

        director = self.directed(760, evaluates)
        kept = [(line["from"], line["to"]) for kind, line in self.lines if kind == "probe"]
        self.assertLess(len(kept), director.next)

    def test_too_short(self):
        self.directed(60, limit=60)
        self.assertEqual(["said"], [kind for kind, _ in self.lines])

    def test_a_loader_out_of_order_is_left_alone(self):
        self.loader.ordered = False
        director = self.directed(1000)
        self.assertEqual([], director.plan)
        self.assertIsNone(probe._read("7.8"))
        (kind, text), = self.lines
        self.assertIn("order", text)


class ProbedJobs(Case):
    def check(self, name, steps, stages):
        """The same batches and output as without `--probe`; windows with and without a stage; delays."""
        found = self.record(name, settings={"probe": True, "steps": steps}, same=False)
        self.assertEqual([], found.said)
        lines = [line for p in found.processes for line in p.names["probe"]]
        names = {d["id"]: d["name"] for d in found.main.names["stage"]}
        self.assertEqual(stages | {None},
                         {names.get(line.get("stage")) for line in lines}, lines)
        slowed = [line for p in found.processes for line in p.names["slowed"]]
        whole = {(line["from"], line["to"]) for line in lines if "stage" in line}
        paid = [line for line in slowed if (line["from"], line["to"]) in whole]
        self.assertTrue(paid)
        self.assertTrue(all(line["work"] > 0 and line["delay"] > 0 for line in paid))
        probed = self.out
        shutil.rmtree(self.session)
        self.record(name, settings={"steps": steps}, same=False)
        self.assertEqual(self.out, probed)
        self.assertEqual([], [f for f in os.listdir(self.session) if f.endswith(".probe")])
        return found

    def test_without_workers(self):
        self.check("zero_long", 240, {"fetch", "trainer"})

    def test_with_workers(self):
        found = self.check("two_long", 700, {"fetch", "collate", "trainer"})
        slowing = {p.name for p in found.processes if p.names["slowed"]}
        self.assertTrue({"worker 0", "worker 1"} <= slowing, slowing)


if __name__ == "__main__":
    unittest.main()
