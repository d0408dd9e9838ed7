#include "analyzer/cli/program.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "analyzer/cli/doctor.h"

namespace stallscope::cli {

std::unique_ptr<CLI::App> MakeProgram(int& exit_code) {
  auto app = std::make_unique<CLI::App>(
      "Finds out why a training step waits for its data, and what to change.", "stallscope");
  app->set_version_flag("--version", std::string("stallscope " STALLSCOPE_VERSION),
                        "Print the version and exit");
  app->require_subcommand(1);
  app->get_formatter()->column_width(34);
  AddGenerate(*app, exit_code);
  AddRecord(*app, exit_code);
  AddAnalyze(*app, exit_code);
  AddCompare(*app, exit_code);
  AddReplay(*app, exit_code);
  AddTune(*app, exit_code);
  AddInfo(*app, exit_code);
  AddExport(*app, exit_code);
  AddView(*app, exit_code);
  AddDoctor(*app, exit_code);
  AddCompletion(*app, exit_code);
  AddMan(*app, exit_code);
  app->footer(
      "Exit codes: 0 done, 1 a budget failed or a run is slower, 2 wrong usage, 3 an input is "
      "missing or cannot be read, 4 inconclusive, 5 the run failed or cannot run here.");
  return app;
}

int Fail(const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "stallscope: %s\n", error.Line().c_str());
  return static_cast<int>(error.kind);
}

}  // namespace stallscope::cli
