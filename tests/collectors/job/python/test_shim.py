"""The shim, on the Python that runs this: with the stand-in for torch, and with torch if there is
one. Needs no stallscope."""
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SHIM = os.path.join(HERE, *[".."] * 4, "collectors", "job", "python")
sys.path.insert(0, HERE)
import ring_reader  # noqa: E402

STAND_IN = os.path.join(HERE, "standin")


class Case(unittest.TestCase):
    path = STAND_IN

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="shim-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        shutil.copytree(SHIM, os.path.join(self.folder, "shim"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        self.session = os.path.join(self.folder, "session")

    def python(self, *args, shim=True, path=None, flags=(), env=(), timeout=120, before=(),
               executable=sys.executable):
        """Runs the Python that runs this: (exit code, stdout, stderr). `before` comes in front."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        places = [p for p in (self.path, path) if p]
        if shim:
            os.makedirs(self.session, exist_ok=True)
            environment["STALLSCOPE_SESSION"] = self.session
            places.insert(0, os.path.join(self.folder, "shim"))
        environment["PYTHONPATH"] = os.pathsep.join(places)
        environment.update(env)
        # A shell's background jobs ignore SIGINT, and so would all that they start.
        done = subprocess.run([*before, executable, *flags, *args], env=environment,
                              timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                              cwd=self.folder)
        return done.returncode, done.stdout.decode(), without_races(done.stderr.decode())

    def job(self, name, *args, **more):
        return self.python(os.path.join(HERE, "jobs.py"), name, *args, **more)

    def record(self, name, *args, settings=None, same=True, errors=True, **more):
        """Runs a job without and with the shim, compares, and returns the session."""
        if settings is not None:
            os.makedirs(self.session, exist_ok=True)
            with open(os.path.join(self.session, "settings.json"), "w") as f:
                json.dump(dict({"version": 1, "steps": 0}, **settings), f)
        mine = self.job(name, *args, **more)
        if same:
            plain = self.job(name, *args, shim=False, **more)
            self.assertEqual(plain[:2], mine[:2], mine[2])
            if errors:
                self.assertEqual(without_numbers(plain[2]), without_numbers(mine[2]))
        self.code, self.out, self.err = mine
        return ring_reader.read(self.session)


def without_races(text):
    # A queue's feeder, a daemon, may be the last to hold a semaphore. Where the process ends while
    # it gives it up, Python's resource tracker calls it leaked, with us or without.
    return re.sub(r".*resource_tracker.*\n(  warnings\.warn.*\n)?", "", text)


def without_numbers(text):
    return re.sub(r"pid\(s\) [\d, ]+|pid \d+|0x[0-9a-f]+", "N", text)


def items(events):
    return sorted({e.item & 0xFFFFFFFF for _, e in events})


class Batches(Case):
    """Each job's batches and output are the same, and each batch is seen on its way."""

    def check_batches(self, session, count, workers):
        self.assertEqual([], session.said)
        for stage in ("fetch", "sampler", "collate") + (("transport",) if workers else ()):
            self.assertEqual(items(session.events("work", stage)), list(range(count)), stage)
        for _, step in session.events("step"):
            self.assertLessEqual(step.start, step.extra["received"])
        for process in session.processes:
            self.assertEqual(0, process.dropped)

    def test_no_workers(self):
        for name, count in (("zero", 8), ("zero_getitems", 8), ("zero_unbatched", 8),
                            ("zero_pinned", 8)):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.check_batches(session, count, False)
                self.assertEqual(2 * count, len(session.steps))

    def test_an_iterable_without_workers(self):
        session = self.record("zero_stream")
        self.assertEqual(14, len(session.steps))
        self.assertEqual([5] * 6 + [2], [e.extra for _, e in session.events("batch")][:7])

    def test_workers(self):
        methods = ["fork", "spawn", "forkserver"]
        for name, count, epochs in (
                ("two", 8, 2), ("persistent", 8, 3), ("getitems", 8, 2), ("unbatched", 12, 2),
                ("batch_sampler", 3, 2), ("collate", 8, 2), ("subset", 5, 2), ("pinned", 8, 2)):
            for method in methods if name in ("two", "persistent", "pinned") else methods[:1]:
                with self.subTest(name + " " + method):
                    shutil.rmtree(self.session, True)
                    session = self.record(name, method)
                    self.check_batches(session, count, True)
                    self.assertEqual(count * epochs, len(session.steps))
                    named = {p.name for p in session.processes}
                    self.assertTrue({"worker 0", "worker 1"} <= named, named)
                    passes = {e.item >> 32 & 0xFFFF for _, e in session.events("work", "fetch")}
                    self.assertEqual(set(range(epochs)), passes)

    def test_iterables(self):
        for name, count in (("stream", 8), ("stream_persistent", 8)):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.assertEqual([], session.said)
                self.assertEqual(2 * count, len(session.steps))

    def test_an_iterable_that_each_worker_yields_whole(self):
        session = self.record("streams")
        self.assertEqual([], session.said)
        loaders = session.main.names["loader"]
        self.assertEqual(["Whole"], [each["dataset"] for each in loaders
                                     if each["settings"].get("whole_in_each_worker")])
        self.assertEqual(7, len(loaders))

    def test_a_loader_per_epoch_is_one_loader(self):
        session = self.record("every_epoch")
        (loader,) = session.main.of("loader").values()
        self.assertIs(True, loader["settings"]["made_again"])
        self.assertEqual({0, 1, 2}, {e.item >> 32 & 0xFFFF for _, e in session.events("step")})

    def test_passes_that_the_job_leaves(self):
        for job, left in (("left_passes", True), ("full_batches", None)):
            shutil.rmtree(self.session, True)
            session = self.record(job)
            self.assertEqual(12, len(session.steps))
            (loader,) = session.main.of("loader").values()
            self.assertIs(left, loader["settings"].get("left_early"))

    def test_loaders_of_one_line(self):
        """Alive at the same time, called from elsewhere, or with other settings: two loaders each."""
        self.assertEqual(6, len(self.record("alike").main.names["loader"]))

    def test_pinning_has_a_track(self):
        session = self.record("pinned")
        pinned = session.events("work", "pin")
        self.assertEqual(list(range(8)), items(pinned))
        self.assertEqual({"pin"}, {t["name"] for p, e in pinned for t in p.names["track"]
                                   if t["tid"] == e.tid})

    def test_out_of_order(self):
        if self.path is None and self.python("-c", "import torch; from torch.utils.data import "
                                             "DataLoader as D; D([1], in_order=False)")[0]:
            self.skipTest("this torch has no in_order")
        session = self.record("unordered")
        self.assertEqual(list(range(8)), items(session.events("release")))

    def test_a_straggler_is_order(self):
        session = self.record("straggler")
        held = max((e for _, e in session.events("release")), key=lambda e: e.end - e.start)
        self.assertGreater(held.end - held.start, 100e6)
        self.assertIn(held.item & 0xFFFFFFFF, (3, 5))  # of the other worker

    def test_a_loader_inside_of_a_data_set(self):
        for name, steps in (("nested", 3), ("nested_workers", 3)):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.assertEqual([], session.said)
                self.assertEqual(steps, len(session.steps))

    def test_threads(self):
        session = self.record("threads")
        self.assertEqual(0, sum(p.dropped for p in session.processes))

    def test_a_thread_per_request(self):
        self.record("many_threads")
        self.assertEqual("True\n", self.out)


class Steps(Case):
    def test_evaluation_is_told_from_training(self):
        session = self.record("evaluated")
        self.assertEqual(16, len(session.steps))
        spans = [e for _, e in session.events("named") if e.extra[0] == 8]
        self.assertEqual(6, len(spans))

    def steps_of(self, name, **more):
        shutil.rmtree(self.session, True)
        session = self.record(name, **more)
        self.assertEqual([], session.said)
        for one, next_one in zip(session.steps, session.steps[1:]):
            self.assertLessEqual(one.end, next_one.start)
            self.assertEqual(one.extra["index"] + 1, next_one.extra["index"])
        return session.steps, session

    def check_joined(self, name, counts, samples, evaluated=0):
        """Each step takes as many batches as `counts` says, of different loaders."""
        steps, session = self.steps_of(name)
        others = {step.item: [] for step in steps}
        for _, link in session.events("lineage"):
            self.assertEqual("trainer", link.stage)
            others[link.extra].append(link.item)
        self.assertEqual(counts, [1 + len(others[step.item]) for step in steps])
        for item, more in others.items():
            self.assertEqual(1 + len(more), len({each >> 48 for each in [item, *more]}))
        self.assertEqual(samples, [step.extra["samples"] for step in steps])
        self.assertEqual(evaluated,
                         len([e for _, e in session.events("named") if e.extra[0] == 8]))
        released = {e.item: e.end for _, e in session.events("release")}
        for step in steps:  # it waits for each of them
            self.assertEqual(step.extra["received"], released[step.item])
            for item in others[step.item]:
                self.assertTrue(step.start < released[item] < step.extra["received"])
        return steps, session

    def test_loaders_that_take_turns(self):
        """A batch of each makes one step."""
        self.check_joined("zipped", [2] * 8, [6] * 8)
        self.check_joined("zipped_workers", [3] * 8, [10] * 8)
        self.check_joined("zipped_with_a_cycle", [2] * 3 + [1] * 5, [8] * 3 + [4] * 5)
        self.check_joined("zipped_with_a_generator", [2] * 8, [6] * 8)
        self.check_joined("zipped_gan", [2] * 16, [6] * 16)
        self.check_joined("zipped_with_checks", [2] * 8, [6] * 8, 20)

    def test_a_batch_that_the_end_of_another_loader_leaves_is_no_step(self):
        self.check_joined("zipped_epochs", [2] * 15, [8] * 15, 60)

    def test_accumulated_gradients_of_loaders_that_take_turns(self):
        """Each batch is a step, and none is lost, also if a pass ends in between."""
        steps, session = self.check_joined("zipped_accumulated", [1] * 40, [2, 1] * 20)
        for loader in session.main.of("loader").values():
            self.assertEqual(4, loader["settings"]["gradient_accumulation"])

    def test_work_between_two_batches_of_a_step_is_the_trainers(self):
        steps, session = self.check_joined("works_between", [2] * 8, [6] * 8)
        worked = [e for _, e in session.events("work", "trainer")]
        for step in steps:
            self.assertGreater(sum(e.end - e.start for e in worked if e.item == step.item and
                                   e.end < step.extra["received"]), 10_000_000)

    def test_the_limit_of_loaders_that_take_turns(self):
        session = self.record("zipped_gan", settings={"steps": 5}, same=False)
        self.assertEqual((0, ""), (self.code, self.err))
        self.assertEqual([6] * 5, [step.extra["samples"] for step in session.steps])

    def test_loaders_that_do_not_take_turns(self):
        """A step for each of their batches; only the first cannot be told from one of both."""
        self.check_joined("alternating", [1] * 32, [4, 2] * 16)
        self.check_joined("one_for_several", [2, 1] + [1, 1, 1] * 7, [6, 2] + [4, 2, 2] * 7)
        self.check_joined("zipped_inference", [1] * 16, [4, 2] * 8)
        self.check_joined("checked_without_no_grad", [1] * 11, [100] + [4] * 10)
        self.check_joined("passes_in_a_row", [1] * 12, [4] * 4 + [2] * 4 + [1] * 4)

    def test_a_step_that_the_optimizer_leaves_out_loses_no_batch(self):
        self.check_joined("zipped_with_an_overflow", [2] * 7 + [1] * 4 + [2] * 7, [6] * 7 + [4, 2] * 2 + [6] * 7)

    def test_accumulated_gradients(self):
        session = self.record("accumulated")
        self.assertEqual(16, len(session.steps))
        (loader,) = session.main.of("loader").values()
        self.assertEqual(4, loader["settings"]["gradient_accumulation"])

    def test_gradients_of_whole_passes(self):
        session = self.record("accumulated_over_passes")
        self.assertEqual(150, len(session.steps))
        self.assertFalse([e for _, e in session.events("named") if e.extra[0] == 8])

    def check_kept(self, session, count):
        """Steps on batches that the job has kept: one after the other, and none of them waits."""
        self.assertEqual(1, len(session.said))
        self.assertIn("batches that it has kept", session.said[0])
        self.assertEqual(count, len(session.steps))
        self.assertEqual(count, len({e.item for e in session.steps}))
        self.assertEqual([4] * count, [e.extra["samples"] for e in session.steps])
        for one, next_one in zip(session.steps, session.steps[1:]):
            self.assertLessEqual(one.end, next_one.start)
        for kept in session.steps[8:]:
            self.assertEqual(kept.start, kept.extra["received"])

    def test_a_loader_that_is_cycled(self):
        for name in ("cycled", "cycled_workers"):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                self.check_kept(self.record(name), 100)

    def test_a_pass_that_is_kept_as_a_list(self):
        self.check_kept(self.record("kept"), 8 + 5 * 8 - 1)  # of the first, its batches were loaded

    def test_the_limit_of_a_loader_that_is_cycled(self):
        session = self.record("cycled", settings={"steps": 50}, same=False)
        self.assertEqual((0, ""), (self.code, self.err))
        self.assertEqual(50, len(session.steps))

    def test_a_loop_that_stays_on_a_batch(self):
        """Each step of the optimizer is one, from the one before; only the first waits."""
        session = self.record("stays")
        self.assertEqual(1, len(session.said), session.said)
        self.assertIn("many steps on one batch", session.said[0])
        self.assertEqual(60, len(session.steps))
        self.assertEqual(60, len({e.item for e in session.steps}))
        self.assertEqual([4] * 60, [e.extra["samples"] for e in session.steps])
        for one, next_one in zip(session.steps, session.steps[1:]):
            self.assertEqual(one.end, next_one.start)
            self.assertEqual(next_one.start, next_one.extra["received"])
        worked = [e for _, e in session.events("work", "trainer")]
        self.assertEqual(60, len(worked))
        shutil.rmtree(self.session)
        session = self.record("stays_on_each")
        self.assertEqual(3 * 30, len(session.steps))
        self.assertEqual(3, sum(e.start < e.extra["received"] for e in session.steps))

    def test_a_few_steps_on_each_batch_are_one(self):
        session = self.record("several_steps_per_batch")
        self.assertEqual([], session.said)
        self.assertEqual(8, len(session.steps))

    def test_the_limit_of_a_loop_that_stays_on_a_batch(self):
        session = self.record("stays", settings={"steps": 30}, same=False)
        self.assertEqual((0, ""), (self.code, self.err))
        self.assertEqual(30, len(session.steps))

    def test_several_optimizers(self):
        session = self.record("gan")
        self.assertEqual([], session.said)
        self.assertEqual(16, len(session.steps))
        self.assertFalse([e for _, e in session.events("named") if e.extra[0] == 8])
        self.assertNotIn("gradient_accumulation", session.main.names["loader"][-1]["settings"])

    def test_several_optimizers_and_a_loader_that_is_cycled(self):
        """The generator steps once for two batches, also for those that were kept."""
        session = self.record("gan_cycled")
        self.assertEqual(8 + 36, len(session.steps))

    def test_threads_that_train(self):
        """Each has steps of its own."""
        session = self.record("trained_in_threads")
        self.assertEqual([], session.said)
        self.check_threads(session, [16, 32])

    def test_threads_that_share_a_loader(self):
        session = self.record("shared_by_threads")
        self.assertEqual([], session.said)
        self.assertEqual(list(range(32)), sorted(e.item & 0xFFFFFFFF for e in session.steps))
        self.check_threads(session, None)

    def check_threads(self, session, counts):
        steps = {}
        for step in session.steps:
            steps.setdefault(step.tid, []).append(step)
        if counts is not None:
            self.assertEqual(counts, sorted(map(len, steps.values())))
        trainers = {d["tid"] for d in session.main.of("track").values() if "stage" in d}
        for tid, own in steps.items():
            self.assertIn(tid, trainers)
            for one, next_one in zip(own, own[1:]):
                self.assertLessEqual(one.end, next_one.start)
        self.assertFalse([e for _, e in session.events("named") if e.extra[0] == 8])

    def test_a_loader_in_a_generator(self):
        session = self.record("in_a_generator")
        self.assertEqual([], session.said)
        self.assertEqual(8 + 3 + 8, len(session.steps))

    def test_loaders_that_make_their_own_iterators(self):
        session = self.record("own_iterators")
        self.assertEqual([], session.said)
        self.assertEqual(32, len(session.steps))
        self.assertEqual({0, 1}, {e.item >> 32 & 0xFFFF for e in session.steps})

    def test_batches_without_gradients_are_for_evaluation(self):
        # Two batches of a sanity check, then two for the first step of a loop that fetches ahead.
        session = self.record("sanity_check")
        self.assertEqual(8, len(session.steps))
        self.assertEqual(2, len([e for _, e in session.events("named") if e.extra[0] == 8]))

    def test_without_an_optimizer_each_batch_is_a_step(self):
        self.assertEqual(16, len(self.record("inference").steps))

    def test_a_pass_that_is_broken_off(self):
        self.assertEqual(9, len(self.record("early_break").steps))

    def test_a_batch_that_the_job_leaves_at_its_end_is_no_step(self):
        """One in the midst is the price of its pass: the step's time is that of the workers' end."""
        session = self.record("left_batch")
        self.assertEqual(7, len(session.steps))

    def test_the_last_step_ends_where_its_optimizer_stepped(self):
        session = self.record("early_break")
        ends = {e.item: e.end for _, e in session.events("work", "trainer")}
        behind = [e.end - ends[e.item] for e in session.steps]
        self.assertTrue(all(behind[:-1]), behind)
        self.assertEqual(0, behind[-1])

    def test_samples(self):
        self.assertEqual([5] * 6 + [2], [e.extra["samples"]
                                         for e in self.record("zero_stream").steps][:7])

    def test_samples_of_any_batch(self):
        """Objects that are no tensors, and lists of them: what the data set was asked for counts."""
        session = self.record("odd_batches")
        self.assertEqual([], session.said)
        self.assertEqual([4] * 48, [e.extra["samples"] for e in session.steps])
        shutil.rmtree(self.session)
        session = self.record("pictures")
        self.assertEqual([8] * 16, [e.extra["samples"] for e in session.steps])

    def test_without_hooks_gradients_tell_evaluation(self):
        session = self.record("unhooked")
        self.assertEqual(80, len(session.steps))
        self.assertEqual(40, len([e for _, e in session.events("named") if e.extra[0] == 8]))

    def test_an_optimizer_that_steps_before_the_loop_alone(self):
        session = self.record("captured_step")
        self.assertEqual(40, len(session.steps))
        self.assertEqual(20, len([e for _, e in session.events("named") if e.extra[0] == 8]))

    def test_the_variables_of_a_function_are_left_alone(self):
        self.record("variables_of_its_own")
        self.assertIn("True ['count']", self.out)

    def test_a_thread_that_takes_batches_for_another_one(self):
        """The optimizer's thread waits if a batch has not come, not as long as the other one loads."""
        def waits(name):
            shutil.rmtree(self.session, True)
            session = self.record(name)
            self.assertEqual([], session.said)
            steps = [e for _, e in session.events("step")]
            self.assertEqual({session.main.pid}, {e.tid for e in steps})
            for one, next_one in zip(steps, steps[1:]):
                self.assertLessEqual(one.end, next_one.start)
            # A thread per pass; the second one may get the number of the first, which has ended.
            trains = {d["tid"] for d in session.main.of("track").values() if "stage" in d}
            self.assertLessEqual({e.tid for _, e in session.events("work", "fetch")}, trains)
            return [e.extra["received"] - e.start for e in steps]

        self.assertEqual(16, len(waits("ahead_in_a_thread")))
        slow = waits("slow_ahead_in_a_thread")
        self.assertEqual(16, len(slow))
        self.assertGreater(sorted(slow)[8], 15_000_000)
        hidden = waits("slow_behind_a_thread")
        self.assertEqual(32, len(hidden))
        self.assertEqual(0, sorted(hidden)[16])

    def test_a_thread_that_takes_several_batches_per_step_is_said(self):
        session = self.record("accumulated_behind_a_thread")
        self.assertTrue(any("for another one" in s for s in session.said), session.said)

    def test_the_limit_of_a_job_without_an_optimizer(self):
        session = self.record("no_optimizer", settings={"steps": 5}, same=False)
        self.assertEqual((0, ""), (self.code, self.err))
        self.assertEqual(5, len(session.steps))
        self.assertEqual(5, len(self.out.splitlines()))

    def test_the_limit_ends_a_job_that_catches_all(self):
        self.record("catches_all", settings={"steps": 5}, same=False)
        self.assertEqual(0, self.code, self.err)
        lines = self.out.splitlines()
        self.assertEqual(7, len(lines))
        self.assertEqual("SystemExit", lines[5])

    def test_the_limit_ends_the_job_cleanly(self):
        for name in ("zero", "two"):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name, settings={"steps": 5}, same=False)
                self.assertEqual((0, ""), (self.code, self.err))
                self.assertEqual(5, len(session.steps))
                self.assertEqual([{"steps": 5}], session.main.names["ended"])
                self.assertEqual(6, len(self.out.splitlines()))


class Settings(Case):
    def knobs(self, **values):
        return {"set": [{"knob": "loader." + k, "value": v} for k, v in values.items()]}

    def test_workers_are_added(self):
        session = self.record("zero", settings=self.knobs(num_workers=2))
        self.assertEqual(2, session.main.names["loader"][0]["settings"]["num_workers"])
        self.assertEqual(16, len(session.steps))

    def test_workers_are_removed_with_what_needs_them(self):
        session = self.record("persistent", settings=self.knobs(num_workers=0))
        self.assertEqual(0, session.main.names["loader"][0]["settings"]["num_workers"])
        self.assertEqual(24, len(session.steps))

    def test_several_at_once(self):
        session = self.record("two", settings=self.knobs(
            prefetch_factor=4, persistent_workers=True, multiprocessing_context="spawn"))
        settings = session.main.names["loader"][0]["settings"]
        self.assertEqual((4, True, "spawn"), (settings["prefetch_factor"], settings[
            "persistent_workers"], settings["multiprocessing_context"]))

    def test_threads_that_the_job_sets_itself(self):
        settings = self.record("sets_threads").main.names["loader"][0]["settings"]
        with open(os.path.join(HERE, "jobs.py")) as f:
            line = f.read().split("torch.set_num_threads(3)")[0].count("\n") + 1
        self.assertEqual("jobs.py:%d" % line, settings["math_threads_at"])
        shutil.rmtree(self.session)
        settings = self.record("threads_of_others").main.names["loader"][0]["settings"]
        self.assertNotIn("math_threads_at", settings)
        for variable, place in (("OMP_NUM_THREADS", "OMP_NUM_THREADS"), ("OMP_SCHEDULE", None)):
            shutil.rmtree(self.session)
            # Given to the process, which leaves it as it is; or set before torch is imported.
            job = "import os; os.environ[%r] = '1'; import jobs; jobs.zero()" % variable
            self.assertEqual(0, self.python("-c", job, path=HERE, env={"MKL_NUM_THREADS": "2"})[0])
            settings = ring_reader.read(self.session).main.names["loader"][0]["settings"]
            self.assertEqual(place, settings.get("math_threads_at"))

    def test_by_place_and_by_order(self):
        first = self.record("evaluated")
        places = [loader["where"] for loader in first.main.names["loader"]]
        self.assertTrue(all(p["file"] == os.path.join(HERE, "jobs.py") for p in places))
        shutil.rmtree(self.session)
        session = self.record("evaluated", settings={"set": [
            {"knob": "loader2.num_workers", "value": 1}]})
        self.assertEqual([1, 2], sorted(l["settings"]["num_workers"]
                                        for l in session.main.names["loader"]))
        shutil.rmtree(self.session)
        session = self.record("zero", settings={"set": [
            {"knob": "loader.num_workers", "value": 1, "where": {"file": "/other.py", "line": 1}}]})
        self.assertEqual(0, session.main.names["loader"][0]["settings"]["num_workers"])

    def test_what_no_loader_was_made_for_is_said(self):
        settings = {"set": [{"knob": name + ".num_workers", "value": 1}
                            for name in ("loader2", "loader3")]}
        session = self.record("evaluated", settings=settings)
        self.assertEqual(["loader3.num_workers was not set: the job made 2 of PyTorch's loaders"],
                         session.said)

    def test_what_no_loader_takes_is_said(self):
        session = self.record("evaluated", settings={"set": [{"knob": "loader.prefetch", "value": 4}]})
        self.assertEqual(["loader.prefetch was not set: no call of the job's takes it"], session.said)

    def test_what_cannot_be_set_is_said(self):
        session = self.record("batch_sampler", settings=self.knobs(batch_size=9))
        self.assertEqual(["batch_size was not changed: the job's batch sampler decides it"],
                         session.said)


class Calls(Case):
    """The call that constructs a loader, as written."""

    def calls(self, script, prefix="from torch.utils.data import DataLoader\n"):
        self.file = os.path.join(self.folder, "script.py")
        with open(self.file, "w") as f:
            f.write(prefix + script)
        self.text = prefix + script
        shutil.rmtree(self.session, True)
        code, _, err = self.python(self.file)
        self.assertEqual((0, ""), (code, err))
        found = ring_reader.read(self.session)
        self.assertEqual([], found.said)
        return [loader["where"].get("call") for loader in found.main.names["loader"]]

    def check(self, call, wanted):
        """The source has the call, and its extent, if known, is that of `wanted`."""
        lines = self.text.splitlines(True)
        own = call["source"].splitlines(True)
        first = call["source_line"] - 1
        self.assertEqual(lines[first:first + len(own)], own)
        self.assertIn(wanted, call["source"])
        if sys.version_info >= (3, 11):
            cut = [line.encode() for line in lines[call["line"] - 1:call["end_line"]]]
            cut[-1] = cut[-1][:call["end_column"]]
            cut[0] = cut[0][call["column"]:]
            self.assertEqual(wanted, b"".join(cut).decode())

    def test_the_extent(self):
        wanted = "DataLoader(\n    [1],  # (\n    batch_size=2,\n)"
        call, = self.calls("s = 'ä'; l = %s\nfor x in l: pass\n" % wanted)
        self.check(call, wanted)
        self.assertEqual(["dataset", "batch_size"], call["parameters"][:2])
        self.assertIn("prefetch_factor", call["keywords"])

    def test_the_file_of_a_script_that_lies_above_the_folder(self):
        self.calls("for x in DataLoader([1]): pass\n")
        shutil.rmtree(self.session, True)
        self.assertEqual(0, self.python(os.path.join(self.folder, "shim", "..", "script.py"))[0])
        loader, = ring_reader.read(self.session).main.names["loader"]
        self.assertEqual(self.file, loader["where"]["file"])

    def test_two_on_one_line(self):
        first, second = self.calls("for a, b in zip(DataLoader([1]), DataLoader([2], 3)): pass\n")
        self.check(first, "DataLoader([1])")
        self.check(second, "DataLoader([2], 3)")

    def test_other_names(self):
        call, = self.calls("import torch.utils.data as d\nL = DataLoader\n"
                           "for x in L([1]): pass\n")
        self.check(call, "L([1])")
        self.assertEqual(["DataLoader", "L"], call["names"])

    def test_a_function_and_a_subclass(self):
        call, other = self.calls(
            "class Mine(DataLoader):\n    def __init__(self, data, size=1):\n"
            "        super().__init__(data, size, num_workers=0)\n"
            "def make(data):\n    return DataLoader(data)\n"
            "for a, b in zip(Mine([1]), make([2])): pass\n")
        self.check(call, "Mine([1])")
        self.assertEqual((["data", "size"], [], False),
                         (call["parameters"], call["keywords"], call["any_keyword"]))
        self.check(other, "DataLoader(data)")

    def test_a_name_of_a_functions_own(self):
        call, = self.calls("def make():\n    from torch.utils.data import DataLoader as D\n"
                           "    return D([1])\nfor x in make(): pass\n")
        self.check(call, "D([1])")
        self.assertEqual(["D", "DataLoader"], call["names"])
        call, = self.calls("def make(kind=None):\n    L = DataLoader\n    return L([1])\n"
                           "for x in make(): pass\n")
        self.check(call, "L([1])")
        self.assertEqual(["DataLoader", "L"], call["names"])

    def test_a_subclass_that_passes_keywords_on(self):
        """A change must not add a keyword that the subclass passes itself."""
        call, = self.calls(
            "class Mine(DataLoader):\n    def __init__(self, data, size=1, **more):\n"
            "        super().__init__(data, size, num_workers=0, **more)\n"
            "for x in Mine([1], shuffle=False): pass\n")
        self.assertEqual(["data", "size"], call["parameters"])
        self.assertFalse(call["any_keyword"])
        self.assertIn("persistent_workers", call["keywords"])
        self.assertNotIn("num_workers", call["keywords"])

    def test_none_of_code_that_is_installed(self):
        lib = os.path.join(self.folder, "site-packages")
        os.makedirs(lib)
        with open(os.path.join(lib, "fit.py"), "w") as f:
            f.write("from torch.utils.data import DataLoader\n"
                    "def fit():\n    for x in DataLoader([1]): pass\n")
        self.assertEqual([None], self.calls("import sys; sys.path.append(%r)\nimport fit\n"
                                            "fit.fit()\n" % lib))

    def test_a_framework_wraps_the_constructor(self):
        """As Lightning does while it requests the job's loaders."""
        lib = os.path.join(self.folder, "site-packages")
        os.makedirs(lib)
        with open(os.path.join(lib, "wrap.py"), "w") as f:
            f.write("import functools\nfrom torch.utils.data import DataLoader\n"
                    "init = DataLoader.__init__\n"
                    "@functools.wraps(init)\ndef wrapper(obj, *args, **kwargs):\n"
                    "    init(obj, *args, **kwargs)\n"
                    "def ask(make):\n"
                    "    DataLoader.__init__ = wrapper\n"
                    "    try:\n        return make()\n"
                    "    finally:\n        DataLoader.__init__ = init\n")
        call, = self.calls("import sys; sys.path.append(%r)\nimport wrap\n"
                           "for x in wrap.ask(lambda: DataLoader([1])): pass\n" % lib)
        self.check(call, "DataLoader([1])")
        self.assertIn("prefetch_factor", call["keywords"])

    def test_what_a_framework_makes_of_the_jobs_own(self):
        """As Accelerate's prepare() and Lightning do: settings are found and set at the job's call."""
        lib = os.path.join(self.folder, "site-packages")
        os.makedirs(lib)
        with open(os.path.join(lib, "prepare.py"), "w") as f:
            f.write("from torch.utils.data import DataLoader\n"
                    "class Shard(DataLoader): pass\n"
                    "def prepare(dataloader):\n"
                    "    return Shard(dataloader.dataset, num_workers=dataloader.num_workers)\n")
        script = ("import sys; sys.path.append(%r)\nimport prepare\nl = DataLoader([1])\n"
                  "l = prepare.prepare(l)\nfor x in l: pass\n" % lib)
        call, = self.calls(script)
        self.check(call, "DataLoader([1])")
        where = {"file": self.file, "line": 4}
        shutil.rmtree(self.session)
        os.makedirs(self.session)
        with open(os.path.join(self.session, "settings.json"), "w") as f:
            json.dump({"version": 1, "steps": 0, "set": [
                {"knob": "loader.num_workers", "value": 1, "where": where}]}, f)
        self.assertEqual(0, self.python(self.file)[0])
        loader, = ring_reader.read(self.session).main.names["loader"]
        self.assertEqual(1, loader["settings"]["num_workers"])
        self.assertEqual(where, {name: loader["where"][name] for name in where})

    def test_no_source_of_a_file_that_has_changed(self):
        call, = self.calls("import os; os.utime(__file__, (4e9, 4e9))\n"
                           "for x in DataLoader([1]): pass\n")
        self.assertNotIn("source", call)

    def test_a_part_of_a_large_file(self):
        many = "x = 1  # %s\n" % ("long " * 100) * 20
        call, = self.calls(many + "for x in DataLoader([1]): pass\n" + many)
        self.assertLessEqual(len(call["source"]), 4000)
        self.check(call, "DataLoader([1])")
        call, = self.calls("for x in DataLoader([%s]): pass\n" % ("1," * 4000))
        self.assertNotIn("source", call)


class Digests(Case):
    def digests(self, name, **more):
        shutil.rmtree(self.session, True)
        settings = dict({"digest": True}, **more.pop("settings", {}))
        self.last = self.record(name, settings=settings, **more)
        return [d for p in self.last.processes for d in p.names["digest"]]

    def workers(self, count, **more):
        return {"set": [{"knob": "loader." + k, "value": v}
                        for k, v in dict(num_workers=count, **more).items()]}

    def test_none_unless_asked_for(self):
        self.assertEqual([], self.record("zero").main.names["digest"])

    def test_the_same_batches_whatever_the_workers(self):
        digest, = self.digests("zero")
        self.assertEqual((16, 16, True, []), (digest["batches"], digest["steps"],
                                              digest["ordered"], digest["missing"]))
        for count, start in ((1, "fork"), (3, "spawn")):
            other, = self.digests("zero", same=False, settings=self.workers(
                count, multiprocessing_context=start))
            self.assertEqual(digest["hash"], other["hash"])
        self.assertEqual(digest["hash"], self.digests("persistent", same=False, settings={
            "steps": 16})[0]["hash"])

    def test_other_batches(self):
        hashes = [self.digests(name)[0]["hash"] for name in (
            "zero", "zero_getitems", "collate", "subset", "batch_sampler")]
        self.assertEqual(hashes[0], hashes[1])
        self.assertEqual(4, len(set(hashes)))

    def test_loaders_of_one_line(self):
        """That of each epoch belongs to it, that of an evaluation does not."""
        digest, = self.digests("evaluated")
        self.assertEqual((16, 16), (digest["batches"], digest["steps"]))
        digest, = self.digests("every_epoch")
        self.assertEqual((6, 6), (digest["batches"], digest["steps"]))

    def test_a_loader_inside_of_a_data_set_has_none(self):
        for name in ("nested", "nested_workers"):
            digest, = self.digests(name)
            self.assertEqual(3, digest["batches"])

    def test_without_order_it_is_the_sum(self):
        hashes = set()
        for _ in range(2):
            digest, = self.digests("unordered")
            self.assertFalse(digest["ordered"])
            hashes.add(digest["hash"])
        self.assertEqual(1, len(hashes))

    def test_a_limit_of_steps(self):
        digest, = self.digests("two", settings={"steps": 5}, same=False)
        self.assertEqual((5, 5), (digest["batches"], digest["steps"]))

    def test_what_is_not_hashed_is_said(self):
        digest, = self.digests("opaque")
        self.assertEqual(["objects of class builtins.generator"], digest["missing"])
        digest, = self.digests("threads")
        self.assertIn("several threads", digest["missing"][0])

    def test_objects(self):
        """Every kind of object: its value counts, and nothing else of it."""
        program = os.path.join(HERE, "digest_objects.py")
        for seed in ("1", "2"):
            code, out, err = self.python(program, os.path.join(self.folder, "shim"),
                                         env={"PYTHONHASHSEED": seed})
            self.assertEqual((0, ""), (code, err))
            self.assertEqual("ok\n", out)


class Ops(Case):
    def ops(self, session):
        """By their time without the ops inside."""
        found = {}
        ended = {}  # by process, and not yet part of one around them
        for process, e in session.events("named"):
            if e.extra[0] == 7:
                own = e.end - e.start
                inside = ended.setdefault(id(process), [])
                while inside and inside[-1].start >= e.start:
                    inner = inside.pop()
                    own -= inner.end - inner.start
                inside.append(e)
                found[e.extra[1]] = found.get(e.extra[1], 0) + own
        return sorted(found, key=found.get, reverse=True)

    def test_a_transform_of_a_compose_has_its_name(self):
        for name in ("zero_compose", "two_compose"):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.assertEqual("Slow", self.ops(session)[0])
                place = next(o for p in session.processes for o in p.names["op"]
                             if o["name"] == "Slow")
                self.assertEqual(os.path.join(HERE, "jobs.py"), place["file"])

    def test_a_function_of_cython_has_its_own_name(self):
        self.assertEqual("Generator.normal", self.ops(self.record("zero_compiled"))[0])

    def test_what_a_library_calls_is_at_the_jobs_line(self):
        """A transform that a library has, called by one that it has, too: the job's own line tells them apart."""
        packages = os.path.join(self.folder, "site-packages")
        os.makedirs(packages)
        with open(os.path.join(packages, "composing.py"), "w") as file:
            file.write("import time\n\n\nclass Blur:\n    def __call__(self, x):\n        time.sleep(0.002)\n"
                       "        return x\n\n\nclass Compose:\n    def __init__(self, transforms):\n"
                       "        self.transforms = transforms\n\n    def __call__(self, x):\n"
                       "        for each in self.transforms:\n            x = each(x)\n        return x\n")
        session = self.record("zero_library", path=packages)
        with open(os.path.join(HERE, "jobs.py")) as file:
            source = file.read().split("\n")
        self.assertEqual([("jobs.py", "once = self.composed(index)"), ("jobs.py", "return self.composed(once)")], [
            (os.path.basename(op["file"]), source[op["line"] - 1].strip())
            for p in session.processes for op in p.names["op"] if op["name"] == "Blur"])

    def test_a_librarys_collate_function_is_an_op_and_so_is_what_it_holds_of_the_jobs(self):
        packages = os.path.join(self.folder, "site-packages")
        os.makedirs(packages)
        with open(os.path.join(packages, "collating.py"), "w") as file:
            file.write("import time\n\n\ndef padded(batch):\n    time.sleep(0.002)\n    return batch\n\n\n"
                       "class Padding:\n    def __init__(self, inner):\n        self.inner = inner\n\n"
                       "    def __call__(self, batch):\n        return self.inner(padded(batch))\n")
        session = self.record("zero_collator", path=packages)
        self.assertEqual([], session.said)
        self.assertLessEqual({"Padding", "doubled", "padded", "Doubling"}, set(self.ops(session)))

    @unittest.skipUnless((3, 11) <= sys.version_info < (3, 13), "fields are as fast with a dictionary")
    def test_no_object_of_the_jobs_gets_a_dictionary(self):
        self.assertIn("zero_lazy.Doubled", self.ops(self.record("zero_lazy")))
        self.assertEqual(["%s False" % name for name in ("Loaded", "Doubled", "Drawn", "Collated")],
                         self.out.splitlines()[-4:])

    def test_a_loop_of_cheap_native_calls_is_its_function(self):
        """What is to be made cheaper is the loop, not `sum` of one number."""
        self.assertEqual("Counted.__getitem__", self.ops(self.record("zero_cheap_calls"))[0])
        shutil.rmtree(self.session, True)
        self.assertEqual("sum", self.ops(self.record("zero_dear_calls"))[0])

    def test_a_comprehension_is_a_part_of_its_function_and_a_closure_is_an_op(self):
        for job, op in (("zero_closures", "opened"), ("zero_cached", "cached")):
            with self.subTest(job):
                shutil.rmtree(self.session, True)
                session = self.record(job)
                self.assertEqual([], session.said)
                ops = self.ops(session)
                self.assertEqual(op, ops[0].rpartition(".")[2], ops)
                self.assertFalse([name for name in ops if "<" in name], ops)

    def test_a_stream_of_datasets_counts_in_the_thread_that_iterates(self):
        source = "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n    return inner\n"
        script = ("import sys, types; sys.path.insert(0, sys.argv[1]); from stallscope_shim import session\n"
                  "session.folder = sys.argv[4]\n"
                  "from stallscope_shim import sight\n"
                  "code = compile(sys.argv[2], sys.argv[3], 'exec').co_consts[0]\n"
                  "print(sight.shares(types.SimpleNamespace(roots={code}, own=set())))")
        for file, shares in (("/p/site-packages/datasets/iterable_dataset.py", "False"),
                             ("/p/site-packages/datasets/other.py", "True"),
                             ("/job/datasets/iterable_dataset.py", "True")):
            with self.subTest(file):
                out = subprocess.run([sys.executable, "-c", script, SHIM, source, file, self.folder],
                                     stdout=subprocess.PIPE, check=True).stdout
                self.assertEqual(shares, out.decode().strip())

    def test_a_list_of_callables_is_a_compose_whatever_its_name(self):
        for name in ("zero_own_compose", "zero_around"):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.assertEqual([], session.said)
                self.assertEqual("Slow", self.ops(session)[0])

    def test_the_jobs_own_sampler_and_collate_function_are_ops_as_a_whole(self):
        for name, collate in (("zero_drawn", "total_of"), ("two_drawn", "mean")):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.assertEqual([], session.said)
                self.assertEqual("Drawn.__iter__", self.ops(session)[0])
                self.assertIn(collate, self.ops(session))
                drawn = [e for _, e in session.events("named") if e.extra[1] == "Drawn.__iter__"]
                # Not of each batch, for ever: some stand for the others.
                self.assertGreaterEqual(len(drawn), 32)
                self.assertLess(len(drawn), 2 * 64 if collate == "mean" else 80)

    def test_a_collate_function_is_no_op_as_a_whole_once_a_sample_has_looked_into_it(self):
        session = self.record("zero_lines")
        named = [e for _, e in session.events("named")]
        watched = [e for _, e in session.events("work", "fetch")
                   if any(e.start <= op.start < e.end for op in named)]
        collated = [e.start for e in named if e.extra[1] == "lined_collate"]
        self.assertLess(4, len(watched))
        self.assertEqual(len(watched), len([start for start in collated if start > watched[0].start]))
        self.assertLess(0, len([start for start in collated if start < watched[0].start]))

    def test_a_sampler_that_draws_a_pass_before_its_first_index(self):
        # torch asks for an iterator once more where it has workers.
        for name, times in (("zero_bucketed", 2), ("two_bucketed", 4), ("persistent_bucketed", 4)):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.assertEqual([], session.said)
                drawn = [e for _, e in session.events("work", "sampler")
                         if e.end - e.start >= 250_000_000]
                self.assertEqual(times, len(drawn))
                self.assertEqual("Bucketed.__iter__", self.ops(session)[0])
                for _, wait in session.events("wait"):
                    if wait.extra[0] == "startup":
                        self.assertFalse([e for e in drawn if e.tid == wait.tid and
                                          e.start < wait.end and wait.start < e.end])

    def test_each_call_is_a_span_around_those_inside(self):
        session = self.record("zero_compose")
        calls = sorted((e.start, -e.end, e.extra[1]) for _, e in session.events("named")
                       if e.extra[0] == 7)
        outer = [(start, -end) for start, end, name in calls if name.endswith("__getitem__")]
        inner = [(start, -end) for start, end, name in calls if name == "Slow"]
        self.assertEqual(len(inner), len(outer))
        for (start, end), (from_, to) in zip(outer, inner):
            self.assertTrue(start <= from_ and to <= end)

    def test_a_function_beside_the_base_class_belongs_to_the_op_that_calls_it(self):
        session = self.record("zero_helper")
        self.assertEqual("Augmented.augment", self.ops(session)[0])
        self.assertNotIn("pause", self.ops(session))

    def test_a_short_job_has_ops_behind_its_warm_up(self):
        """They are not all of the first batches, whatever watching these has cost."""
        for name in ("short", "short_workers"):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                fetches = [e for _, e in session.events("work", "fetch")]
                self.assertEqual(80, len(fetches))
                sampled = sorted({f.item & 0xFFFFFFFF for f in fetches
                                  for _, e in session.events("named", "fetch")
                                  if e.tid == f.tid and f.start <= e.start and e.end <= f.end})
                self.assertGreaterEqual(len(sampled), 2)
                self.assertGreaterEqual(sampled[-1], 15, sampled)

    def lock_waits(self, session):
        return [(p, e) for p, e in session.events("wait") if e.extra == ("lock", "shared lock")]

    def held(self, session):
        return [e for _, e in session.events("named") if e.extra[1].endswith(" held")]

    def test_a_lock_that_workers_share(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                shutil.rmtree(self.session, True)
                session = self.record("locked", method)
                self.assertEqual([], session.said)
                waits = self.lock_waits(session)
                self.assertTrue(waits)
                for process, wait in waits:
                    self.assertTrue(process.name.startswith("worker"), process.name)
                    self.assertTrue([e for e in process.events
                                     if e.kind == "work" and e.stage == "fetch" and
                                     e.tid == wait.tid and e.start <= wait.start and
                                     wait.end <= e.end])
                held = self.held(session)
                self.assertTrue(held)
                self.assertEqual({(7, "multiprocessing.Lock held")}, {e.extra for e in held})
                with open(os.path.join(HERE, "jobs.py")) as file:
                    source = file.read().split("\n")
                op = next(o for p in session.processes for o in p.names["op"]
                          if o["name"].endswith(" held"))
                self.assertIn("of all workers", source[op["line"] - 1])

    def test_a_lock_that_nobody_waits_for(self):
        session = self.record("locked_zero")
        self.assertEqual([], self.lock_waits(session))
        held = self.held(session)
        self.assertTrue(held)
        self.assertEqual(0, len(held) % 4)  # of each element
        self.assertTrue(all(e.end - e.start >= 3_000_000 for e in held))

    def test_a_lock_that_is_acquired_and_released(self):
        session = self.record("acquired")
        self.assertEqual([], session.said)
        self.assertTrue(self.lock_waits(session))
        # A semaphore that lets two in is not held by one.
        self.assertEqual({"multiprocessing.Lock held", "multiprocessing.RLock held"},
                         {e.extra[1] for e in self.held(session)})

    def test_locks_are_what_they_were(self):
        session = self.record("locks")
        self.assertEqual([], session.said)
        self.assertEqual([], self.lock_waits(session))
        session = self.record("fails_in_a_lock")
        self.assertEqual(1, self.code)

    def lines(self, session):
        """Totals by function: {line: [ns, times]}."""
        found = {}
        with open(os.path.join(HERE, "jobs.py")) as file:
            source = file.read().split("\n")
        for process in session.processes:
            for entry in process.names["lines"]:
                if entry["file"].startswith(STAND_IN):
                    continue  # it is not in an installed package, unlike torch
                self.assertEqual(os.path.join(HERE, "jobs.py"), entry["file"])
                lines = found.setdefault(source[entry["first"] - 1].split("(")[0].split()[-1], {})
                for line, ns, times in entry["lines"]:
                    sums = lines.setdefault(source[line - 1].strip(), [0, 0])
                    sums[0] += ns
                    sums[1] += times
        return found

    def test_the_lines_in_which_the_time_goes(self):
        session = self.record("zero_lines")
        self.assertEqual([], session.said)
        found = self.lines(session)
        slowest = {f: max(lines, key=lambda l: lines[l][0]) for f, lines in found.items()}
        self.assertIn("the slow lines", slowest["__getitem__"])
        self.assertIn("the slow line of the collate function", slowest["lined_collate"])
        # A loop runs untimed after a while: the rest of it must not count for other lines.
        loop = sum(found["counted"][l][0] for l in ("while count < most:", "count += 1"))
        rest = sum(ns for ns, _ in found["counted"].values()) - loop
        self.assertGreater(loop, 10 * rest)
        self.assertLess(sum(times for _, times in found["counted"].values()), 100000)
        self.assertIn("lined_collate", self.ops(session))
        # A track's spans are in the order of their ends: each op comes before the work around it.
        for process in session.processes:
            for thread in {e.tid for e in process.events}:
                ends = [e.end for e in process.events
                        if e.tid == thread and e.kind in ("work", "named")]
                self.assertEqual(sorted(ends), ends)

    def test_a_job_that_traces_its_own_lines_keeps_its_tracer(self):
        session = self.record("traced_lines")
        if sys.version_info < (3, 12):
            self.assertEqual({}, self.lines(session))

    def test_none_where_the_user_wants_none(self):
        session = self.record("zero_compose", settings={"profile": "off"})
        self.assertEqual([], self.ops(session))
        self.assertEqual(16, len(session.steps))

    def test_a_sleep_in_the_data_set_itself(self):
        session = self.record("straggler")
        self.assertIn("time.sleep", self.ops(session) or ["time.sleep"])

    def test_variables_that_threads_share_are_left_alone(self):
        session = self.record("shared_variables")
        self.assertEqual(32, len(session.steps))
        self.assertEqual("{None}", self.out.splitlines()[-1])
        if sys.version_info < (3, 12):
            self.assertTrue(any("changes variables" in s for s in session.said), session.said)
        # Of functions beside the data set, only those count that a fetch may call.
        shutil.rmtree(self.session)
        self.assertEqual([], self.record("zero_compose").said)

    def test_the_jobs_own_profiler_stays(self):
        session = self.record("profiled")
        if sys.version_info < (3, 12):
            self.assertTrue(any("profiler of its own" in s for s in session.said))


class Faults(Case):
    def test_an_exception_has_the_same_traceback(self):
        for name, method in (("failing", "fork"), ("failing", "spawn"), ("failing_zero", "fork")):
            with self.subTest(name + " " + method):
                shutil.rmtree(self.session, True)
                self.record(name, method)
                self.assertEqual(1, self.code)
                self.assertIn("no element 13", self.err)
                self.assertNotIn("stallscope", self.err)

    def test_objects_of_the_jobs_are_not_asked(self):
        """For attributes that they do not have, nor for a hash."""
        session = self.record("shy")
        self.assertEqual([], session.said)
        self.assertEqual(64, len(session.steps))
        self.assertEqual(["Shy", "Shy"], [l["dataset"] for l in session.main.names["loader"]])

    def test_an_exception_takes_the_profiler_off(self):
        self.record("fails_late")
        self.assertEqual("{(400, None, None)}\n", self.out)

    def test_an_exception_in_collate(self):
        session = self.record("collate_fails")
        self.assertEqual([], session.said)
        self.assertEqual(self.out.count("\n[("), self.out.count("(True, None, None)]\n"))
        self.assertTrue(self.out.endswith("None None\n" * 20))

    def test_an_exception_of_a_signal_handler_is_the_jobs(self):
        # What lands in a generator that is being closed is printed and lost, with us or without.
        session = self.record("late", errors=False)
        self.assertEqual("True\n", self.out)
        self.assertFalse([s for s in session.said if "Late" in s], session.said)

    def test_workers_without_the_shim_are_said(self):
        session = self.record("other_path", "spawn")
        self.assertEqual(8, len(session.steps))
        self.assertTrue(any("replaced PYTHONPATH" in s for s in session.said), session.said)

    def test_another_python(self):
        """One that is too old for the shim has the `sitecustomize` of its own, and no word of ours."""
        own = os.path.join(self.folder, "own")
        os.makedirs(own)
        with open(os.path.join(own, "sitecustomize.py"), "w") as f:
            f.write("print('started')\n")
        program = ("import sys; print(sorted(p for p in sys.path if p.endswith('shim'))); "
                   "import sitecustomize; print(sitecustomize.__file__[-16:])")
        old = os.path.join(self.folder, "shim", "sitecustomize.py")
        with open(old) as f:
            text = f.read()
        with open(old, "w") as f:
            f.write("import sys\nsys.version_info = (3, 7)\n" + text)
        self.assertEqual((0, "started\n[]\nsitecustomize.py\n", ""),
                         self.python("-c", program, path=own))
        self.assertEqual([], os.listdir(self.session))
        none = ("-c", "import sitecustomize; print(sitecustomize.__file__)")
        self.assertEqual(self.python(*none, shim=False), self.python(*none))

    def test_a_warning_points_at_the_same_line(self):
        self.record("warned")
        self.assertIn("longer than it said" if self.path else "from the job", self.err)

    def test_a_killed_worker(self):
        session = self.record("killed")
        self.assertTrue(session.events("work", "fetch"))

    def test_all_descriptors_closed(self):
        session = self.record("closes_all")
        self.assertEqual(8, len(session.steps))
        self.assertEqual("still open 20\n", self.out.splitlines(True)[-1])

    def test_another_folder(self):
        self.assertEqual(16, len(self.record("changes_folder").steps))

    def test_exec(self):
        session = self.record("execs")
        self.assertEqual(1, len(session.processes))
        self.assertEqual(2, len(session.processes[0].names["loader"]))
        self.assertEqual(8 + 4, len(session.steps))

    def test_exec_of_a_descriptor(self):
        self.assertEqual(1, len(self.record("execs_a_descriptor").steps))

    def test_fork(self):
        session = self.record("forks")
        self.assertEqual(2, len([p for p in session.processes if p.events]))
        self.assertEqual(8, len(session.steps))

    def test_a_daemon(self):
        session = self.record("daemons")
        self.assertEqual([], session.said)
        self.assertEqual([4, 8], sorted(
            sum(e.kind == "step" for e in p.events) for p in session.processes
            if any(e.kind == "step" for e in p.events)))

    def test_the_start_method_that_the_job_sets(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                shutil.rmtree(self.session, True)
                session = self.record("methods", method)
                self.assertEqual([], session.said)
                self.assertEqual(16, len(session.steps))
                self.assertEqual(list(range(8)), items(session.events("work", "fetch")))

    def test_a_module_of_a_package(self):
        """`python -m package.module`, whose workers import it by that name."""
        package = os.path.join(self.folder, "package")
        os.makedirs(package)
        with open(os.path.join(package, "__init__.py"), "w"):
            pass
        with open(os.path.join(package, "data.py"), "w") as f:
            f.write("class Data:\n    def __len__(self): return 8\n"
                    "    def __getitem__(self, i): return i\n")
        with open(os.path.join(package, "train.py"), "w") as f:
            f.write("from torch.utils.data import DataLoader\nfrom .data import Data\n\n"
                    "class More(Data):\n    pass\n\n"
                    "if __name__ == '__main__':\n    for b in DataLoader(More(), batch_size=4, "
                    "num_workers=2, multiprocessing_context='spawn'): print(b)\n")
        for extra in ((), ("-W", "ignore")):
            with self.subTest(extra):
                shutil.rmtree(self.session, True)
                command = (*extra, "-m", "package.train")
                plain = self.python(*command, shim=False, path=self.folder)
                self.assertEqual((0, ""), (plain[0], plain[2]))
                self.assertEqual(plain, self.python(*command, path=self.folder))
                session = ring_reader.read(self.session)
                self.assertEqual([], session.said)
                self.assertEqual(2, len(session.steps))
                self.assertEqual(2, len(session.events("work", "fetch")))
                loader = session.main.names["loader"][0]
                self.assertEqual(os.path.join(package, "train.py"), loader["where"]["file"])

    def test_the_rank_that_a_launcher_gives(self):
        for env, rank, of_host in (
                ({"RANK": "3"}, 3, 0), ({"RANK": "all"}, None, None),
                ({"RANK": "3", "LOCAL_WORLD_SIZE": "4"}, 3, 4), ({"LOCAL_WORLD_SIZE": "4"}, None, None),
                ({"SLURM_PROCID": "0", "SLURM_STEP_TASKS_PER_NODE": "8(x2),1"}, 0, 8),
                ({"SLURM_PROCID": "16", "SLURM_STEP_TASKS_PER_NODE": "8(x2),1", "SLURM_NODEID": "2"},
                 16, 1),
                ({"SLURM_PROCID": "0", "SLURM_STEP_TASKS_PER_NODE": "many"}, 0, 0)):
            with self.subTest(env):
                shutil.rmtree(self.session, True)
                self.assertEqual((0, "", ""), self.python("-c", "import sys", env=env))
                session = ring_reader.read(self.session)
                process = session.processes[0].names["process"][0]
                self.assertEqual((rank, of_host), (process.get("rank"), process.get("ranks_of_host")))

    def test_a_program_in_the_command_line(self):
        program = ("from torch.utils.data import DataLoader\n"
                   "for b in DataLoader(range(8), batch_size=4, num_workers=1): print(b)\n")
        plain = self.python("-c", program, shim=False)
        self.assertEqual(plain, self.python("-c", program))
        session = ring_reader.read(self.session)
        self.assertEqual([], session.said)
        self.assertEqual(2, len(session.steps))

    def test_a_shell_script(self):
        """One that changes the folder and starts several Pythons, one of them in the background."""
        script = os.path.join(self.folder, "train.sh")
        with open(script, "w") as f:
            f.write("cd /\n\"$@\" > /dev/null &\n\"$@\"\nwait $! || exit 9\nexit 3\n")
        session = self.record("two", before=("sh", script))
        self.assertEqual(3, self.code)
        self.assertEqual([], session.said)
        self.assertEqual([16, 16], [n for n in (sum(e.kind == "step" for e in p.events)
                                                for p in session.processes) if n])

    def test_patches_of_another_tool(self):
        session = self.record("patched")
        self.assertEqual(4, len(session.steps))
        self.assertEqual(2, len(session.main.names["loader"]))

    def test_the_job_sees_no_difference(self):
        self.record("looks_around")

    def test_a_sitecustomize_of_its_own(self):
        own = os.path.join(self.folder, "own")
        os.makedirs(own)
        with open(os.path.join(own, "sitecustomize.py"), "w") as f:
            f.write("MARK = 'mine'\nprint('started')\n")
        self.record("looks_around", path=own)
        self.assertTrue(self.out.startswith("started\n"))
        self.assertTrue(self.out.endswith("mine\n"))
        with open(os.path.join(own, "sitecustomize.py"), "w") as f:
            f.write("raise ValueError('broken')\n")
        self.record("zero", path=own)
        self.assertIn("ValueError: broken", self.err)

    def test_isolated(self):
        code, out, _ = self.python("-c", "print(1)", flags=("-I",))
        self.assertEqual((0, "1\n"), (code, out))
        self.assertEqual([], os.listdir(self.session))

    def test_the_session_is_gone(self):
        code, out, err = self.job("zero")
        shutil.rmtree(self.session)
        environment = {"STALLSCOPE_SESSION": self.session}
        again = self.job("zero", shim=False, path=os.path.join(self.folder, "shim"),
                         env=environment)
        self.assertEqual((code, out, err), again)

    def test_internals_with_other_names(self):
        """Batches alone are seen, and the trace says so."""
        changed = os.path.join(self.folder, "changed")
        shutil.copytree(STAND_IN, changed)
        files, data = {}, os.path.join(changed, "torch", "utils", "data")
        for name in ("dataloader.py", "_utils/fetch.py", "_utils/worker.py"):
            with open(os.path.join(data, name)) as f:
                files[os.path.join(data, name)] = f.read()
        self.path = changed

        def renamed(old, new):
            shutil.rmtree(self.session, True)
            for name, text in files.items():
                with open(name, "w") as f:
                    f.write(text.replace(old, new))
            return self.record("two")

        for old, new in (("_num_yielded", "_yield_count"), ("_task_info", "_tasks"),
                         ("_next_data", "_one_more"), ("_get_iterator", "_new_iterator"),
                         ("_BaseDataLoaderIter", "_Another"), ("_MapDatasetFetcher", "_ByIndex"),
                         ("_MultiProcessingDataLoaderIter", "_WithWorkers")):
            with self.subTest(old):
                session = renamed(old, new)
                self.assertEqual(1, len(session.said))
                self.assertIn("batches are timed, but not the stages inside", session.said[0])
                self.assertEqual([4] * 16, [e.extra["samples"] for e in session.steps])
        renamed("_task_info", "_tasks")
        for name, steps in (("nested", 3), ("nested_workers", 3), ("zipped", 8)):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.assertEqual(steps, len(session.steps))
                batches = session.steps + [link for _, link in session.events("lineage")]
                self.assertEqual(2 if name == "zipped" else 1,
                                 len({e.item >> 48 for e in batches}))
        session = renamed("_worker_loop", "_work")
        self.assertEqual([], session.said)
        self.assertEqual(list(range(8)), items(session.events("work", "fetch")))

    def test_a_hook_that_fails_stands_back(self):
        broken = os.path.join(self.folder, "shim", "stallscope_shim", "ring.py")
        with open(broken, "a") as f:
            f.write("\n\ndef _fails(*a, **k):\n    raise ZeroDivisionError('planted')\n\n"
                    "release = _fails\n")
        session = self.record("two")
        self.assertTrue(any("planted" in s for s in session.said))

    def test_interrupt(self):
        plain = self.job("interrupted", shim=False)
        mine = self.job("interrupted")
        self.assertEqual(plain[0], mine[0])
        self.assertTrue(mine[2].rstrip().endswith("KeyboardInterrupt"), mine[2])

    def test_interrupt_in_a_hook(self):
        """Whichever of them it lands in: it is the job's, which dies of it."""
        with open(os.path.join(self.folder, "shim", "stallscope_shim", "ring.py"), "a") as f:
            f.write("\n\n_calls, _plain_now, _first = 0, now, os.getpid()\n\n\n"
                    "def now():\n    global _calls\n    _calls += 1\n"
                    "    if _calls == int(os.environ['CALL']) and os.getpid() == _first:\n"
                    "        os.kill(_first, 2)\n    return _plain_now()\n")
        for call in range(1, 60, 4):
            with self.subTest(call):
                shutil.rmtree(self.session, True)
                code, out, err = self.job("two", env={"CALL": str(call)})
                self.assertEqual(-2, code)
                self.assertTrue(err.rstrip().endswith("KeyboardInterrupt"), err)
                for process in ring_reader.read(self.session).processes:
                    self.assertEqual(0, process.dropped)

    @unittest.skipIf(subprocess.call(["unshare", "-m", "true"], stderr=subprocess.DEVNULL),
                     "mounting is not allowed here")
    def test_a_full_session(self):
        """One ring fits, none does, or not even a name."""
        for size in (300, 150, 4):
            with self.subTest(size):
                shutil.rmtree(self.session, True)
                seen = os.path.join(self.folder, "seen")
                shutil.rmtree(seen, True)
                script = ("mount -t tmpfs -o size=%dk none %s && \"$@\"; code=$?; cp -r %s %s; "
                          "exit $code" % (size, self.session, self.session, seen))
                mine = self.job("two", before=("unshare", "-m", "sh", "-c", script, "sh"))
                self.assertEqual(self.job("two", shim=False), mine)
                if size > 4:
                    said = ring_reader.read(seen).said
                    self.assertTrue(any("cannot write its events" in s for s in said), said)

    def test_a_virtual_environment(self):
        place = os.path.join(self.folder, "venv")
        subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", place])
        session = self.record("two", executable=os.path.join(place, "bin", "python"))
        self.assertEqual(16, len(session.steps))
        self.assertEqual([], session.said)

    def test_a_prefix_of_its_own(self):
        """As conda's: an interpreter with its library below its prefix, and no pyvenv.cfg."""
        place = os.path.join(self.folder, "conda")
        library = os.path.dirname(os.__file__)
        os.makedirs(os.path.join(place, "bin"))
        os.makedirs(os.path.join(place, "lib"))
        python = os.path.join(place, "bin", "python")
        shutil.copy(os.path.realpath(sys.executable), python)
        os.symlink(library, os.path.join(place, "lib", os.path.basename(library)))
        code, prefix, err = self.python("-c", "import sys; print(sys.prefix)", shim=False,
                                        executable=python)
        self.assertEqual((0, place + "\n"), (code, prefix), err)
        for method in ("fork", "spawn"):
            with self.subTest(method):
                shutil.rmtree(self.session, True)
                session = self.record("two", method, executable=python)
                self.assertEqual(16, len(session.steps))
                self.assertEqual([], session.said)

    def test_ranks(self):
        """A launcher and its processes, as torchrun's."""
        program = ("import os, subprocess, sys\n"
                   "ranks = [subprocess.Popen([sys.executable, %r, 'two'], stdout=-1,\n"
                   "                          env=dict(os.environ, RANK=str(i))) for i in range(2)]\n"
                   "for rank in ranks: print(rank.communicate()[0].decode(), rank.returncode)\n"
                   % os.path.join(HERE, "jobs.py"))
        plain, mine = self.python("-c", program, shim=False), self.python("-c", program)
        self.assertEqual(plain, mine)
        session = ring_reader.read(self.session)
        self.assertEqual([], session.said)
        self.assertEqual(32, len(session.steps))
        self.assertEqual(2, sum(p.name == "jobs.py" for p in session.processes))

    def test_a_full_ring_counts_what_it_drops(self):
        program = ("import sys; sys.path.insert(0, %r)\n"
                   "from stallscope_shim import ring, session\n"
                   "r = ring.mine()\n"
                   "s = session.define('stage', name='fetch', kind='map')\n"
                   "for i in range(10000): r.put(1, ring.work(s, i, ring.now(), ring.now()))\n"
                   "r.words[16] = 8000\n"
                   "r.put(1, ring.work(s, 1, ring.now(), ring.now()))\n" % os.path.join(self.folder, "shim"))
        code, _, err = self.python("-c", program)
        self.assertEqual((0, ""), (code, err))
        process = next(p for p in ring_reader.read(self.session).processes)
        self.assertEqual(10000 - 8192, process.dropped)
        gap = next(e for e in process.events if e.kind == "gap")
        self.assertEqual(10000 - 8192, gap.item)

    def test_a_process_has_the_name_of_its_program(self):
        for options in ([], ["-W", "ignore"], ["-B", "-X", "utf8"]):
            with self.subTest(options):
                shutil.rmtree(self.session, True)
                os.makedirs(self.session)
                self.python(*options, "-c", "pass")
                process = ring_reader.read(self.session).processes[0]
                self.assertEqual("python -c", process.names["process"][0]["name"])

    def test_secrets_are_masked(self):
        self.python("-c", "pass", "--token", "hunter2", "--api-key=hunter2", "WANDB_KEY=hunter2")
        text = json.dumps(ring_reader.read(self.session).processes[0].names["process"])
        self.assertNotIn("hunter2", text)


class Torch(Case):
    """With the torch of this Python, which takes seconds to import."""

    path = None
    check_batches = Batches.check_batches
    jobs = (("zero", "fork", 8, 2), ("two", "fork", 8, 2), ("persistent", "forkserver", 8, 3))
    others = (("evaluated", 16), ("two_compose", 24), ("failing", 3))  # and their steps

    def setUp(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("this Python has no torch")
        super().setUp()

    test_an_iterable_that_each_worker_yields_whole = (
        Batches.test_an_iterable_that_each_worker_yields_whole)
    test_threads_that_the_job_sets_itself = Settings.test_threads_that_the_job_sets_itself

    def test_batches(self):
        for name, method, count, epochs in self.jobs:
            with self.subTest(name + " " + method):
                shutil.rmtree(self.session, True)
                session = self.record(name, method)
                self.check_batches(session, count, not name.startswith("zero"))
                self.assertEqual(count * epochs, len(session.steps))

    def test_digests(self):
        """The same over worker counts, and of every kind of tensor."""
        hashes = set()
        for count in (0, 2):
            shutil.rmtree(self.session, True)
            session = self.record("tensors", same=False, settings={"digest": True, "set": [
                {"knob": "loader.num_workers", "value": count}]})
            digest, = session.main.names["digest"]
            self.assertEqual((16, []), (digest["batches"], digest["missing"]))
            hashes.add(digest["hash"])
        self.assertEqual(1, len(hashes))
        code, out, err = self.python(os.path.join(HERE, "digest_objects.py"),
                                     os.path.join(self.folder, "shim"), "torch")
        self.assertEqual((0, "ok\n"), (code, out), err)

    def test_output(self):
        for name, steps in self.others:
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                # Who is killed leaves a thread of torch's that complains, or not.
                session = self.record(name, errors=name != "killed")
                self.assertEqual([], session.said)
                if steps is not None:
                    self.assertEqual(steps, len(session.steps))


class TorchMore(Torch):
    jobs = (("two", "spawn", 8, 2), ("two", "forkserver", 8, 2), ("collate", "fork", 8, 2),
            ("persistent", "spawn", 8, 3), ("subset", "fork", 5, 2), ("zero_getitems", "fork", 8, 2),
            ("batch_sampler", "fork", 3, 2), ("unbatched", "fork", 12, 2))
    others = (("stream", 16), ("looks_around", 0), ("warned", 8), ("failing_zero", 3), ("nested", 3),
              ("nested_workers", 3), ("zipped", 8), ("accumulated", 16), ("stream_persistent", 16),
              ("forks", 8), ("execs", 12), ("closes_all", 8), ("killed", None))

    def test_torchrun(self):
        if self.python("-c", "import torch.distributed.run as r, torch.distributed as d; "
                             "assert d.is_available()", shim=False)[0]:
            self.skipTest("this torch has no torchrun")
        command = ("-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=0",
                   os.path.join(HERE, "jobs.py"), "two")
        plain = self.python(*command, shim=False)
        if plain[0]:
            self.skipTest("the torchrun of this torch does not run: " + plain[2][-100:])
        mine = self.python(*command)
        self.assertEqual((plain[0], sorted(plain[1].splitlines())),
                         (mine[0], sorted(mine[1].splitlines())), mine[2])
        session = ring_reader.read(self.session)
        self.assertEqual([], session.said)
        self.assertEqual(32, len(session.steps))


if __name__ == "__main__":
    unittest.main()
