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
  CLI::App* command =
      app.add_subcommand("import", "Convert another profiler's recording to a stallscope trace");
  command
      ->add_option("FILE", arguments->file, "File to read, in any supported format, gzipped or not")
      ->required();
  command->add_option("-o,--output", arguments->out, "Trace to write (.sst)")
      ->type_name("FILE")
      ->required();
  command->callback([arguments, &exit_code] {
    const Status done = RunImport(*arguments);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
