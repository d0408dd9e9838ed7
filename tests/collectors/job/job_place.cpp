#include "tests/collectors/job/job_place.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "analyzer/model/loader.h"

namespace stallscope::test {

const std::string kJobProgram = BuildDir() + "/tests/job_program";

namespace {

[[noreturn]] void Become(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

std::vector<std::string> OfJobProgram(std::vector<std::string> actions) {
  actions.insert(actions.begin(), kJobProgram);
  return actions;
}

}  // namespace

std::vector<std::string> JobPlace::Recorded(const std::vector<std::string>& command,
                                            const std::vector<std::string>& options) const {
  std::vector<std::string> all{BuildDir() + "/tests/job_runner", trace,
                               "memory=" + sessions.path()};
  all.insert(all.end(), options.begin(), options.end());
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

ProgramResult JobPlace::Run(const std::vector<std::string>& command,
                            const std::vector<std::string>& options,
                            const std::vector<std::string>& environment) const {
  return RunProgram(Recorded(command, options), environment);
}

ProgramResult JobPlace::RunOurs(std::vector<std::string> actions,
                                const std::vector<std::string>& options) const {
  return Run(OfJobProgram(std::move(actions)), options);
}

pid_t JobPlace::Start(std::vector<std::string> actions) const {
  const pid_t child = fork();
  if (child == 0) Become(Recorded(OfJobProgram(std::move(actions))));
  return child;
}

pid_t JobPlace::StartGroup(const std::vector<std::string>& command) const {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  signal(SIGINT, SIG_DFL);  // a shell's background jobs ignore it
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, fd);
  Become(Recorded(command));
}

model::Run JobPlace::Load() const {
  auto run = model::LoadTrace(trace);
  REQUIRE(run.ok());
  return std::move(run).value();
}

bool JobPlace::NothingLeft() const {
  return std::filesystem::directory_iterator(sessions.path()) ==
         std::filesystem::directory_iterator();
}

int StatusOf(pid_t started) {
  int status = 0;
  REQUIRE(waitpid(started, &status, 0) == started);
  return status;
}

pid_t JobOf(pid_t runner) {
  pid_t job = 0;
  const std::string number = std::to_string(runner);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  for (pid_t child; children >> child;) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/comm") >> std::ws, name);
    if (name == "job_program") job = child;
  }
  return job;
}

uint64_t DoneIn(const std::string& path) {
  uint64_t done = 0;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&done), sizeof done);
  return done;
}

void WaitUntil(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

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

}  // namespace stallscope::test
