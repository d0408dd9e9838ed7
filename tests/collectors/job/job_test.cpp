// Jobs as they are recorded: what gets into the trace, and what the job notices of it.
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "analyzer/base/clock.h"
#include "analyzer/model/loader.h"
#include "collectors/job/job_sampler.h"
#include "collectors/job/session.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"

using namespace stallscope;
using test::BuildDir;
using test::ProgramResult;
using test::RunProgram;
using test::ScratchDir;

namespace {

const std::string kRunner = BuildDir() + "/tests/job_runner";
const std::string kProgram = BuildDir() + "/tests/job_program";

// A place for sessions that other tests do not look into.
struct Place {
  ScratchDir dir;
  ScratchDir sessions;
  std::string trace = dir / "run.sst";

  ProgramResult Run(std::vector<std::string> command, const std::vector<std::string>& options = {},
                    const std::vector<std::string>& environment = {}) const {
    std::vector<std::string> all{kRunner, trace, "memory=" + sessions.path()};
    all.insert(all.end(), options.begin(), options.end());
    all.push_back("--");
    all.insert(all.end(), command.begin(), command.end());
    return RunProgram(all, environment);
  }
  ProgramResult RunOurs(std::vector<std::string> actions,
                        const std::vector<std::string>& options = {}) const {
    actions.insert(actions.begin(), kProgram);
    return Run(actions, options);
  }
  model::Run Load() const {
    auto run = model::LoadTrace(trace);
    REQUIRE(run.ok());
    return std::move(run).value();
  }
  // Not even a hidden file.
  bool NothingLeft() const {
    return std::filesystem::directory_iterator(sessions.path()) ==
           std::filesystem::directory_iterator();
  }
};

// All spans of that stage, of every track.
uint64_t SpansOf(const model::Run& run, std::string_view stage) {
  uint64_t count = 0;
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      count += run.NameOf(what.stage) == stage && !what.name.known();
    }
  }
  return count;
}

const model::Track* TrackNamed(const model::Run& run, std::string_view name) {
  for (const model::Track& track : run.tracks) {
    if (track.info.name == name) return &track;
  }
  return nullptr;
}

bool HasCounter(const model::Run& run, const std::string& name, bool of_process) {
  for (const trace::CounterInfo& counter : run.counters) {
    const bool sampled =
        std::any_of(run.rows.samples.begin(), run.rows.samples.end(),
                    [&](const trace::Sample& sample) { return sample.counter == counter.id; });
    if (counter.name.starts_with(name) && counter.process.known() == of_process && sampled) {
      return true;
    }
  }
  return false;
}

void WaitUntil(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

pid_t StartRunner(const Place& place, std::vector<std::string> actions) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<std::string> all{kRunner, place.trace, "memory=" + place.sessions.path(), "--",
                               kProgram};
  all.insert(all.end(), actions.begin(), actions.end());
  std::vector<char*> arguments;
  for (std::string& argument : all) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

// One of the small PyTorch jobs, on the stand-in for torch.
const std::string kStandIn =
    "PYTHONPATH=" + test::SourceDir() + "/tests/collectors/job/python/standin";
std::vector<std::string> PythonJob(const std::string& name) {
  return {"python3", "-B", test::SourceDir() + "/tests/collectors/job/python/jobs.py", name};
}

// Leads a process group of its own, and is silent.
pid_t StartGroup(const Place& place, std::vector<std::string> command) {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  signal(SIGINT, SIG_DFL);  // a shell's background jobs ignore it
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, fd);
  command.insert(command.begin(), {kRunner, place.trace, "memory=" + place.sessions.path(), "--"});
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

uint64_t DoneIn(const std::string& path) {
  uint64_t done = 0;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&done), sizeof done);
  return done;
}

// The processes whose parent is `pid`.
std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::ifstream list("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (pid_t child; list >> child;) children.push_back(child);
  return children;
}

std::string CommandNameOf(pid_t pid) {
  std::string name;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> std::ws, name);
  return name;
}

// Kills the job once it has done `spans`, and checks that its trace has the beginning of them
// without a gap.
void KillJobAt(uint64_t spans, int signal_number) {
  const Place place;
  const std::string progress = place.dir / "progress";
  const pid_t runner = StartRunner(place, {"forever", progress});
  WaitUntil([&] { return DoneIn(progress) >= spans; });
  pid_t job = 0;
  for (const pid_t child : ChildrenOf(runner)) {
    if (CommandNameOf(child) == "job_program") job = child;
  }
  REQUIRE(job > 0);
  kill(job, signal_number);
  int status = 0;
  REQUIRE(waitpid(runner, &status, 0) == runner);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + signal_number);
  const uint64_t done = DoneIn(progress);
  const model::Run run = place.Load();
  CHECK(run.quality.sealed);
  CHECK(run.info.job.exit_code == 128 + signal_number);
  const model::Track* const track = TrackNamed(run, "spans");
  REQUIRE(track != nullptr);
  CHECK(track->spans.size() + run.quality.dropped >= done);
  CHECK(track->spans.size() <= done + 1);
  if (run.quality.dropped == 0) {
    for (size_t i = 0; i < track->spans.size(); ++i) REQUIRE(track->spans.item[i] == i);
  }
  CHECK(place.NothingLeft());
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("job: a program with our recorder writes into the run's trace") {
    const Place place;
    const ProgramResult done = place.RunOurs({"steps", "50", "print", "hello"});
    CHECK(done.exit_code == 0);
    CHECK(done.out == "hello\n");
    CHECK(done.err.empty());
    const model::Run run = place.Load();
    CHECK(run.quality.Complete());
    CHECK(run.rows.steps.size() == 50);
    CHECK(SpansOf(run, "fetch") == 50);
    CHECK(run.info.job.command ==
          std::vector<std::string>{kProgram, "steps", "50", "print", "hello"});
    CHECK(run.info.job.exit_code == 0);
    const bool in_checkout = (run.info.folder + "/").starts_with(test::SourceDir() + "/") &&
                             std::filesystem::exists(test::SourceDir() + "/.git");
    CHECK((run.info.job.checkout == test::SourceDir()) == in_checkout);
    REQUIRE(run.processes.size() == 1);
    CHECK(run.processes[0].name == "job_program");
    CHECK(run.processes[0].end_ns >= run.processes[0].start_ns);
    const model::Track* const track = TrackNamed(run, "main");
    REQUIRE(track != nullptr);
    CHECK(track->info.process == run.processes[0].id);
    CHECK(track->info.thread == run.processes[0].pid);
    bool op = false;
    bool startup = false;
    for (size_t i = 0; i < track->spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(*track, i);
      op = op || (what.activity == trace::SpanActivity::kOp && run.Text(what.name) == "Resize" &&
                  run.NameOf(what.stage) == "fetch");
      startup = startup ||
                (what.cause == trace::WaitCause::kStartup && run.NameOf(what.queue) == "loader");
      CHECK(track->spans.start_ns[i] >= run.info.start_ns);
      CHECK(track->spans.EndNs(i) <= run.info.end_ns);
    }
    CHECK(op);
    CHECK(startup);
    CHECK_FALSE(std::filesystem::exists("never-written.sst"));
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: a writer in Python after RING.md alone") {
    const Place place;
    const ProgramResult done =
        place.Run({"python3", test::SourceDir() + "/tests/collectors/job/writer.py", "1200"});
    CHECK(done.err == "");
    CHECK(done.exit_code == 0);
    const model::Run run = place.Load();
    CHECK(run.quality.sealed);
    CHECK(run.quality.dropped == 0);
    CHECK(run.rows.steps.size() == 1200);
    CHECK(SpansOf(run, "fetch") == 1200);
    REQUIRE(run.loaders.size() == 1);
    CHECK(run.loaders[0].name == "loader");
    CHECK(run.loaders[0].steps == 1200);
    CHECK(run.loaders[0].info.kind == "torch.utils.data.DataLoader");
    CHECK(run.loaders[0].info.file == "/train.py");
    CHECK(run.loaders[0].info.line == 12);
    CHECK(run.loaders[0].info.settings_json == R"({"num_workers":0})");
    REQUIRE(run.ops.size() == 1);
    CHECK(run.ops[0] == trace::OpInfo{"Resize", "/train.py", 30});
    CHECK(run.info.job.python.starts_with("3."));
    REQUIRE(run.info.job.frameworks.size() == 1);
    CHECK(run.info.job.frameworks[0].name == "torch");
    CHECK(run.info.warnings == std::vector<std::string>{"the pinning thread is not seen"});
    const auto writer = std::find_if(run.processes.begin(), run.processes.end(),
                                     [](const auto& p) { return p.name == "writer.py"; });
    REQUIRE(writer != run.processes.end());
    CHECK(writer->arguments.back() == "***");
    CHECK(run.rows.steps[0].batch == ItemId{uint64_t{3} << 32});
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: every process of a fork has rings of its own") {
    const Place place;
    const ProgramResult done = place.RunOurs({"spans", "7", "fork", "5", "spans", "100"});
    CHECK(done.exit_code == 0);
    const model::Run run = place.Load();
    CHECK(run.quality.Complete());
    CHECK(SpansOf(run, "fetch") == 507);
    CHECK(run.processes.size() >= 6);  // a sanitizer that looks for leaks has some of its own
    std::set<uint32_t> with_spans;
    for (const model::Track& track : run.tracks) {
      if (track.spans.size() != 0) with_spans.insert(track.info.process.value);
    }
    CHECK(with_spans.size() == 6);
    CHECK(run.stages.size() == 2);  // the same in all of them
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: a program without any of this has processes, threads and counters") {
    const Place place;
    const ProgramResult done = place.Run({"sh", "-c", "sleep 0.4; echo out; echo err >&2; exit 3"});
    CHECK(done.exit_code == 3);
    CHECK(done.out == "out\n");
    CHECK(done.err == "err\n");
    const model::Run run = place.Load();
    CHECK(run.quality.Complete());
    CHECK(run.info.job.exit_code == 3);
    CHECK(run.processes.size() == 2);
    CHECK(HasCounter(run, "process", true));
    for (const char* name : {"process.cpu_user", "memory.rss", "memory.peak", "io.requested",
                             "cpu.busy", "memory.available"}) {
      CAPTURE(name);
      CHECK(HasCounter(run, name, false));
    }
    REQUIRE_FALSE(run.info.limits.empty());
    CHECK(run.info.limits.back().find("no Python process was seen") != std::string::npos);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: threads without a ring are followed if a tf.data pipeline works in them") {
    for (const bool native : {true, false}) {
      const ScratchDir dir;
      recorder::Options options;
      options.join_session = false;
      auto recorder = recorder::Recorder::Start(dir / "run.sst", trace::RunInfo{}, options);
      REQUIRE(recorder.ok());
      const int folder = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      job::JobNames names(recorder.value()->names(), folder);
      const auto self = names.ProcessOf(*recorder::ReadProcessKey(static_cast<uint64_t>(getpid())));
      const std::string kind = native ? "tf.data" : "map";
      self->CatchUpWith(R"({"stage": {"id": 0, "name": "s", "kind": ")" + kind + "\"}}\n");
      job::JobSampler sampler(*recorder.value(), names);
      sampler.Begin(getpid());
      std::atomic<pid_t> tid{0};
      std::atomic<bool> done{false};
      std::thread pool([&] {
        tid = gettid();
        while (!done) std::this_thread::yield();
      });
      // The kernel says so with its next tick.
      WaitUntil([&] {
        uint64_t on_cpu = 0;
        std::ifstream("/proc/self/task/" + std::to_string(tid) + "/schedstat") >> on_cpu;
        return on_cpu > 0;
      });
      sampler.Sample(true);  // finds it
      sampler.Sample(true);
      done = true;
      pool.join();
      sampler.Sample(true);  // it has ended
      recorder.value()->Stop();
      close(folder);
      const model::Run run = model::LoadTrace(dir / "run.sst").value();
      const std::string counter = "process" + std::to_string(getpid()) + ".pool_";
      CHECK(HasCounter(run, counter + "on_cpu", true) == native);
      CHECK(HasCounter(run, counter + "run_wait", true) == native);
      double on_cpu = 0;
      for (const trace::Sample& sample : run.rows.samples) {
        if (run.NameOf(sample.counter) == counter + "on_cpu") on_cpu = sample.value;
      }
      CHECK((on_cpu > 0) == native);
    }
  }

  TEST_CASE("job: it runs as it would without us") {
    const Place place;
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
    const Place place;
    const ProgramResult done = place.Run(
        {"sh", "-c", "echo $OMP_NUM_THREADS $NAME; cat $STALLSCOPE_SESSION/settings.json"},
        {"job.threads=3", "env.NAME=value", "loader.num_workers=4"});
    CHECK(done.out.find("3 value\n") == 0);
    CHECK(done.out.find(R"("knob": "loader.num_workers")") != std::string::npos);
    CHECK(done.out.find(R"("version": 1)") != std::string::npos);
  }

  TEST_CASE("job: nobody else can enter the session's folder") {
    const Place place;
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
    const Place place;
    std::ofstream(place.trace) << "earlier";
    const ProgramResult done = place.Run({"/no/such/program"});
    CHECK(done.exit_code == 5);
    CHECK(done.err.find("cannot be started: No such file or directory") != std::string::npos);
    std::string content;
    std::ifstream(place.trace) >> content;
    CHECK(content == "earlier");
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: signals end it with 128 and their number") {
    for (const int number : {SIGTERM, SIGKILL, SIGSEGV, SIGINT}) {
      const Place place;
      CHECK(place.RunOurs({"spans", "10", "kill", std::to_string(number)}).exit_code ==
            128 + number);
      const model::Run run = place.Load();
      CHECK(run.quality.sealed);
      CHECK(SpansOf(run, "fetch") == 10);
      CHECK(place.NothingLeft());
    }
  }

  TEST_CASE("job: what was published before a kill is in the trace") {
    for (const uint64_t spans : {uint64_t{1}, uint64_t{900}, uint64_t{5'000}, uint64_t{30'000}}) {
      KillJobAt(spans, SIGKILL);
    }
  }

  TEST_CASE("job: a signal to us is passed on, and Ctrl-C is not doubled") {
    // To us alone.
    {
      const Place place;
      const pid_t runner = StartRunner(place, {"forever", place.dir / "progress"});
      WaitUntil([&] { return DoneIn(place.dir / "progress") > 10; });
      kill(runner, SIGTERM);
      int status = 0;
      waitpid(runner, &status, 0);
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 128 + SIGTERM);
      CHECK(place.Load().quality.sealed);
      CHECK(place.NothingLeft());
    }
    // As the terminal sends it, to the group: we die of it, too, once the trace is sealed.
    {
      const Place place;
      const pid_t runner = StartGroup(place, {kProgram, "forever", place.dir / "progress"});
      WaitUntil([&] { return DoneIn(place.dir / "progress") > 10; });
      kill(-runner, SIGINT);
      int status = 0;
      waitpid(runner, &status, 0);
      CHECK(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == SIGINT);
      CHECK(place.Load().quality.sealed);
      CHECK(place.NothingLeft());
    }
  }

  TEST_CASE("job: Ctrl-C ends a Python program and its workers") {
    const Place place;
    const std::string ready = place.dir / "ready";
    setenv("READY", ready.c_str(), 1);
    setenv("PYTHONPATH", kStandIn.substr(kStandIn.find('=') + 1).c_str(), 1);
    const pid_t runner = StartGroup(place, PythonJob("endless"));
    unsetenv("PYTHONPATH");
    WaitUntil([&] { return std::filesystem::exists(ready); });
    kill(-runner, SIGINT);
    int status = 0;
    waitpid(runner, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGINT);
    const model::Run run = place.Load();
    CHECK(run.quality.sealed);
    CHECK(run.rows.steps.size() > 5);
    CHECK(run.info.job.exit_code == 128 + SIGINT);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: a signal to the process group reaches it once") {
    const Place place;
    const std::string file = place.dir / "signals";
    const pid_t runner = StartGroup(place, {kProgram, "count", file});
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
    int status = 0;
    waitpid(runner, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(received() == 3);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: if we are killed, it goes on, and nothing of the session is left") {
    const Place place;
    const std::string progress = place.dir / "progress";
    const pid_t runner = StartRunner(place, {"forever", progress});
    WaitUntil([&] {
      const auto run = model::LoadTrace(place.trace);
      return run.ok() && SpansOf(run.value(), "fetch") > 0;
    });
    pid_t job = 0;
    for (const pid_t child : ChildrenOf(runner)) {
      if (CommandNameOf(child) == "job_program") job = child;
    }
    REQUIRE(job > 0);
    kill(runner, SIGKILL);
    waitpid(runner, nullptr, 0);
    const uint64_t then = DoneIn(progress);
    WaitUntil([&] { return place.NothingLeft() && DoneIn(progress) > then + 20'000; });
    kill(job, SIGKILL);
    CHECK_FALSE(place.Load().quality.sealed);
  }

  TEST_CASE("job: a daemon that outlives it does not hold us up") {
    const Place place;
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

  TEST_CASE("job: one that closes all descriptors or changes its folder is recorded all the same") {
    const Place place;
    CHECK(place.RunOurs({"spans", "10", "close", "chdir", "/", "spans", "20", "threads", "3"})
              .exit_code == 0);
    const model::Run run = place.Load();
    CHECK(run.quality.Complete());
    CHECK(SpansOf(run, "fetch") == 60);
  }

  TEST_CASE("job: one that execs keeps what it wrote before") {
    const Place place;
    CHECK(place.RunOurs({"spans", "10", "exec", "sh", "-c", "exit 4"}).exit_code == 4);
    CHECK(SpansOf(place.Load(), "fetch") == 10);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: two beside each other do not mix") {
    const Place one;
    Place other;
    const pid_t runner = StartRunner(one, {"spans", "3000", "sleep", "100"});
    CHECK(other.RunOurs({"spans", "2000", "sleep", "100"}).exit_code == 0);
    waitpid(runner, nullptr, 0);
    CHECK(SpansOf(one.Load(), "fetch") == 3000);
    CHECK(SpansOf(other.Load(), "fetch") == 2000);
  }

  TEST_CASE("job: a full disk costs the trace, not the job") {
    const Place place;
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

  TEST_CASE("job: where no ring can be made, the job runs and the trace says so") {
    const Place place;
    // As on a full file system, or past RLIMIT_FSIZE, which would kill it.
    const ProgramResult done =
        place.Run({"sh", "-c", "ulimit -f 64; exec " + kProgram + " spans 100 print ok"});
    CHECK(done.exit_code == 0);
    CHECK(done.out == "ok\n");
    const model::Run run = place.Load();
    CHECK(run.quality.sealed);
    CHECK(SpansOf(run, "fetch") == 0);
    CHECK(run.info.warnings ==
          std::vector<std::string>{
              "threads are not seen where no ring could be made: File too large"});
  }

  TEST_CASE("job: garbage in the session's folder is counted, and harms nobody") {
    const Place place;
    const ProgramResult done = place.Run(
        {"sh", "-c",
         "cd $STALLSCOPE_SESSION && head -c 5000 /dev/urandom > 1.2.3.0.ring && "
         "mkfifo 1.2.3.1.ring && ln -s /etc/passwd 1.2.3.2.ring && "
         "head -c 100000 /dev/urandom > 1.2.names && mkfifo 2.3.names && "
         "printf '{\"stage\":{\"id\":99999999999,\"name\":\"x\"}}\\n[[[[\\n{\"said\":5}\\n' > "
         "$$.5.names && mkdir 7.8.names 7.8.9.0.ring && exec " +
             kProgram + " spans 100"});
    CHECK(done.exit_code == 0);
    const model::Run run = place.Load();
    CHECK(run.quality.sealed);
    CHECK(SpansOf(run, "fetch") == 100);
    bool rings = false;
    bool lines = false;
    for (const std::string& warning : run.info.warnings) {
      rings = rings || warning.find("4 files in the session's folder") == 0;
      lines = lines || warning.find("of the job's names could not be read") != std::string::npos;
    }
    CHECK(rings);
    CHECK(lines);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: a session folder that its job removes ends the recording, not the job") {
    const Place place;
    const ProgramResult done = place.Run(
        {"sh", "-c", "rm -rf $STALLSCOPE_SESSION; cd $0; " + kProgram + " spans 100; echo $?",
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
  TEST_CASE("job: the ranks that torchrun starts are in one trace") {
    const char* const named = std::getenv("STALLSCOPE_TORCH_PYTHON");
    const std::string python = named != nullptr && *named != '\0' ? named : "/usr/bin/python3";
    const std::string distributed =
        "import torch.distributed.run, torch.distributed as d; assert d.is_gloo_available()";
    if (RunProgram({python, "-c", distributed}).exit_code != 0) {
      return test::Skip(python + " has no torch with torchrun and gloo");
    }
    const Place place;
    const ProgramResult done =
        place.Run({python, "-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=0",
                   test::SourceDir() + "/tests/collectors/job/python/ranks.py"});
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
      const Place place;
      const ProgramResult with = place.Run(PythonJob(name), {}, {kStandIn});
      const ProgramResult without = RunProgram(PythonJob(name), {kStandIn});
      CHECK(with.out == without.out);
      CHECK(with.exit_code == without.exit_code);
      CHECK(place.Load().quality.sealed);
      CHECK(place.NothingLeft());
    }
  }

  TEST_CASE("job: two hundred processes at a time") {
    const Place place;
    const ProgramResult done = place.RunOurs({"fork", "200", "spans", "500", "sleep", "300"});
    CHECK(done.exit_code == 0);
    const model::Run run = place.Load();
    CHECK(run.quality.Complete());
    CHECK(SpansOf(run, "fetch") == 100'000);
    CHECK(run.processes.size() == 201);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: two hundred kills at random moments leave the beginning of every track") {
    for (uint64_t i = 0; i < 200; ++i) KillJobAt(1 + i * i % 9'973, SIGKILL);
  }
}
