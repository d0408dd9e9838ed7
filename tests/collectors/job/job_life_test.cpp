// What a job notices of being recorded: nothing, unless it asks. Its environment, its signals, its
// end.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "analyzer/model/loader.h"
#include "tests/collectors/job/job_place.h"
#include "tests/support/skip.h"

using namespace stallscope;
using test::DoneIn;
using test::JobOf;
using test::JobPlace;
using test::ProgramResult;
using test::RunProgram;
using test::SpansOf;
using test::StatusOf;
using test::WaitUntil;

namespace {

// One of the small PyTorch jobs, on the stand-in for torch.
const std::string kStandIn =
    "PYTHONPATH=" + test::SourceDir() + "/tests/collectors/job/python/standin";
std::vector<std::string> PythonJob(const std::string& name) {
  return {"python3", "-B", test::SourceDir() + "/tests/collectors/job/python/jobs.py", name};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("job: it runs as it would without us") {
    const JobPlace place;
    // Environment, folder, arguments, stdin, process group, descriptors and limits.
    const std::string script =
        "printf '%s|' \"$@\"; pwd; cat; ps -o pgid= -p $$ | tr -d ' '; ls /proc/self/fd | wc -l; "
        "ulimit -n; echo $A; trap -p";
    const std::vector<std::string> job{"sh", "-c", script, "sh", "[1,2]", "", "--", "a b", "-o"};
    const auto without = RunProgram(job, {"A=b c"});
    const auto with = place.Run(job, {}, {"A=b c"});
    CHECK(with.out == without.out);
    CHECK(with.err == without.err);
    CHECK(with.exit_code == without.exit_code);
  }

  TEST_CASE("job: settings reach it") {
    const JobPlace place;
    const ProgramResult done = place.Run(
        {"sh", "-c", "echo $OMP_NUM_THREADS $NAME; cat $STALLSCOPE_SESSION/settings.json"},
        {"job.threads=3", "env.NAME=value", "loader.num_workers=4"});
    CHECK(done.out.find("3 value\n") == 0);
    CHECK(done.out.find(R"("knob": "loader.num_workers")") != std::string::npos);
    CHECK(done.out.find(R"("version": 1)") != std::string::npos);
  }

  TEST_CASE("job: nobody else can enter the session's folder") {
    const JobPlace place;
    const ProgramResult done =
        place.Run({"sh", "-c",
                   "stat -c %a $STALLSCOPE_SESSION; ls $STALLSCOPE_SESSION/shim; echo $PYTHONPATH"},
                  {}, {"PYTHONPATH=/mine"});
    CHECK(done.out.find("700\n") == 0);
    CHECK(done.out.find("sitecustomize.py\n") != std::string::npos);
    CHECK(done.out.find("/shim:/mine\n") != std::string::npos);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: a command that cannot be started leaves the earlier trace alone") {
    const JobPlace place;
    std::ofstream(place.trace) << "earlier";
    const ProgramResult done = place.Run({"/no/such/program"});
    CHECK(done.exit_code == 5);
    CHECK(done.err.find("cannot be started: No such file or directory") != std::string::npos);
    std::string content;
    std::ifstream(place.trace) >> content;
    CHECK(content == "earlier");
    CHECK(place.Run({place.trace})
              .err.find("Permission denied; make it executable, or put its "
                        "interpreter in front") != std::string::npos);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: signals end it with 128 and their number") {
    for (const int number : {SIGTERM, SIGKILL, SIGSEGV, SIGINT}) {
      const JobPlace place;
      CHECK(place.RunOurs({"spans", "10", "kill", std::to_string(number)}).exit_code ==
            128 + number);
      const model::Run run = place.Load();
      CHECK(run.quality.sealed);
      CHECK(SpansOf(run, "fetch") == 10);
      CHECK(place.NothingLeft());
    }
  }

  TEST_CASE("job: a signal to us is passed on, and Ctrl-C is not doubled") {
    // To us alone.
    {
      const JobPlace place;
      const pid_t runner = place.Start({"forever", place.dir / "progress"});
      WaitUntil([&] { return DoneIn(place.dir / "progress") > 10; });
      kill(runner, SIGTERM);
      const int status = StatusOf(runner);
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 128 + SIGTERM);
      CHECK(place.Load().quality.sealed);
      CHECK(place.NothingLeft());
    }
    // As the terminal sends it, to the group: we die of it, too, once the trace is sealed.
    {
      const JobPlace place;
      const pid_t runner = place.StartGroup({test::kJobProgram, "forever", place.dir / "progress"});
      WaitUntil([&] { return DoneIn(place.dir / "progress") > 10; });
      kill(-runner, SIGINT);
      const int status = StatusOf(runner);
      CHECK(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == SIGINT);
      CHECK(place.Load().quality.sealed);
      CHECK(place.NothingLeft());
    }
  }

  TEST_CASE("job: Ctrl-C ends a Python program and its workers") {
    const JobPlace place;
    const std::string ready = place.dir / "ready";
    setenv("READY", ready.c_str(), 1);
    setenv("PYTHONPATH", kStandIn.substr(kStandIn.find('=') + 1).c_str(), 1);
    const pid_t runner = place.StartGroup(PythonJob("endless"));
    unsetenv("PYTHONPATH");
    WaitUntil([&] { return std::filesystem::exists(ready); });
    kill(-runner, SIGINT);
    const int status = StatusOf(runner);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGINT);
    const model::Run run = place.Load();
    CHECK(run.quality.sealed);
    CHECK(run.rows.steps.size() > 5);
    CHECK(run.info.job.exit_code == 128 + SIGINT);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: a signal to the process group reaches it once") {
    const JobPlace place;
    const std::string file = place.dir / "signals";
    const pid_t runner = place.StartGroup({test::kJobProgram, "count", file});
    const auto received = [&] {
      std::error_code missing;
      const auto size = std::filesystem::file_size(file, missing);
      return missing ? -1 : static_cast<int>(size);
    };
    WaitUntil([&] { return received() == 0; });
    kill(-runner, SIGUSR1);
    WaitUntil([&] { return received() > 0; });
    // The first signal is passed on. The second is of another kind, since two of a kind are one
    // while the
    // first is pending.
    kill(runner, SIGUSR2);
    WaitUntil([&] { return received() > 1; });
    kill(-runner, SIGUSR1);
    WaitUntil([&] { return received() > 2; });
    kill(runner, SIGTERM);
    const int status = StatusOf(runner);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(received() == 3);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: if we are killed, it goes on, and nothing of the session is left") {
    const JobPlace place;
    const std::string progress = place.dir / "progress";
    const pid_t runner = place.Start({"forever", progress});
    WaitUntil([&] {
      const auto run = model::LoadTrace(place.trace);
      return run.ok() && SpansOf(run.value(), "fetch") > 0;
    });
    const pid_t job = JobOf(runner);
    REQUIRE(job > 0);
    kill(runner, SIGKILL);
    waitpid(runner, nullptr, 0);
    const uint64_t then = DoneIn(progress);
    WaitUntil([&] { return place.NothingLeft() && DoneIn(progress) > then + 20'000; });
    kill(job, SIGKILL);
    CHECK_FALSE(place.Load().quality.sealed);
  }

  TEST_CASE("job: a daemon that outlives it does not hold us up") {
    const JobPlace place;
    const std::string alive = place.dir / "alive";
    std::ofstream(alive) << "";
    const ProgramResult done = place.RunOurs({"spans", "10", "daemon", alive, "spans", "5"});
    CHECK(done.exit_code == 0);
    const pid_t left = std::stoi(done.out);
    CHECK(kill(left, 0) == 0);
    std::filesystem::remove(alive);
    CHECK(SpansOf(place.Load(), "fetch") == 15);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: a full disk costs the trace, not the job") {
    const JobPlace place;
    for (const int first : {2, 3}) {
      const ProgramResult done = place.RunOurs({"spans", "5000", "print", "done", "exit", "6"},
                                               {"full=" + std::to_string(first)});
      CHECK(done.exit_code == 6);
      CHECK(done.out == "done\n");
      CHECK(done.err.find("No space left") != std::string::npos);
      CHECK(test::OneLine(done.err));
      CHECK(model::LoadTrace(place.trace).ok());
      CHECK(place.NothingLeft());
    }
  }

  TEST_CASE("job: a session folder that its job removes ends the recording, not the job") {
    const JobPlace place;
    const ProgramResult done = place.Run(
        {"sh", "-c",
         "rm -rf $STALLSCOPE_SESSION; cd $0; " + test::kJobProgram + " spans 100; echo $?",
         place.dir.path()});
    CHECK(done.out == "0\n");
    CHECK(done.exit_code == 0);
    // Without a session it records itself, as it would without us.
    CHECK(std::filesystem::exists(place.dir / "never-written.sst"));
    CHECK(place.Load().quality.sealed);
    CHECK(place.NothingLeft());
  }
}

TEST_SUITE("slow") {
  TEST_CASE("job: what Python programs compute and print is the same with us and without") {
    for (const char* name : {"zero",          "zero_getitems",
                             "zero_stream",   "zero_unbatched",
                             "zero_pinned",   "zero_compose",
                             "two",           "persistent",
                             "getitems",      "stream",
                             "batch_sampler", "stream_persistent",
                             "unbatched",     "collate",
                             "subset",        "pinned",
                             "nested",        "evaluated",
                             "zipped",        "accumulated",
                             "inference",     "early_break",
                             "threads",       "forks",
                             "cycled",        "gan",
                             "collate_fails", "shared_by_threads",
                             "daemons",       "in_a_generator",
                             "methods",       "failing",
                             "closes_all",    "execs",
                             "patched",       "killed"}) {
      CAPTURE(name);
      const JobPlace place;
      const ProgramResult with = place.Run(PythonJob(name), {}, {kStandIn});
      const ProgramResult without = RunProgram(PythonJob(name), {kStandIn});
      CHECK(with.out == without.out);
      CHECK(with.exit_code == without.exit_code);
      CHECK(place.Load().quality.sealed);
      CHECK(place.NothingLeft());
    }
  }

  TEST_CASE("job: the ranks that torchrun starts are in one trace") {
    const char* const python = std::getenv("STALLSCOPE_TORCH_PYTHON");
    if (python == nullptr || *python == '\0') {
      return test::Skip("STALLSCOPE_TORCH_PYTHON names no Python");
    }
    const std::vector<std::string> job{"timeout",
                                       "120",
                                       python,
                                       "-m",
                                       "torch.distributed.run",
                                       "--standalone",
                                       "--nproc_per_node=2",
                                       test::SourceDir() + "/tests/collectors/job/python/ranks.py"};
    if (RunProgram(job).exit_code != 0) return test::Skip("its torchrun does not run");
    const JobPlace place;
    const ProgramResult done = place.Run(job);
    CHECK_MESSAGE(done.exit_code == 0, done.err);
    const model::Run run = place.Load();
    CHECK(run.quality.Complete());
    CHECK(run.loaders.size() == 2);
    std::map<uint32_t, size_t> steps;  // of each process
    for (const trace::Step& step : run.rows.steps) {
      ++steps[run.tracks[step.track.value].info.process.value];
    }
    REQUIRE(steps.size() == 2);
    for (const auto& [process, count] : steps) CHECK(count == 16);
    CHECK(SpansOf(run, "fetch") + SpansOf(run, "loader2.fetch") == 32);
    CHECK(place.NothingLeft());
  }
}
