// A user's program with stallscope's recorder in it, as a job of tests: job_program ACTION...
//
//   steps N           N steps of a trainer, on the main thread
//   spans N           N spans whose items count from 0
//   forever FILE      spans until it is killed; FILE has how many are done, as a number of 8 bytes
//   count FILE        a byte into FILE per SIGUSR1 or SIGUSR2, until SIGTERM
//   fork N ACTION...  does the rest in N children, and waits for them
//   daemon FILE       leaves a child behind that lives until FILE is gone; prints its pid
//   close             closes all descriptors
//   chdir FOLDER · exec PROGRAM... · exit N · kill N · print TEXT · sleep MS · threads N
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectors/recorder/recorder.h"

using namespace stallscope;
using recorder::Recorder;

namespace {

struct Program {
  std::unique_ptr<Recorder> recorder;
  StageId fetch, trainer;
  QueueId queue;
  trace::StringId resize;

  void Begin() {
    trace::RunInfo run;
    run.name = "job_program";
    auto started = Recorder::Start("never-written.sst", run);
    if (!started.ok()) {
      std::fprintf(stderr, "%s\n", started.error().Line().c_str());
      std::exit(9);
    }
    recorder = std::move(started).value();
    queue = recorder->DefineQueue({.name = "loader", .capacity = 4});
    fetch = recorder->DefineStage({.name = "fetch", .kind = "map", .queue = queue, .workers = 2});
    trainer = recorder->DefineStage({.name = "trainer", .kind = "trainer", .inputs = {fetch}});
    resize = recorder->DefineString("Resize");
  }

  void Steps(uint64_t count) {
    const recorder::ThreadScope scope(recorder.get(), "main", trainer);
    for (uint64_t i = 0; i < count; ++i) {
      recorder::Track& track = *scope.track();
      const Ticks start = NowTicks();
      track.Named(trace::SpanActivity::kOp, resize, start, NowTicks(), fetch);
      track.Work(fetch, ItemId{i}, start, NowTicks(), 100, 50);
      track.Wait(trace::WaitCause::kStartup, queue, NowTicks(), NowTicks());
      const auto now = static_cast<int64_t>(NowTicks());
      track.Step({i, static_cast<int64_t>(start), now, now, now, ItemId{i}, {}, 16, 0});
    }
  }

  void Spans(uint64_t count) {
    const recorder::ThreadScope scope(recorder.get(), "spans", fetch);
    for (uint64_t i = 0; i < count; ++i) {
      const Ticks now = NowTicks();
      scope.track()->Work(fetch, ItemId{i}, now, now);
      if (i % 4096 == 4095) usleep(10'000);  // nobody drains faster than that is needed here
    }
  }

  [[noreturn]] void Forever(const char* path) {
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (ftruncate(fd, 8) != 0) std::exit(9);
    auto* const done = static_cast<volatile uint64_t*>(
        mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    const recorder::ThreadScope scope(recorder.get(), "spans", fetch);
    for (uint64_t i = 0;; ++i) {
      const Ticks now = NowTicks();
      scope.track()->Work(fetch, ItemId{i}, now, now);
      *done = i + 1;
      if (i % 1024 == 1023) usleep(5'000);
    }
  }
};

volatile std::sig_atomic_t terminated = 0;
int count_file = -1;

void CountSignals(const char* path) {
  struct sigaction count {};
  count.sa_handler = [](int number) {
    if (number == SIGTERM) terminated = 1;
    if (number != SIGTERM && write(count_file, "x", 1) != 1) _exit(9);
  };
  // Whoever sees the file may send one, before its number is known here.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  for (const int number : {SIGUSR1, SIGUSR2, SIGTERM}) sigaction(number, &count, nullptr);
  count_file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  while (terminated == 0) usleep(1'000);
}

void LeaveDaemon(const std::string& file) {
  const pid_t child = fork();
  if (child != 0) {
    std::printf("%d\n", child);
    return;
  }
  setsid();
  close_range(0, ~0U, 0);
  while (access(file.c_str(), F_OK) == 0) usleep(10'000);
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  Program program;
  program.Begin();
  for (int at = 1; at < argc; ++at) {
    const std::string action = argv[at];
    const auto text = [&] { return std::string(argv[++at]); };
    const auto number = [&] { return std::stoull(text()); };
    if (action == "steps") {
      program.Steps(number());
    } else if (action == "spans") {
      program.Spans(number());
    } else if (action == "threads") {
      const uint64_t count = number();
      std::vector<std::thread> threads;
      for (uint64_t i = 0; i < count; ++i) threads.emplace_back([&] { program.Spans(10); });
      for (std::thread& thread : threads) thread.join();
    } else if (action == "forever") {
      program.Forever(text().c_str());
    } else if (action == "count") {
      CountSignals(text().c_str());
    } else if (action == "fork") {
      const uint64_t count = number();
      bool child = false;
      for (uint64_t i = 0; i < count && !child; ++i) child = fork() == 0;
      if (child) continue;
      int status = 0;
      int failed = 0;
      while (wait(&status) > 0) failed |= status;
      return failed == 0 ? 0 : 1;
    } else if (action == "daemon") {
      LeaveDaemon(text());
    } else if (action == "close") {
      close_range(0, ~0U, 0);
    } else if (action == "chdir") {
      if (chdir(argv[++at]) != 0) return 9;
    } else if (action == "exec") {
      execvp(argv[at + 1], argv + at + 1);
      return 9;
    } else if (action == "exit") {
      return static_cast<int>(number());
    } else if (action == "kill") {
      const int signal = static_cast<int>(number());
      std::signal(signal, SIG_DFL);
      raise(signal);
    } else if (action == "print") {
      std::printf("%s\n", text().c_str());
      std::fflush(stdout);
    } else if (action == "sleep") {
      usleep(static_cast<useconds_t>(number() * 1000));
    } else {
      std::fprintf(stderr, "unknown action %s\n", action.c_str());
      return 9;
    }
  }
  return 0;
}
