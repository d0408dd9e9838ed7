#include <CLI/CLI.hpp>
#include <cstdio>

#include "analyzer/cli/program.h"

namespace stallscope::cli {

void AddMan(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page (view it with man -l)");
  command->callback([&app, &exit_code] {
    std::fputs(usage::ManPage(app, AboutProgram()).c_str(), stdout);
    exit_code = 0;
  });
}

}  // namespace stallscope::cli
