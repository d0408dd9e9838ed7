#include "analyzer/cli/terminal.h"

#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "analyzer/base/escape.h"

namespace stallscope::cli {
namespace {

bool CanAsk() { return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0; }

}  // namespace

bool UseColors() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

workbench::ReadWatch PrintWarnings() {
  workbench::ReadWatch watch;
  watch.on_warning = [](const std::string& warning) {
    std::fprintf(stderr, "stallscope: warning: %s\n", Printable(warning).c_str());
  };
  return watch;
}

bool AskedYes(const std::string& question) {
  if (!CanAsk()) return false;
  std::fprintf(stderr, "%s [y/N] ", Printable(question).c_str());
  // poll returns on Ctrl-C, where a read would continue.
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
  // Nothing of the data is read before consent.
  if (CanAsk()) announce();
  if (!AskedYes(Printable(run.path + ": " + plan.Reason()) + "; run it?")) {
    return Error{ErrorKind::kUsage, plan.Reason(), run.path,
                 plan.job.has_value() ? "pass --yes to run it"
                                      : "pass --yes to run it, or --mode simulate to predict only"};
  }
  return replay::CheckData(run, plan);
}

}  // namespace stallscope::cli
