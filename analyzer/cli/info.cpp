#include "analyzer/cli/info.h"

#include <CLI/CLI.hpp>

#include "analyzer/cli/output.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/cli/trace_input.h"

namespace stallscope::cli {
namespace {

int RunInfo(const std::string& trace, const std::string& format) {
  const auto run = OpenTrace(trace);
  if (!run.ok()) return Fail(run.error());
  auto output = Output::Open("");
  if (!output.ok()) return Fail(output.error());
  Status done = output.value().Write(format == "json" ? InfoJson(run.value())
                                                      : InfoText(run.value(), UseColors()));
  if (done.ok()) done = output.value().Finish();
  if (!done.ok() && !output.value().reader_left()) return Fail(done.error());
  return 0;
}

}  // namespace

void AddInfo(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("info", "Show what is in a trace: spans, steps, tracks, what was lost");
  auto trace = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("text");
  command->add_option("TRACE", *trace, "The trace to read")->required();
  command->add_option("--format", *format, "Form of the result")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([=, &exit_code] { exit_code = RunInfo(*trace, *format); });
}

}  // namespace stallscope::cli
