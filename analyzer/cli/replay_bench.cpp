#include "analyzer/cli/replay_bench.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <utility>

#include "analyzer/base/escape.h"

namespace stallscope::cli {

Result<ReplayBench> ReplayBench::Make(replay::PageCache page_cache) {
  STALLSCOPE_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::Make());
  replay::RerunOptions options;
  std::error_code failed;
  options.program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) {
    return Error{ErrorKind::kRun, "cannot locate its own executable: " + failed.message(),
                 "/proc/self/exe", ""};
  }
  options.scratch = folder.path();
  options.page_cache = page_cache;
  return ReplayBench(std::move(folder), std::move(options));
}

namespace {

bool CanAsk() { return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0; }

}  // namespace

bool AskedYes(const std::string& question) {
  if (!CanAsk()) return false;
  std::fprintf(stderr, "%s [y/N] ", Printable(question).c_str());
  // poll comes back for Ctrl-C where a read would go on.
  struct pollfd terminal {};
  terminal.fd = STDIN_FILENO;
  terminal.events = POLLIN;
  if (poll(&terminal, 1, -1) < 0) return false;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Status AgreeToRerun(const replay::RerunPlan& plan, const model::Run& run, const std::string& output,
                    bool yes) {
  const auto announce = [&] {
    for (const std::string& line : plan.Lines(output)) {
      std::fprintf(stderr, "stallscope: the re-run %s\n", Printable(line).c_str());
    }
  };
  if (!plan.NeedsYes() || yes) {
    STALLSCOPE_RETURN_IF_ERROR(replay::CheckData(run, plan));
    announce();
    return {};
  }
  // The data is not even looked at before.
  if (CanAsk()) announce();
  if (!AskedYes(Printable(run.path + ": " + plan.Reason()) + "; run it?")) {
    return Error{ErrorKind::kUsage, plan.Reason(), run.path,
                 "give --yes to run it, or --mode simulate to predict only"};
  }
  return replay::CheckData(run, plan);
}

}  // namespace stallscope::cli
