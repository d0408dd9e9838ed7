#include "analyzer/cli/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "analyzer/base/file.h"
#include "analyzer/base/lines.h"
#include "analyzer/cli/command_list.h"
#include "analyzer/report/text.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/words/words.h"

namespace stallscope::cli {
namespace {

constexpr size_t kHelpColumn = 34;  // where the descriptions begin

// CLI11's own notes, "TEXT:{a,b}=a ... REQUIRED", are for programmers. Here choices are a|b, a
// default is a word of the description, and the usage line has what must be given.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const OptionRow row = RowOf(*option);
    return row.positional || row.value.empty() ? "" : " " + row.value + (row.many ? "..." : "");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string& initial = option->get_default_str();
    return option->get_description() + (initial.empty() ? "" : " (default: " + initial + ")");
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = "Usage: " + name;
    if (app->get_parent() == nullptr) return usage + " COMMAND [OPTIONS]\n";
    std::string positionals;
    for (const CLI::Option* option : app->get_options()) {
      const OptionRow row = RowOf(*option);
      if (row.positional) {
        positionals += " " + make_option_usage(option);
      } else if (row.required) {
        usage += " " + row.names.front() + make_option_opts(option);
      }
    }
    return usage + " [OPTIONS]" + positionals + "\n";
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string& given = option->get_option_text();
    return given.empty() ? CLI::Formatter::make_option_usage(option) : given;
  }
};

const CLI::App* ParsedCommand(const CLI::App& app) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? nullptr : parsed.front();
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // not shown
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The first argument that nothing took, without an option's value.
std::string Unexpected(const CLI::App& app) {
  for (const std::string& argument : app.remaining(true)) {
    // It separates what follows; alone it is no option.
    if (argument != "--") return argument.substr(0, argument.find('='));
  }
  return "";
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = Near(word, known);
  return near.empty() ? "" : "did you mean " + Quoted(near) + "?";
}

}  // namespace

std::unique_ptr<CLI::App> MakeProgram(int& exit_code) {
  auto app = std::make_unique<CLI::App>(
      "Finds out why a training step waits for its data, and what to change.", "stallscope");
  app->set_version_flag("--version", std::string("stallscope " STALLSCOPE_VERSION),
                        "Print the version and exit");
  app->require_subcommand(1);
  app->formatter(std::make_shared<HelpFormatter>());
  app->get_formatter()->column_width(kHelpColumn);
  AddGenerate(*app, exit_code);
  AddConvert(*app, exit_code);
  AddRecord(*app, exit_code);
  AddRun(*app, exit_code);
  AddAnalyze(*app, exit_code);
  AddCompare(*app, exit_code);
  AddApply(*app, exit_code);
  AddPatch(*app, exit_code);
  AddReplay(*app, exit_code);
  AddTune(*app, exit_code);
  AddInfo(*app, exit_code);
  AddImport(*app, exit_code);
  AddExport(*app, exit_code);
  AddView(*app, exit_code);
  AddDoctor(*app, exit_code);
  AddCompletion(*app, exit_code);
  AddMan(*app, exit_code);
  app->footer(
      "Exit codes: 0 success, 1 a budget failed or a run is slower, 2 wrong usage, 3 an input is "
      "missing or unreadable, 4 inconclusive, 5 the run failed or cannot run here.");
  return app;
}

int Fail(const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "stallscope: %s\n", error.Line().c_str());
  return static_cast<int>(error.kind);
}

std::string HelpText(const CLI::App& app) {
  const CLI::App* command = ParsedCommand(app);
  const std::string help = command != nullptr ? command->help("stallscope") : app.help();
  // CLI11 leaves long lines to the terminal, which breaks words.
  std::string text;
  for (const std::string_view line : SplitLines(help)) {
    constexpr std::string_view kUsage = "Usage: ";
    const size_t indent = line.starts_with("  ")     ? kHelpColumn
                          : line.starts_with(kUsage) ? kUsage.size()
                                                     : 0;
    for (const std::string& part : words::Wrapped(line, report::kTextWidth, indent)) {
      text += part + "\n";
    }
  }
  return text;
}

Error UsageError(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& arguments) {
  const CLI::App* command = ParsedCommand(app);
  const std::string where = command != nullptr ? command->get_name() : "";
  const std::string see =
      "see stallscope " + (where.empty() ? std::string() : where + " ") + "--help";
  if (command == nullptr && arguments[1].substr(0, 1) != "-") {
    const std::string hint = DidYouMean(arguments[1], CommandNames(app));
    return {ErrorKind::kUsage, "unknown command " + Quoted(arguments[1]), "",
            hint.empty() ? "see stallscope --help" : hint};
  }
  if (const std::string stranger = Unexpected(app); !stranger.empty()) {
    const bool option = stranger.substr(0, 1) == "-";
    const std::string hint =
        option ? DidYouMean(stranger, OptionNames(command != nullptr ? *command : app)) : "";
    return {ErrorKind::kUsage,
            (option ? "unknown option " : "unexpected argument ") + Quoted(stranger), where,
            hint.empty() ? see : hint};
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string what = error.what();
    return {ErrorKind::kUsage, what.substr(0, what.find(':')) + " needs a value", where, see};
  }
  return {ErrorKind::kUsage, error.what(), where, see};
}

std::vector<std::string> ProgramArguments() {
  std::vector<std::string> arguments;
  const auto text = ReadWholeFile("/proc/self/cmdline", size_t{4} << 20);
  if (!text.ok()) return arguments;
  for (size_t at = 0; at < text.value().size();) {
    arguments.emplace_back(text.value().c_str() + at);
    at += arguments.back().size() + 1;
  }
  return arguments;
}

Result<std::string> ProgramPath() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) return path.string();
  return Error{ErrorKind::kRun, "cannot locate its own executable: " + failed.message(),
               "/proc/self/exe", ""};
}

}  // namespace stallscope::cli
