// Jobs as they are recorded: what gets into the trace.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "analyzer/model/loader.h"
#include "collectors/job/job_sampler.h"
#include "tests/collectors/job/job_place.h"

using namespace stallscope;
using test::DoneIn;
using test::JobOf;
using test::JobPlace;
using test::ProgramResult;
using test::ScratchDir;
using test::SpansOf;
using test::StatusOf;
using test::WaitUntil;

namespace {

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

// Kills the job once it has done `spans`, and checks that its trace has the beginning of them
// without a gap.
void KillJobAt(uint64_t spans, int signal_number) {
  const JobPlace place;
  const std::string progress = place.dir / "progress";
  const pid_t runner = place.Start({"forever", progress});
  WaitUntil([&] { return DoneIn(progress) >= spans; });
  const pid_t job = JobOf(runner);
  REQUIRE(job > 0);
  kill(job, signal_number);
  const int status = StatusOf(runner);
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

// This process, as a job whose processes are sampled into a trace.
struct SampledJob {
  SampledJob() { sampler.Begin(getpid()); }
  ~SampledJob() { close(folder); }
  model::Run Stop() {
    into->Stop();
    return model::LoadTrace(dir / "run.sst").value();
  }

  const ScratchDir dir;
  std::unique_ptr<recorder::Recorder> into =
      recorder::Recorder::Start(dir / "run.sst", trace::RunInfo{}, {.join_session = false}).value();
  int folder = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  job::JobNames names{into->names(), folder};
  job::JobSampler sampler{*into, names};
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("job: a program with our recorder writes into the run's trace") {
    const JobPlace place;
    const ProgramResult done = place.RunOurs({"steps", "50", "print", "hello"});
    CHECK(done.exit_code == 0);
    CHECK(done.out == "hello\n");
    CHECK(done.err.empty());
    const model::Run run = place.Load();
    CHECK(run.quality.Complete());
    CHECK(run.rows.steps.size() == 50);
    CHECK(SpansOf(run, "fetch") == 50);
    CHECK(run.info.job.command ==
          std::vector<std::string>{test::kJobProgram, "steps", "50", "print", "hello"});
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
    const JobPlace place;
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
    const JobPlace place;
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
    const JobPlace place;
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
      SampledJob sampled;
      const auto self =
          sampled.names.ProcessOf(*recorder::ReadProcessKey(static_cast<uint64_t>(getpid())));
      const std::string kind = native ? "tf.data" : "map";
      self->CatchUpWith(R"({"stage": {"id": 0, "name": "s", "kind": ")" + kind + "\"}}\n");
      job::JobSampler& sampler = sampled.sampler;
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
      const model::Run run = sampled.Stop();
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

  TEST_CASE("job: memory that forked processes share counts once") {
    constexpr size_t kShared = size_t{192} << 20;
    SampledJob sampled;
    const std::vector<char> shared(kShared, 'x');
    const auto alone = job::ReadProcess(static_cast<uint64_t>(getpid()))->rss_bytes;
    int until[2];
    REQUIRE(pipe(until) == 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      close(until[1]);
      char none = 0;
      _exit(read(until[0], &none, 1) == 0 ? 0 : 9);
    }
    for (int i = 0; i < 10; ++i) sampled.sampler.Sample(true);  // it may not come to all at once
    uint64_t resident = 0;
    for (const pid_t child : children) {
      resident += job::ReadProcess(static_cast<uint64_t>(child))->rss_bytes;
    }
    close(until[1]);
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    const model::Run run = sampled.Stop();
    REQUIRE(resident > 3 * kShared);
    std::set<std::string_view> processes;
    for (const trace::Sample& sample : run.rows.samples) {
      const std::string_view name = run.NameOf(sample.counter);
      if (name == "memory.peak") CHECK(sample.value < static_cast<double>(alone + kShared));
      if (!name.ends_with(".rss") || !name.starts_with("process")) continue;
      processes.insert(name);
      CHECK(sample.value < static_cast<double>(alone) - kShared / 2);
    }
    CHECK(processes.size() == 4);
  }

  TEST_CASE("job: what was published before a kill is in the trace") {
    for (const uint64_t spans : {uint64_t{1}, uint64_t{900}, uint64_t{5'000}, uint64_t{30'000}}) {
      KillJobAt(spans, SIGKILL);
    }
  }

  TEST_CASE("job: one that closes all descriptors or changes its folder is recorded all the same") {
    const JobPlace place;
    CHECK(place.RunOurs({"spans", "10", "close", "chdir", "/", "spans", "20", "threads", "3"})
              .exit_code == 0);
    const model::Run run = place.Load();
    CHECK(run.quality.Complete());
    CHECK(SpansOf(run, "fetch") == 60);
  }

  TEST_CASE("job: one that execs keeps what it wrote before") {
    const JobPlace place;
    CHECK(place.RunOurs({"spans", "10", "exec", "sh", "-c", "exit 4"}).exit_code == 4);
    CHECK(SpansOf(place.Load(), "fetch") == 10);
    CHECK(place.NothingLeft());
  }

  TEST_CASE("job: two beside each other do not mix") {
    const JobPlace one;
    JobPlace other;
    const pid_t runner = one.Start({"spans", "3000", "sleep", "100"});
    CHECK(other.RunOurs({"spans", "2000", "sleep", "100"}).exit_code == 0);
    waitpid(runner, nullptr, 0);
    CHECK(SpansOf(one.Load(), "fetch") == 3000);
    CHECK(SpansOf(other.Load(), "fetch") == 2000);
  }

  TEST_CASE("job: where no ring can be made, the job runs and the trace says so") {
    const JobPlace place;
    // As on a full file system, or past RLIMIT_FSIZE, which would kill it.
    const ProgramResult done =
        place.Run({"sh", "-c", "ulimit -f 64; exec " + test::kJobProgram + " spans 100 print ok"});
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
    const JobPlace place;
    const ProgramResult done = place.Run(
        {"sh", "-c",
         "cd $STALLSCOPE_SESSION && head -c 5000 /dev/urandom > 1.2.3.0.ring && "
         "mkfifo 1.2.3.1.ring && ln -s /etc/passwd 1.2.3.2.ring && "
         "head -c 100000 /dev/urandom > 1.2.names && mkfifo 2.3.names && "
         "printf '{\"stage\":{\"id\":99999999999,\"name\":\"x\"}}\\n[[[[\\n{\"said\":5}\\n' > "
         "$$.5.names && mkdir 7.8.names 7.8.9.0.ring && exec " +
             test::kJobProgram + " spans 100"});
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
}

TEST_SUITE("slow") {
  TEST_CASE("job: two hundred processes at a time") {
    const JobPlace place;
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
