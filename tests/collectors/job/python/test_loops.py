"""The module `stallscope`, on the Python that runs this. Needs no stallscope."""
import os
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import ring_reader  # noqa: E402
from test_shim import SHIM, Case, items, without_numbers  # noqa: E402


def loops_line(text):
    with open(os.path.join(HERE, "loops.py")) as file:
        return 1 + file.read().splitlines().index(text)


class Loops(Case):
    def setUp(self):
        super().setUp()
        self.installed = os.path.join(self.folder, "installed")
        os.mkdir(self.installed)
        shutil.copy(os.path.join(SHIM, "stallscope.py"), self.installed)

    def job(self, name, *args, **more):
        return self.python(os.path.join(HERE, "loops.py"), name, *args,
                           **dict({"path": self.installed}, **more))

    def named(self, session, stage):
        return [e for _, e in session.events("work", stage)]

    def test_stages_of_a_generator(self):
        session = self.record("generator")
        self.assertEqual([], session.said)
        self.assertEqual(6, len(session.steps))
        self.assertEqual([8] * 6, [s.extra["samples"] for s in session.steps])
        (loader,) = session.main.names["loader"]
        self.assertEqual(("generator", "batches"), (loader["kind"], loader["dataset"]))
        self.assertTrue(loader["where"]["file"].endswith("loops.py"))
        for stage, count in (("read", 1), ("decode", 1), ("resize", 2), ("fetch", 1)):
            spans = self.named(session, stage)
            self.assertEqual(6 * count, len(spans), stage)
            self.assertEqual({s.item for s in session.steps}, {e.item for e in spans})
        for outer, inner in zip(self.named(session, "fetch"), self.named(session, "decode")):
            self.assertTrue(outer.start <= inner.start <= inner.end <= outer.end)
        stages = session.main.of("stage")
        chain = {s["name"]: [stages[i]["name"] for i in s["inputs"]] for s in stages.values()}
        self.assertEqual({"fetch": ["decode"], "decode": ["resize"], "resize": ["read"], "read": [],
                          "loader": ["fetch"], "trainer": ["loader"]}, chain)

    def test_what_no_loader_takes_is_said_without_a_framework(self):
        for name in ("num_workers", "prefetch"):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                knob = "loader." + name
                session = self.record("generator", settings={"set": [{"knob": knob, "value": 4}]})
                self.assertEqual([knob + " was not set: no call of the job's takes it"], session.said)

    def test_spans_come_in_the_order_in_which_they_end(self):
        for name in ("generator", "trainer_stages", "around_a_data_loader"):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                for process in session.processes:
                    for thread in {e.tid for e in process.events}:
                        ends = [e.end for e in process.events
                                if e.tid == thread and e.kind in ("work", "wait", "named")]
                        self.assertEqual(sorted(ends), ends)

    def test_what_stands_for_an_object_passes_for_it(self):
        session = self.record("passes_for_what_it_watches")
        self.assertEqual([], session.said)
        self.assertIn("Lists()", self.out)

    def test_a_stage_of_any_callable(self):
        session = self.record("stages_of_any_callable")
        self.assertEqual(1, len(session.said), session.said)
        self.assertIn("the stage decode is not recorded", session.said[0])
        self.assertTrue(session.events("named"))

    def test_without_a_step_each_batch_is_one(self):
        self.assertEqual(6, len(self.record("without_steps").steps))

    def test_evaluation(self):
        session = self.record("evaluation")
        self.assertEqual(40, len(session.steps))
        self.assertEqual(40, len([e for _, e in session.events("named")
                                  if e.extra == (8, "evaluation")]))

    def test_a_stage_does_not_last_while_the_trainer_works(self):
        session = self.record("yields_in_a_stage")
        for step in session.steps:
            spans = [e for e in self.named(session, "open") if e.item == step.item]
            self.assertTrue(spans)
            for span in spans:
                self.assertLessEqual(span.end, step.extra["received"])

    def test_a_generator_that_is_left(self):
        session = self.record("left_in_a_stage")
        self.assertEqual([], session.said)
        self.assertEqual(2, len(session.steps))

    def test_an_iterable(self):
        session = self.record("an_iterable")
        self.assertEqual(4, len(session.steps))
        (loader,) = session.main.names["loader"]
        self.assertEqual("pairs", loader["dataset"])
        self.assertEqual({0, 1}, {e.item >> 32 & 0xFFFF for e in session.steps})

    def test_many_spans_are_one_per_stage(self):
        session = self.record("many_spans")
        self.assertEqual([5] * 3, [s.extra["samples"] for s in session.steps])
        self.assertEqual(3, len(self.named(session, "a")))
        self.assertEqual(3, len(self.named(session, "b")))

    def test_a_thread_that_loads_ahead(self):
        session = self.record("a_thread")
        self.assertEqual([], session.said)
        decoded = session.events("work", "decode")
        self.assertTrue(decoded)
        main = session.main
        tracks = {t["tid"]: t for t in main.names["track"]}
        stages = main.of("stage")
        for _, event in decoded:
            self.assertEqual("loader", stages[tracks[event.tid]["stage"]]["name"])
        self.assertTrue([e for _, e in session.events("wait") if e.extra == ("empty", "loader")])

    def test_a_wait_for_a_pool_has_the_name_of_what_it_runs(self):
        def places(job):
            session = self.record(job)
            self.assertEqual([], session.said)
            self.assertEqual(40, len(session.steps))
            return {op["name"]: (os.path.basename(op["file"]), op["line"])
                    for op in session.main.names["op"]}

        for job in ("own_pool", "own_pool_maps", "own_thread_pool", "own_pool_of_processes",
                    "own_pool_of_processes_maps", "own_pool_of_processes_iterates",
                    "own_pool_of_processes_applies"):
            if sys.version_info < (3, 9) and job in ("own_pool_of_processes", "own_pool_of_processes_maps"):
                continue  # nothing there tells which function a future is for
            with self.subTest(job):
                shutil.rmtree(self.session, True)
                ops = places(job)
                self.assertEqual(("loops.py", loops_line("def load(i):")), ops["waiting for load"], ops)
        shutil.rmtree(self.session, True)
        # Of two that one line waits for, a thread may not have begun with one when its wait begins.
        waits = {name for name in places("own_pool_of_several") if name.startswith("waiting for ")}
        self.assertLessEqual(waits, {"waiting for load", "waiting for save"})

    def test_a_wait_for_a_pool_is_cpu_time_while_the_pool_computes(self):
        for job, function, computes in (("own_pool_computes", "compute", True),
                                        ("own_threads_compute", "compute", True),
                                        ("own_pool_rests", "rest", False),
                                        ("own_threads_rest", "rest", False)):
            with self.subTest(job):
                shutil.rmtree(self.session, True)
                session = self.record(job)
                self.assertEqual([], session.said)
                waits = [e for _, e in session.events("named") if e.extra == (7, "waiting for " + function)]
                self.assertTrue(waits)
                cpu = sum(e.cpu for e in waits) / sum(e.end - e.start for e in waits)
                (self.assertGreater if computes else self.assertLess)(cpu, 0.5)

    def test_short_work_ahead_of_the_loop_is_written_as_one_span(self):
        code, out, err = self.job("short_work_ahead")
        self.assertEqual((0, ""), (code, err))
        self.assertEqual([
            "three of 20 us: []",
            "and one of 2 ms: [(800, 860, 30), (1260, 3260, 500)]",
            "thirteen, 5.04 ms from the first to the last: [(8060, 8320, 130)]"], out.splitlines())

    def test_what_is_dear_to_watch_is_watched_less(self):
        code, out, err = self.job("dear_to_watch")
        self.assertEqual((0, ""), (code, err))
        self.assertEqual(["0 ms more: many", "200 ms more: 5"], out.splitlines())

    def test_processes(self):
        for method in ("fork", "spawn"):
            with self.subTest(method):
                shutil.rmtree(self.session, True)
                session = self.record("processes", method)
                self.assertEqual([], session.said)
                self.assertEqual(12, len(session.steps))
                decoded = session.events("work", "decode")
                self.assertEqual(12, len(decoded))
                for process in {p.pid: p for p, _ in decoded}.values():
                    (loader,) = process.names["loader"]
                    self.assertEqual((session.main.key, 0), (loader["owner"], loader["number"]))

    def test_processes_that_the_job_does_not_tell_of(self):
        for method in ("fork", "spawn"):
            with self.subTest(method):
                shutil.rmtree(self.session, True)
                session = self.record("processes_not_told", method)
                self.assertEqual([], session.said)
                self.assertEqual(12, len(session.steps))
                workers = session.main.names["loader"][-1]["settings"]["workers"]
                self.assertIn(workers, (1, 2))  # one may do it all
        # If they name no stage, the wait counts as the loop's own: nothing shows their work.
        shutil.rmtree(self.session, True)
        session = self.record("processes_without_stages", "fork")
        self.assertEqual(0, session.main.names["loader"][-1]["settings"]["workers"])

    def test_stages_of_the_trainer_are_its_ops(self):
        session = self.record("trainer_stages")
        ops = [e for _, e in session.events("named") if e.extra == (7, "forward")]
        self.assertEqual(["trainer"] * 6, [e.stage for e in ops])

    def test_stages_in_a_data_set_are_ops_of_its_fetch(self):
        session = self.record("in_a_data_set")
        self.assertEqual([], session.said)
        ops = [e for _, e in session.events("named") if e.extra == (7, "parse")]
        self.assertEqual(["fetch"] * 32, [e.stage for e in ops])

    def test_a_data_loader_stays_what_it_is(self):
        session = self.record("a_data_loader")
        (loader,) = session.main.names["loader"]
        self.assertTrue(loader["kind"].endswith("DataLoader"))
        self.assertEqual(8, len(session.steps))

    def test_around_a_data_loader(self):
        session = self.record("around_a_data_loader")
        self.assertEqual([], session.said)
        self.assertEqual(4, len(session.steps))
        last = {e.item: e for _, e in session.events("batch", "fetch") if e.extra == 8}
        self.assertEqual({s.item for s in session.steps}, set(last))
        made_of = ring_reader.last_arrivals(self.session)
        own = (1 << 48) - 1  # each process numbers its loaders by itself
        inner = {e.item & own for _, e in session.events("work", "collate")}
        for step in session.steps:
            self.assertIn(made_of[step.item] & own, inner)

    def test_stages_have_ops_and_places(self):
        session = self.record("stages_with_work_inside")
        self.assertEqual([], session.said)
        seen = {(e.stage, e.extra[1]) for _, e in session.events("named") if e.extra[0] == 7}
        for op in (("decode", "decode"), ("decode", "work"), ("inner", "work"), ("resize", "resize"),
                   ("resize", "work")):
            self.assertIn(op, seen)
        self.assertFalse({stage for stage, _ in seen} - {"decode", "inner", "resize"})
        with open(os.path.join(HERE, "loops.py")) as f:
            lines = f.read().split("\n")
        entered = {op["name"]: lines[op["line"] - 1].strip() for op in session.main.names["op"]}
        self.assertEqual('with stallscope.stage("decode"):', entered["decode"])
        self.assertIn(entered["resize"], ('@stallscope.stage("resize")', "def resize(i):"))
        for stage in ("decode", "inner", "resize"):
            spans = self.named(session, stage)
            for _, op in session.events("named", stage):
                self.assertTrue([s for s in spans if s.start <= op.start and op.end <= s.end])

    @unittest.skipUnless(hasattr(sys, "monitoring"), "needs Python 3.12")
    def test_a_loop_that_nobody_names(self):
        for name, steps, kind, data in (
                ("unnamed", 18, "generator", "rows"), ("unnamed_epochs", 31, "generator", "rows"),
                ("unnamed_next", 18, "iterable", "Rows"), ("unnamed_optimizer", 18, "generator", "rows"),
                ("unnamed_tree", 18, "generator", "rows")):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                session = self.record(name)
                self.assertEqual([], session.said)
                self.assertEqual([4] * steps, [s.extra["samples"] for s in session.steps])
                (loader,) = session.main.names["loader"]
                self.assertEqual((kind, data), (loader["kind"], loader["dataset"]))
                self.assertTrue(loader["where"]["file"].endswith("loops.py"))
                self.assertTrue(self.named(session, "fetch"))
                self.assertIn("work", session.main.texts().values())

    def test_batches_that_are_at_hand_are_not_waited_for(self):
        self.assertEqual([], self.record("at_hand").steps)

    @unittest.skipUnless(hasattr(sys, "monitoring"), "needs Python 3.12")
    def test_an_exception_out_of_a_loop_that_nobody_names(self):
        session = self.record("raised_into")
        self.assertEqual([], session.said)
        self.assertEqual(3, len([s for s in session.steps if s.item >> 48]))

    def test_an_exception_has_the_same_traceback(self):
        self.record("raises", errors=sys.version_info >= (3, 11))
        self.assertEqual(1, self.code)
        self.assertIn("ValueError: the third batch", self.err)

    def test_the_iterators_own_attributes(self):
        self.record("delegates")

    def test_it_comes_along(self):
        code, out, err = self.job("generator", path=None)
        self.assertEqual((0, ""), (code, err))
        self.assertEqual(6, len(ring_reader.read(self.session).steps))

    def test_a_folder_of_that_name_is_not_it(self):
        os.mkdir(os.path.join(self.folder, "stallscope"))
        self.assertEqual(0, self.job("generator", path=self.folder)[0])

    def test_the_jobs_own_module_of_that_name(self):
        place = os.path.join(self.folder, "own")
        os.mkdir(place)
        with open(os.path.join(place, "stallscope.py"), "w") as f:
            f.write("mine = 1\n")
        code, out, err = self.python("-c", "import stallscope; print(stallscope.mine)", path=place)
        self.assertEqual((0, "1\n", ""), (code, out, err))

    def test_it_costs_nothing_outside_of_a_recording(self):
        code, out, err = self.python("-S", "-c", """if True:
            import sys
            before = set(sys.modules)
            import stallscope
            data, function = [1], lambda: 1
            assert set(sys.modules) - before == {"stallscope"}, set(sys.modules) - before
            assert stallscope.loader(data) is data
            assert stallscope.stage("a")(function) is function
            with stallscope.stage("a") as entered:
                assert stallscope.step() is None
            """, shim=False, path=self.installed)
        self.assertEqual((0, "", ""), (code, out, err))

    def test_a_session_that_is_gone(self):
        shutil.rmtree(os.path.join(self.folder, "shim", "stallscope_shim"))
        code, out, err = self.job("generator")
        self.assertEqual((0, ""), (code, without_numbers(err)))


if __name__ == "__main__":
    unittest.main(verbosity=1)
