#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>

#include "analyzer/base/thread.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/usage.h"

int main(int argc, char** argv) {
  // A reader that goes away early (head, a pager) is a failed write, not a death by signal.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that grows past its limit.
  std::signal(SIGXFSZ, SIG_IGN);
  int exit_code = 0;
  try {
    const auto app = stallscope::cli::MakeProgram(exit_code);
    try {
      app->parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      std::fputs(stallscope::cli::HelpText(*app).c_str(), stdout);
    } catch (const CLI::CallForVersion&) {
      std::printf("%s\n", app->version().c_str());
    } catch (const CLI::ParseError& error) {
      return stallscope::cli::Fail(stallscope::cli::UsageError(*app, error, {argv, argv + argc}));
    }
  } catch (...) {
    return stallscope::cli::Fail(stallscope::CaughtError());
  }
  return exit_code;
}
