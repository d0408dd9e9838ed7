"""Windows of a framework's profiler, and tf.data: with a stand-in for TensorFlow and, on a Python
that has it, with TensorFlow."""
import importlib.util
import json
import os
import re
import shutil
import unittest

import ring_reader
from test_shim import HERE, Case


MADE_WAY = "no window of %s while the job itself uses it"


def windows(session):
    """(start, stop) of each; stop is None for one that was never closed."""
    found = []
    for _, event in session.events("named"):
        if event.extra[1] == "stallscope: profiler start":
            found.append([event, None])
        elif event.extra[1] == "stallscope: profiler stop":
            found[-1][1] = event
    return found


class Windows(Case):
    def job(self, name, *args, **more):
        return self.python(os.path.join(HERE, "tf_jobs.py"), name, *args, **more)

    def profiles(self, session):
        return [line for p in session.processes for line in p.names["profile"]]

    def check_profile(self, session, line):
        """The file exists, and its marks are from the time in which the profiler was open."""
        with open(os.path.join(self.session, line["file"])) as f:
            marks = [int(mark) for mark in re.findall(r"stallscope@(\d+)", f.read())]
        self.assertGreaterEqual(len(marks), 2)
        self.assertTrue(all(line["from"] <= mark <= line["to"] for mark in marks), (line, marks))

    def test_fit(self):
        session = self.record("fit")
        self.assertEqual([], session.said)
        self.assertEqual(20, len(session.steps))
        for step in session.steps:
            self.assertEqual(step.start, step.extra["received"])
            self.assertEqual(8, step.extra["samples"])
        line, = self.profiles(session)
        self.check_profile(session, line)
        (start, stop), = windows(session)
        self.assertEqual((start.end, stop.start), (line["from"], line["to"]))
        within = [s for s in session.steps if s.start >= start.end and s.end <= stop.start]
        self.assertEqual(10, len(within))
        # The profiler starts between two steps: no step's own time includes it.
        for step in session.steps:
            for at in (start, stop):
                self.assertTrue(step.end <= at.start or step.start >= at.end)
        self.assertEqual([], [f for f in os.listdir(self.session) if f.endswith("profiling")])

    def test_the_graph_is_in_the_settings(self):
        session = self.record("fit")
        loader, = session.main.names["loader"]
        self.assertEqual("tf.data.Dataset", loader["kind"])
        self.assertEqual("Range > ParallelMap(twice) > Batch > Prefetch", loader["dataset"])
        self.assertTrue(loader["where"]["file"].endswith("tf_jobs.py"), loader)
        graph = {node["op"]: node for node in loader["settings"]["graph"]}
        self.assertEqual(2, graph["ParallelMap"]["num_parallel_calls"])
        self.assertRegex(graph["ParallelMap"]["at"], r"tf_jobs.py:\d+")
        self.assertEqual("twice", graph["ParallelMap"]["function"])
        op, = session.main.names["op"]
        self.assertEqual("twice", op["name"])
        self.assertTrue(op["file"].endswith("tf_jobs.py"), op)
        self.assertEqual(8, graph["Batch"]["batch_size"])
        self.assertEqual(2, graph["Prefetch"]["buffer_size"])

    def test_a_batch_that_does_not_exist_is_no_step(self):
        self.assertEqual(40, len(self.record("unknown_length").steps))

    def test_another_window_later(self):
        session = self.record("epochs")
        self.assertEqual(80, len(session.steps))
        self.assertEqual(1, len(session.main.names["loader"]))
        lines = self.profiles(session)
        self.assertLessEqual(1, len(lines))
        for line in lines:
            self.check_profile(session, line)
        self.assertEqual(len(lines), len({line["file"] for line in lines}))

    def test_evaluation_is_no_step(self):
        session = self.record("evaluated")
        self.assertEqual(40, len(session.steps))
        # The first epoch's last step ends before the evaluation; so does the window.
        last, first = session.steps[19:21]
        self.assertLess(last.end, first.start)
        evaluations = [e for _, e in session.events("named") if e.extra == (8, "evaluation")]
        self.assertEqual(2, len(evaluations))
        self.assertLessEqual(last.end, evaluations[0].start)
        self.assertLessEqual(evaluations[0].end, first.start)

    def test_a_loop_of_its_own(self):
        session = self.record("loop")
        self.assertEqual([], session.said)
        self.assertEqual(20, len(session.steps))
        for step in session.steps:
            self.assertLess(step.start, step.extra["received"])
            self.assertEqual(8, step.extra["samples"])
        self.assertEqual(20, len(session.events("wait")))
        self.assertEqual(1, len(self.profiles(session)))

    def test_off(self):
        session = self.record("fit", settings={"profile": "off"})
        self.assertEqual(20, len(session.steps))
        self.assertEqual([], windows(session) + self.profiles(session) + session.said)

    def own(self, name):
        own = os.path.join(self.folder, "own")
        session = self.record(name, env={"OWN": own})
        self.assertTrue(os.listdir(own))
        self.assertEqual([MADE_WAY % "TensorFlow's profiler"], session.said)
        return session

    def test_the_jobs_own_profiler_is_running(self):
        session = self.own("own_before")
        self.assertEqual([], windows(session) + self.profiles(session))

    def test_the_job_starts_its_own_within_the_window(self):
        session = self.own("own_within")
        line, = self.profiles(session)
        self.check_profile(session, line)
        self.assertEqual(1, len(windows(session)))

    def test_what_others_write_to_stderr_stays(self):
        self.record("fit", env={"NOISE": "1"}, errors=False)
        self.assertEqual("another thread says this\n", self.err)

    def test_killed_within_the_window(self):
        session = self.record("killed")
        (_, stop), = windows(session)
        self.assertIsNone(stop)
        self.assertEqual([], self.profiles(session))

    def test_a_profiler_of_which_nothing_is_as_known(self):
        for program in ("profiler_v2.ProfilerOptions = 5", "del profiler_v2._profiler",
                        "del profiler_v2._profiler_lock", "profiler_v2.stop = None",
                        "trace.Trace = None"):
            with self.subTest(program):
                shutil.rmtree(self.session, True)
                code, out, err = self.python("-c", (
                    "import sys, tensorflow\n"
                    "from tensorflow.python.profiler import profiler_v2, trace\n"
                    "%s\n"
                    "sys.argv = ['tf_jobs.py', 'fit']\n"
                    "exec(open(%r).read())\n" % (program, os.path.join(HERE, "tf_jobs.py"))))
                self.assertEqual((0, ""), (code, err))
                self.assertEqual(self.job("fit", shim=False)[1], out)
                session = ring_reader.read(self.session)
                self.assertEqual(20, len(session.steps))
                if "trace" not in program:
                    said, = session.said
                    self.assertIn("windows of", said)

    def test_no_room(self):
        """No room for the window's file: the job continues, and the trace says why."""
        shutil.rmtree(self.session, True)
        os.makedirs(self.session)
        program = ("import os, sys\n"
                   "sys.path.insert(0, %r)\n"
                   "from stallscope_shim import profile\n"
                   "profile._LEAST_FREE = 1 << 60\n"
                   "sys.argv = ['tf_jobs.py', 'fit']\n"
                   "exec(open(%r).read())\n" % (os.path.join(self.folder, "shim"),
                                                os.path.join(HERE, "tf_jobs.py")))
        code, _, err = self.python("-c", program)
        self.assertEqual((0, ""), (code, err))
        said, = ring_reader.read(self.session).said
        self.assertIn("no room", said)


class TorchWindows(Case):
    """Kineto's, with the torch of this Python."""

    path = None

    def setUp(self):
        if importlib.util.find_spec("torch") is None:
            self.skipTest("this Python has no torch")
        super().setUp()

    def profiles(self, session):
        return [line for p in session.processes for line in p.names["profile"]]

    def test_asked_for(self):
        session = self.record("zero", settings={"profile": "all"})
        self.assertEqual([], session.said)
        self.assertEqual(16, len(session.steps))
        line, = self.profiles(session)
        with open(os.path.join(self.session, line["file"])) as f:
            events = json.load(f)  # a list where torch was built without Kineto, as Debian's
        events = events if isinstance(events, list) else events["traceEvents"]
        names = [event.get("name", "") for event in events]
        marks = [int(name[len("stallscope@"):]) for name in names if name.startswith("stallscope@")]
        self.assertGreaterEqual(len(marks), 2)
        self.assertTrue(all(line["from"] <= mark <= line["to"] for mark in marks), (line, marks))
        self.assertTrue(any(name.startswith("aten::") for name in names))

    def test_not_asked_for(self):
        """Ops on the CPU alone are no reason for a window."""
        session = self.record("zero", settings={"profile": "auto"})
        self.assertEqual([], self.profiles(session) + session.said + windows(session))

    def profiled(self, program, printed):
        os.makedirs(self.session)
        with open(os.path.join(self.session, "settings.json"), "w") as f:
            json.dump({"version": 1, "steps": 0, "profile": "all"}, f)
        code, out, err = self.python("-c", program)
        self.assertEqual((0, printed), (code, out.splitlines()[-1]), err)
        return ring_reader.read(self.session)

    def test_the_job_has_a_profiler(self):
        program = ("import runpy, sys, torch\n"
                   "p = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])\n"
                   "p.start()\n"
                   "sys.path.insert(0, %r)\n"
                   "sys.argv = ['jobs.py', 'zero']\n"
                   "runpy.run_path(%r, run_name='__main__')\n"
                   "p.stop()\n"
                   "print(len(p.key_averages()) > 0)\n" % (HERE, os.path.join(HERE, "jobs.py")))
        session = self.profiled(program, "True")
        self.assertEqual([], self.profiles(session) + windows(session))
        self.assertEqual([MADE_WAY % "torch.profiler"], session.said)

    def test_the_job_profiles_a_few_steps(self):
        """By a schedule, whose warm-up begins where a window would: ours comes behind it."""
        program = ("import torch\n"
                   "from torch.utils.data import DataLoader\n"
                   "model = torch.nn.Linear(1, 1)\n"
                   "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
                   "schedule = torch.profiler.schedule(wait=5, warmup=2, active=3, repeat=1)\n"
                   "counted = []\n"
                   "def ready(p):\n"
                   "    counted.extend(e.count for e in p.key_averages()\n"
                   "                   if e.key.startswith('Optimizer.step'))\n"
                   "with torch.profiler.profile(schedule=schedule, on_trace_ready=ready,\n"
                   "        activities=[torch.profiler.ProfilerActivity.CPU]) as p:\n"
                   "    for x in DataLoader(torch.ones(60, 1), batch_size=1):\n"
                   "        model(x).sum().backward()\n"
                   "        optimizer.step()\n"
                   "        p.step()\n"
                   "print(counted)\n")
        session = self.profiled(program, "[3]")
        self.assertEqual([MADE_WAY % "torch.profiler"], session.said)
        line, = self.profiles(session)
        self.assertGreaterEqual(line["from"], session.steps[9].end)


class TensorFlow(Case):
    """With the TensorFlow and Keras of this Python."""

    path = None

    def setUp(self):
        for name in ("tensorflow", "keras"):
            if importlib.util.find_spec(name) is None:
                self.skipTest("this Python has no " + name)
        super().setUp()

    def job(self, name, *args, **more):
        return self.python(os.path.join(HERE, "tf_real_jobs.py"), name, *args, **more)

    def check(self, name, steps, env=()):
        session = self.record(name, errors=False, env=env)
        self.assertEqual(steps, len(session.steps))
        return session

    def test_fit(self):
        session = self.check("fit", 40)
        self.assertEqual([], session.said)
        self.assertNotIn("rofiler", self.err)
        self.assertEqual(1, len([n for p in session.processes for n in p.names["profile"]]))
        loader, = session.main.names["loader"]
        self.assertTrue(loader["where"]["file"].endswith("tf_real_jobs.py"), loader)
        ops = [node["op"] for node in loader["settings"]["graph"]]
        self.assertEqual(["Range", "ParallelMap", "Batch", "Prefetch"], ops)

    def test_evaluation_and_checkpoints(self):
        session = self.check("fit_and_evaluate", 80)
        self.assertEqual([], session.said)
        names = [e.extra[1] for _, e in session.events("named") if e.extra[0] == 8]
        self.assertEqual(["checkpoint"] * 2 + ["evaluation"] * 3, sorted(names))

    def test_a_batch_behind_the_last_is_no_step(self):
        self.assertEqual([], self.check("fit_of_unknown_length", 24).said)

    def test_batches_of_unknown_sizes(self):
        said = "how many samples are in a batch is not known: each batch counts as one"
        self.assertEqual([said], self.check("fit_of_buckets", 24).said)

    def test_a_loop_of_its_own(self):
        session = self.check("loop", 40)
        self.assertEqual([], session.said)
        self.assertEqual({8}, {step.extra["samples"] for step in session.steps})

    def test_what_a_compiled_function_takes_is_said(self):
        for name in ("loop_in_a_function", "next_in_a_function"):
            with self.subTest(name):
                shutil.rmtree(self.session, True)
                said, = self.check(name, 0).said
                self.assertIn("a tf.function takes batches", said)

    def test_a_loop_within_a_map_takes_no_batches(self):
        self.assertEqual([], self.check("loop_in_a_map", 5).said)

    def test_the_calls_that_build_the_graph(self):
        session = self.check("loop", 40)
        loader, = session.main.names["loader"]
        with open(loader["where"]["file"]) as f:
            lines = f.read().splitlines(True)
        call = loader["where"]["call"]
        own = call["source"].splitlines(True)
        self.assertEqual(lines[call["source_line"] - 1:][:len(own)], own)
        self.assertEqual(["tf"], call["names"])
        for node in loader["settings"]["graph"]:
            self.assertIn("batch(8)", lines[node["line"] - 1])

    def test_settings_of_a_rerun(self):
        plain, = self.check("loop", 40).main.names["loader"]
        knobs = {"num_parallel_calls": 3, "prefetch": 5, "threads": 2}
        self.assertEqual({"num_parallel_calls": 2, "prefetch": 2, "threads": None},
                         {name: plain["settings"][name] for name in knobs})
        for name in ("loop", "fit"):
            shutil.rmtree(self.session)
            session = self.record(name, errors=False, settings={"set": [
                {"knob": "loader.%s" % knob, "value": value, "where": plain["where"]}
                for knob, value in knobs.items()]})
            self.assertEqual([], session.said)
            loader, = session.main.names["loader"]
            self.assertEqual(knobs, {name: loader["settings"][name] for name in knobs})
            nodes = {node["op"]: node for node in loader["settings"]["graph"]}
            self.assertEqual(3, nodes["ParallelMap"]["num_parallel_calls"])
            self.assertEqual(5, nodes["Prefetch"]["buffer_size"])
            self.assertEqual(1, [n["op"] for n in loader["settings"]["graph"]].count("Prefetch"))
            self.assertEqual(plain["where"]["line"], loader["where"]["line"])

    def test_a_setting_is_for_the_lines_of_its_calls(self):
        def calls(settings=None):
            shutil.rmtree(self.session, True)
            session = self.record("two_maps", errors=False, settings=settings)
            self.assertEqual([], session.said)
            loader, = session.main.names["loader"]
            maps = [node for node in loader["settings"]["graph"] if node["op"].endswith("Map")]
            return loader["where"], {node["line"]: node.get("num_parallel_calls") for node in maps}

        where, plain = calls()
        first, second = plain
        self.assertEqual([None, None], list(plain.values()))
        setting = {"knob": "loader.num_parallel_calls", "value": 3, "where": where}
        self.assertEqual({first: 3, second: 3}, calls({"set": [setting]})[1])
        setting["calls"] = [{"file": where["file"], "line": second}]
        self.assertEqual({first: None, second: 3}, calls({"set": [setting]})[1])

    def test_a_data_set_in_python(self):
        session = self.check("py_dataset", 40)
        self.assertEqual([], session.said)
        loader, = session.main.names["loader"]
        self.assertEqual({8}, {step.extra["samples"] for step in session.steps})
        self.assertEqual(("Numbers", 2, False), tuple(
            loader["settings"]["py_dataset" + name] for name in ("", "_workers", "_processes")))

    def test_a_map_that_another_file_makes(self):
        loader, = self.check("map_elsewhere", 40).main.names["loader"]
        node, = [node for node in loader["settings"]["graph"] if node["op"] == "Map"]
        self.assertNotIn("line", node)
        file, _, line = node["elsewhere"].rpartition(":")
        self.assertEqual("loader_options.py", file)
        for calls, found in ((int(line), 3), (int(line) + 1, None)):
            shutil.rmtree(self.session)
            loader, = self.record("map_elsewhere", errors=False, settings={"set": [
                {"knob": "loader.num_parallel_calls", "value": 3, "where": loader["where"],
                 "calls": [{"file": file, "line": calls}]}]}).main.names["loader"]
            self.assertEqual(found, loader["settings"]["num_parallel_calls"])

    def test_the_jobs_own_profiler_is_running(self):
        session = self.check("own", 40, env={"OWN": os.path.join(self.folder, "own")})
        said, = session.said
        self.assertEqual(MADE_WAY % "TensorFlow's profiler", said)
        self.assertTrue(os.listdir(os.path.join(self.folder, "own")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
