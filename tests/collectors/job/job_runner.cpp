// Runs a job as `stallscope run` does, without the rest of the program: job_runner TRACE
// [OPTION]...
// -- COMMAND... with the options memory=FOLDER, full=N (the N-th write and all later ones find the
// disk full), KNOB=VALUE.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "collectors/job/run_job.h"
#include "tests/support/faults.h"

using namespace stallscope;

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  job::JobOptions options;
  options.output = argv[1];
  options.tool = "job_runner";
  int first_full = -1;
  int at = 2;
  for (; at < argc && std::string(argv[at]) != "--"; ++at) {
    const std::string option = argv[at];
    if (option.starts_with("memory=")) {
      options.session.memory = option.substr(7);
      options.session.least_free_bytes = 0;
    } else if (option.starts_with("full=")) {
      first_full = std::stoi(option.substr(5));
    } else {
      options.settings.set.push_back(option);
    }
  }
  test::FaultyDisk disk(test::FaultyDisk::Fault::kError, first_full, 1 << 30);
  if (first_full >= 0) options.ops = &disk;
  options.command.assign(argv + at + 1, argv + argc);
  const auto result = job::RunJob(options);
  if (!result.ok()) {
    std::fprintf(stderr, "job_runner: %s\n", result.error().Line().c_str());
    return static_cast<int>(result.error().kind);
  }
  if (!result.value().trace.first_error.empty()) {
    std::fprintf(stderr, "job_runner: %s\n", result.value().trace.first_error.c_str());
  }
  if (result.value().interrupted) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  return result.value().exit_code;
}
