#include <CLI/CLI.hpp>
#include <memory>

#include "analyzer/cli/program.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/model/saver.h"
#include "replay/workbench/workbench.h"

namespace stallscope::cli {
namespace {

struct ImportArguments {
  std::string file;
  std::string out;
};

Status RunImport(const ImportArguments& arguments) {
  STALLSCOPE_ASSIGN_OR_RETURN(const auto run, workbench::Read({arguments.file}, PrintWarnings()));
  return model::SaveTrace(*run, arguments.out);
}

}  // namespace

void AddImport(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = app.add_subcommand(
      "import", "Write what another profiler recorded as a trace of stallscope's");
  command->add_option("FILE", arguments->file, "The file to read, of any format, gzip as it is")
      ->required();
  command->add_option("-o,--output", arguments->out, "The trace to write (.sst)")->required();
  command->callback([arguments, &exit_code] {
    const Status done = RunImport(*arguments);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
