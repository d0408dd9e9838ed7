"""Loaders of other libraries: those that the Pythons here have, and stand-ins for the rest. Needs no
stallscope. STALLSCOPE_LOADERS_PYTHON names Pythons with such libraries, separated by colons."""
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import library_jobs  # noqa: E402
import ring_reader  # noqa: E402
from test_shim import STAND_IN, Case  # noqa: E402


class LibraryCase(Case):
    def job(self, name, *args, **more):
        return self.python(os.path.join(HERE, "library_jobs.py"), name, *args, **more)

    def ops(self, session):
        return {e.extra[1] for _, e in session.events("named") if e.extra[0] == 7}

    def stages(self, session):
        return {e.stage for _, e in session.events("work")}

    def evaluations(self, session, name):
        return len([e for _, e in session.events("named") if e.extra == (8, name)])


def line_of(call):
    """Where loader_options.py makes this call: "loader_options.py:5"."""
    with open(os.path.join(HERE, "loader_options.py")) as file:
        lines = file.read().splitlines()
    return "loader_options.py:%d" % (1 + [call in line for line in lines].index(True))


def setting(loader, knob, value, call):
    """Settings of a re-run: one, for a call of the job's."""
    name, _, line = call.rpartition(":")
    where = {"file": loader["where"]["file"], "line": loader["where"]["line"]}
    return {"set": [{"knob": "loader." + knob, "value": value, "where": where,
                     "calls": [{"file": name, "line": int(line)}]}]}


class StandIns(LibraryCase):
    path = os.pathsep.join((os.path.join(HERE, "standin_libraries"), STAND_IN))

    def test_dali(self):
        session = self.record("dali")
        self.assertEqual(5, len(session.steps))
        self.assertEqual([4] * 5, [s.extra["samples"] for s in session.steps])
        self.assertIn("DALI's pipelines", session.said[0])
        (loader,) = session.main.names["loader"]
        self.assertEqual(2, loader["settings"]["threads"])
        at = line_of("Pipeline(")
        self.assertEqual(2 * [at], [loader["settings"][knob] for knob in ("threads_at", "prefetch_at")])
        for calls, threads in ((at, 3), (at + "0", 2)):
            shutil.rmtree(self.session)
            session = self.record("dali", settings=setting(loader, "threads", 3, calls))
            (again,) = session.main.names["loader"]
            self.assertEqual(threads, again["settings"]["threads"])

    def test_litdata(self):
        for workers in ("0", "2"):
            with self.subTest(workers):
                shutil.rmtree(self.session, True)
                session = self.record("litdata", workers)
                self.assertEqual([], session.said)
                self.assertEqual(4, len(session.steps))
                # A chunk that is already there is not a download.
                self.assertEqual(4, len(session.events("work", "download")))
                self.assertEqual(16, len(session.events("work", "decompress")))

    def test_mosaic(self):
        for workers in ("0", "1"):
            with self.subTest(workers):
                shutil.rmtree(self.session, True)
                session = self.record("mosaic_standin", workers)
                self.assertEqual([], session.said)
                self.assertEqual(4, len(session.steps))
                waits = {e.extra for _, e in session.events("wait")}
                self.assertTrue({("empty", "shards"), ("io", None)} <= waits, waits)
                process, download = session.events("work", "download")[0]
                stages = process.of("stage")
                (track,) = [t for t in process.of("track").values() if t["tid"] == download.tid]
                self.assertEqual("download", stages[track["stage"]]["name"])

    def test_evaluation_and_checkpoints_of_transformers(self):
        session = self.record("hugging_face_trainer")
        self.assertEqual([], session.said)
        self.assertEqual(4, len(session.steps))
        self.assertEqual(1, self.evaluations(session, "evaluation"))
        self.assertEqual(1, self.evaluations(session, "checkpoint"))


    def test_a_batch_that_accelerate_fetches_ahead_and_leaves_is_no_step(self):
        for steps in (8, 6, 4, 3):
            with self.subTest(steps):
                shutil.rmtree(self.session, True)
                session = self.record("fetched_ahead", str(steps))
                self.assertEqual([], session.said)
                self.assertEqual(steps, len(session.steps))


class Libraries(LibraryCase):
    path = None

    def library(self, name, *args, **more):
        """The session of a job, on the first Python that can run it."""
        needed = library_jobs.needs(name)
        if not name.startswith("grain"):
            needed += ", torch"
        for python in os.environ.get("STALLSCOPE_LOADERS_PYTHON", sys.executable).split(":"):
            if subprocess.run([python, "-c", "import " + needed], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0:
                self.executable = python
                shutil.rmtree(self.session, True)
                session = self.record(name, *args, executable=python, errors=False, **more)
                self.assertEqual(0, self.code, self.err)
                return session
        self.skipTest("no Python here has " + needed)

    def settings(self, session):
        return session.main.of("loader")[0]["settings"]

    def test_webdataset(self):
        for workers in ("0", "2"):
            session = self.library("webdataset", workers)
            self.assertEqual([], session.said)
            self.assertEqual(32, len(session.steps))
            self.assertEqual(4, self.settings(session)["shards"])
            self.assertTrue({"parse", "webdataset.map"} <= self.ops(session), self.ops(session))

    def test_fewer_shards_than_workers(self):
        for job in ("few_shards", "hugging_face_few"):
            settings = self.settings(self.library(job, "2"))
            self.assertEqual((1, 2), (settings["shards"], settings["num_workers"]))

    def test_batches_that_a_webloader_makes(self):
        session = self.library("webloader", "2")
        self.assertEqual([], session.said)
        self.assertEqual(8, len(session.steps))
        self.assertTrue(ring_reader.last_arrivals(self.session))

    def test_hugging_face(self):
        for job in ("hugging_face", "hugging_face_stream"):
            for workers in ("0", "2"):
                session = self.library(job, workers)
                self.assertEqual([], session.said)
                self.assertEqual(16, len(session.steps))
                self.assertIn("double", self.ops(session))

    def test_formats_and_several_streams(self):
        for job in ("formatted", "interleaved"):
            for workers in ("0", "2"):
                session = self.library(job, workers)
                self.assertEqual([], session.said)
                # Each worker's last batch may be smaller.
                self.assertEqual(len(self.out.splitlines()), len(session.steps))
                self.assertEqual(8, max(step.extra["samples"] for step in session.steps))

    def test_batches_of_a_stream_alone(self):
        session = self.library("hugging_face_batches")
        self.assertEqual([], session.said)
        self.assertEqual([8] * 16, [step.extra["samples"] for step in session.steps])
        self.assertIn("double", self.ops(session))

    def test_nodes_of_torchdata(self):
        for job, workers in (("nodes", "0"), ("nodes", "2"), ("nodes_processes", "2")):
            with self.subTest(job + workers):
                session = self.library(job, workers)
                self.assertEqual([], session.said)
                self.assertEqual(16, len(session.steps))
                self.assertIn("number", self.ops(session))
                elsewhere = {(p.pid, e.tid) for p, e in session.events("work", "fetch")
                             if e.tid != session.main.pid}
                self.assertGreaterEqual(len(elsewhere), max(1, int(workers)))
                others = {pid for pid, _ in elsewhere} - {session.main.pid}
                # Each of the two passes starts them.
                self.assertEqual(4 if job == "nodes_processes" else 0, len(others))

    def test_settings_of_a_parallel_mapper(self):
        def rerun(knob, value, call):
            session = self.library("two_maps", settings=setting(loader, knob, value, call))
            self.assertEqual([], session.said)
            self.assertEqual(8, len(session.steps))
            return [(m["workers"], m["method"], m["max_concurrent"])
                    for m in self.settings(session)["mappers"]]

        session = self.library("two_maps")
        self.assertEqual([], session.said)
        loader = session.main.of("loader")[0]
        second, first = loader["settings"]["mappers"]
        self.assertEqual((0, "thread", None), tuple(
            second[name] for name in ("workers", "method", "max_concurrent")))
        with open(library_jobs.__file__) as file:
            lines = file.read().splitlines()
        for mapper, call, function in ((first, "ParallelMapper(IterableWrapper(range(32)), number, 1",
                                        "number"), (second, "Mapper(mapped,", "double_number")):
            at = 1 + [call in line for line in lines].index(True)
            self.assertEqual("library_jobs.py:%d" % at, mapper["at"])
            self.assertEqual(["library_jobs.py:%d" % (1 + lines.index("def %s(i):" % function))],
                             mapper["functions"])
            source = loader["where"]["call"]
            self.assertIn(call, source["source"].splitlines()[at - source["source_line"]])
        unchanged = (0, "thread", None), (1, "thread", 1)
        # The other one keeps its own; a limit goes along, or torchdata rejects it.
        self.assertEqual([unchanged[0], (2, "thread", 2)], rerun("threads", 2, first["at"]))
        self.assertEqual([(2, "process", None), unchanged[1]], rerun("num_workers", 2, second["at"]))
        self.assertEqual(list(unchanged), rerun("threads", 2, "library_jobs.py:1"))
        # No processes instead of threads.
        self.assertEqual(list(unchanged), rerun("num_workers", 0, first["at"]))

    def test_stateful_data_loader(self):
        for workers in ("0", "2"):
            session = self.library("stateful", workers)
            self.assertEqual([], session.said)
            self.assertEqual(22, len(session.steps))
            self.assertTrue({"fetch", "collate", "sampler"} <= self.stages(session))

    def test_mosaic(self):
        for workers in ("0", "2"):
            session = self.library("mosaic", workers)
            self.assertEqual([], session.said)
            self.assertEqual(8, len(session.steps))
            self.assertIn("download", self.stages(session))

    def test_batches_that_accelerate_dispatches(self):
        session = self.library("dispatched", "2")
        self.assertEqual([], session.said)
        self.assertEqual(8, len(session.steps))

    def test_loaders_that_lightning_combines(self):
        session = self.library("combined", "2")
        self.assertEqual([], session.said)
        # A batch of each makes one step.
        self.assertEqual(8, len(session.steps))
        self.assertEqual(2, len(session.main.of("loader")))

    def test_evaluations_and_checkpoints_of_the_trainer(self):
        session = self.library("trained", "2", same=False)
        self.assertEqual([], session.said)
        self.assertIn(len(session.steps), (8, 9))  # the batch that is fetched ahead
        self.assertEqual(4, self.evaluations(session, "evaluation"))
        self.assertEqual(2, self.evaluations(session, "checkpoint"))

    def test_an_epoch_of_a_webloader(self):
        session = self.library("unbatched", "2")
        self.assertEqual([], session.said)
        self.assertEqual(8, len(session.steps))

    def test_a_prefetching_thread_of_grain(self):
        session = self.library("thread_prefetch")
        self.assertEqual([], session.said)
        self.assertEqual(8, len(session.steps))
        threads = {e.tid for _, e in session.events("work", "fetch")} - {session.main.pid}
        self.assertEqual(1, len(threads))

    def test_accelerate(self):
        session = self.library("accelerated", "2")
        self.assertEqual([], session.said)
        self.assertEqual(16, len(session.steps))
        self.assertEqual(4, self.evaluations(session, "evaluation"))
        self.assertEqual(2, self.evaluations(session, "checkpoint"))
        self.assertEqual(2, self.settings(session)["gradient_accumulation"])
        # Not where prepare() replaced it.
        self.assertIn("DataLoader", session.main.of("loader")[0]["where"]["call"]["names"])

    def test_grain(self):
        session = self.library("grain")
        self.assertEqual(8, len(session.steps))
        self.assertTrue({"MapMapDataset", "BatchMapDataset"} <= self.ops(session), self.ops(session))

    def test_the_threads_of_grain(self):
        session = self.library("grain_threads")
        self.assertEqual([], session.said)
        self.assertEqual(8, len(session.steps))
        self.assertEqual(2, self.settings(session)["threads"])
        threads = {e.tid for _, e in session.events("work", "fetch")} - {session.main.pid}
        self.assertTrue(threads)
        self.assertIn("MapMapDataset", self.ops(session))
        # The call of ReadOptions(), with its lines, though the loop begins at another one.
        call = session.main.of("loader")[0]["where"]["call"]
        line = int(self.settings(session)["threads_at"].rpartition(":")[2])
        self.assertIn("ahead = grain.ReadOptions(",
                      call["source"].splitlines()[line - call["source_line"]])

    def test_options_of_grain_that_another_file_makes(self):
        loader = self.library("grain_options").main.of("loader")[0]
        reading, processes = line_of("ReadOptions("), line_of("MultiprocessingOptions(")
        settings = loader["settings"]
        self.assertEqual((2, reading, reading), tuple(
            settings[name] for name in ("threads", "threads_at", "prefetch_at")))
        self.assertEqual((2, processes), (settings["num_workers"], settings["num_workers_at"]))
        for knob, at, other in (("threads", reading, processes),
                                ("num_workers", processes, reading)):
            for calls, value in ((at, 3), (other, 2)):
                session = self.library("grain_options", same=False,
                                       settings=setting(loader, knob, 3, calls))
                self.assertEqual([], session.said)
                self.assertEqual(value, self.settings(session)[knob])

    def test_the_data_loader_of_grain(self):
        session = self.library("grain_loader")
        self.assertEqual(8, len(session.steps))
        settings = self.settings(session)
        self.assertEqual((0, 16), (settings["num_workers"], settings["threads"]))
        # Its constructor makes the options.
        self.assertEqual(settings["num_workers_at"], settings["threads_at"])
        loader = session.main.of("loader")[0]
        session = self.library("grain_loader", same=False, settings=setting(
            loader, "threads", 3, settings["threads_at"]))
        self.assertEqual(3, self.settings(session)["threads"])

    def test_the_operations_of_a_data_loader_of_grain(self):
        for workers in ("0", "2"):
            session = self.library("grain_operations", workers)
            self.assertEqual([], session.said)
            self.assertEqual(40, len(session.steps))
            makes = {(p.pid, e.tid) for p, e in session.events("named")
                     if e.extra[:2] == (7, "grain_operations.Decode.map")}
            own = (session.main.pid, session.main.pid)
            self.assertEqual({own} if workers == "0" else set(), makes & {own})
            self.assertTrue(makes)
            ops = {name.rpartition("grain_operations.")[2] for name in self.ops(session)}
            self.assertTrue({"Keep.filter", "Jitter.random_map"} <= ops, ops)
            for process in session.processes:
                for op in process.names["op"]:
                    if "Decode" in op["name"]:  # also where cloudpickle has sent it
                        self.assertEqual("library_jobs.py", os.path.basename(op["file"]))

    def test_a_wait_for_the_threads_of_grain_has_no_ops(self):
        session = self.library("grain_slow_source")
        self.assertEqual([], session.said)
        own = session.main.pid
        waits = [e for _, e in session.events("wait") if e.tid == own]
        self.assertGreater(len(waits), 30)
        ops = [e for _, e in session.events("named") if e.extra[0] == 7]
        self.assertEqual([], [e for e in ops if e.tid == own])
        self.assertIn("Slow.__getitem__", {e.extra[1] for e in ops})

    def test_settings_of_a_rerun(self):
        def knobs(**values):
            return {"set": [{"knob": "loader." + k, "value": v} for k, v in values.items()]}

        session = self.library("grain_threads", settings=knobs(threads=3, prefetch=6))
        self.assertEqual(3, self.settings(session)["threads"])
        # Other batches: the processes take turns.
        session = self.library("grain_processes", settings=knobs(num_workers=1), same=False)
        self.assertEqual(1, self.settings(session)["num_workers"])
        session = self.library("grain_processes", settings=knobs(num_workers=0), same=False)
        self.assertEqual(0, self.settings(session)["num_workers"])
        session = self.library("hugging_face_few", "2", settings=knobs(num_shards=2))
        settings = self.settings(session)
        self.assertEqual((2, 2), (settings["shards"], settings["num_shards"]))
        # The call of to_iterable_dataset(), also of a stream that is made from its stream.
        where = session.main.of("loader")[0]["where"]
        file, _, number = settings["num_shards_at"].rpartition(":")
        self.assertEqual("library_jobs.py", file)
        line = where["call"]["source"].splitlines()[int(number) - where["call"]["source_line"]]
        self.assertIn("to_iterable_dataset(num_shards=count).map", line)
        for at, shards in ((file + ":" + number, 2), (file + ":1", 1)):
            name, _, line = at.rpartition(":")
            calls = {"where": {"file": where["file"], "line": where["line"]},
                     "calls": [{"file": name, "line": int(line)}]}
            session = self.library("hugging_face_few", "2", settings={"set": [
                dict(calls, knob="loader.num_shards", value=2)]})
            self.assertEqual(shards, self.settings(session)["num_shards"])
        session = self.library("hugging_face_few", "2", settings=knobs(num_shards=10**6))
        self.assertEqual(1, self.settings(session)["shards"])
        self.assertIn("num_shards was not changed", session.said[0])

    def test_the_processes_of_grain_hand_out_nothing(self):
        session = self.library("grain_processes")
        self.assertEqual([], session.said)
        self.assertEqual(8, len(session.steps))
        self.assertEqual(2, self.settings(session)["num_workers"])
        workers = {process.pid for process, _ in session.events("work", "fetch")}
        self.assertEqual(2, len(workers - {session.main.pid}))


if __name__ == "__main__":
    unittest.main(verbosity=1)
