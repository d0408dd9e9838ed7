#include <CLI/CLI.hpp>
#include <map>

#include "analyzer/cli/output.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/trace_input.h"
#include "analyzer/export/export.h"

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

int RunExport(const ExportArguments& arguments) {
  const bool as_kineto = arguments.partition == "kineto";
  if (as_kineto && (arguments.what != "steps" || arguments.format == "chrome")) {
    return Fail(Error{ErrorKind::kUsage, "only steps are shared out as Kineto does", "--partition",
                      "give --what steps with --format csv or jsonl"});
  }
  const auto run = OpenTrace(arguments.trace);
  if (!run.ok()) return Fail(run.error());
  auto output = Output::Open(arguments.out);
  if (!output.ok()) return Fail(output.error());
  const exporting::What what =
      arguments.what.empty() ? exporting::What::kDefault : Kinds().at(arguments.what);
  Status done = exporting::Export(
      run.value(), Formats().at(arguments.format), what,
      as_kineto ? exporting::Partition::kKineto : exporting::Partition::kStallscope,
      [&](std::string_view text) { return output.value().Write(text); });
  if (done.ok()) done = output.value().Finish();
  if (!done.ok() && !output.value().reader_left()) return Fail(done.error());
  return 0;
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
      app.add_subcommand("export", "Write a run's spans, steps or counters for other tools");
  command->add_option("TRACE", arguments->trace, "The trace to read")->required();
  command
      ->add_option("--format", arguments->format,
                   "chrome (trace events, for Perfetto), csv or jsonl")
      ->required()
      ->check(CLI::IsMember(Keys(Formats())));
  command
      ->add_option("--what", arguments->what,
                   "spans, steps or counters; without it all for chrome, spans for the others")
      ->check(CLI::IsMember(Keys(Kinds())));
  command
      ->add_option("--partition", arguments->partition,
                   "How steps are shared out: as reports do, or as Kineto's overview did")
      ->check(CLI::IsMember({"stallscope", "kineto"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->out, "The file to write instead of stdout");
  command->callback([arguments, &exit_code] { exit_code = RunExport(*arguments); });
}

}  // namespace stallscope::cli
