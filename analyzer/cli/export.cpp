#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>

#include "analyzer/cli/outputs.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/terminal.h"
#include "analyzer/export/export.h"
#include "replay/workbench/workbench.h"

namespace stallscope::cli {
namespace {

struct ExportArguments {
  std::string trace;
  std::string format;
  std::string what;
  std::string partition = "stallscope";
  std::string out;
};

const std::map<std::string, exporting::Format>& Formats() {
  static const std::map<std::string, exporting::Format> formats{
      {"chrome", exporting::Format::kChrome},
      {"csv", exporting::Format::kCsv},
      {"jsonl", exporting::Format::kJsonl}};
  return formats;
}

const std::map<std::string, exporting::What>& Kinds() {
  static const std::map<std::string, exporting::What> kinds{
      {"spans", exporting::What::kSpans},
      {"steps", exporting::What::kSteps},
      {"counters", exporting::What::kCounters}};
  return kinds;
}

// By --format, else by the file's name.
Result<exporting::Format> FormatOf(const ExportArguments& arguments) {
  if (!arguments.format.empty()) return Formats().at(arguments.format);
  const std::string ending = std::filesystem::path(arguments.out).extension();
  if (ending == ".csv") return exporting::Format::kCsv;
  if (ending == ".jsonl") return exporting::Format::kJsonl;
  if (ending == ".json") return exporting::Format::kChrome;
  return Error{ErrorKind::kUsage, "no format given", arguments.out,
               "give --format chrome, csv or jsonl, or an -o that ends in .json, .csv or .jsonl"};
}

Status RunExport(const ExportArguments& arguments) {
  STALLSCOPE_ASSIGN_OR_RETURN(const exporting::Format format, FormatOf(arguments));
  const bool as_kineto = arguments.partition == "kineto";
  if (as_kineto && (arguments.what != "steps" || format == exporting::Format::kChrome)) {
    return Error{ErrorKind::kUsage, "Kineto's partition applies to steps only", "--partition",
                 "use --what steps with --format csv or jsonl"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const auto run, workbench::Read({arguments.trace}, PrintWarnings()));
  STALLSCOPE_ASSIGN_OR_RETURN(Output output, Output::Open(arguments.out));
  const exporting::What what =
      arguments.what.empty() ? exporting::What::kDefault : Kinds().at(arguments.what);
  Status done = exporting::Export(
      *run, format, what,
      as_kineto ? exporting::Partition::kKineto : exporting::Partition::kStallscope,
      [&](std::string_view text) { return output.Write(text); });
  if (done.ok()) done = output.Finish();
  if (output.reader_left()) return {};
  return done;
}

template <class Map>
std::vector<std::string> Keys(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

}  // namespace

void AddExport(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command =
      app.add_subcommand("export", "Export a run's spans, steps or counters for other tools");
  command->add_option("TRACE", arguments->trace, "Trace to read")->required();
  command
      ->add_option("--format", arguments->format,
                   "chrome (trace events, for Perfetto), csv or jsonl (default: by the name of -o)")
      ->check(CLI::IsMember(Keys(Formats())));
  command
      ->add_option(
          "--what", arguments->what,
          "spans, steps or counters; by default everything for chrome, spans for csv and jsonl")
      ->check(CLI::IsMember(Keys(Kinds())));
  command
      ->add_option("--partition", arguments->partition,
                   "How to partition each step: as the reports do, or as Kineto's overview does")
      ->check(CLI::IsMember({"stallscope", "kineto"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->out, "Output file (default: stdout)")
      ->type_name("FILE");
  command->callback([arguments, &exit_code] {
    const Status done = RunExport(*arguments);
    exit_code = done.ok() ? 0 : Fail(done.error());
  });
}

}  // namespace stallscope::cli
