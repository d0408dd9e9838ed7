#include "analyzer/usage/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/base/lines.h"
#include "analyzer/spec/nearest.h"
#include "analyzer/usage/command_list.h"
#include "analyzer/words/words.h"

namespace stallscope::usage {
namespace {

constexpr size_t kHelpColumn = 34;  // where the descriptions begin

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

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
    if (!CommandNames(*app).empty()) return usage + " COMMAND [OPTIONS]\n";
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

std::vector<std::string> OptionNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // not shown
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What an option takes, where it takes several: "PANEL FILE TRACE".
std::string ValuesOf(const CLI::App& command, const std::string& name) {
  const CLI::Option* const option = command.get_option_no_throw(name);
  const bool several = option != nullptr && option->get_items_expected_min() > 1;
  return several ? RowOf(*option).value : "a value";
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

// "0.500000" as "0.5".
std::string Trimmed(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number;
}

constexpr const char* kWhole = "give a whole number, 0 or more";
constexpr std::string_view kIsNegative = " is negative";

// CLI11 takes "-1" for the largest number without a sign.
void RefuseNegative(CLI::Option& option) {
  if (!option.get_type_name().starts_with("UINT")) return;
  option.check([](const std::string& value) {
    return value.starts_with("-") ? value + std::string(kIsNegative) : std::string();
  });
}

// A value that an option does not take. CLI11 says so in sentences of a few forms, which name the
// option and the value; empty: in another one.
std::optional<Error> InvalidValue(const CLI::App& command, std::string_view what) {
  const auto take_until = [&what](std::string_view mark) -> std::optional<std::string> {
    const size_t at = what.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    std::string taken(what.substr(0, at));
    what.remove_prefix(at + mark.size());
    return taken;
  };
  const auto error = [](const std::string& name, const std::string& value, std::string hint) {
    return Error{ErrorKind::kUsage, "invalid " + name + " " + Quoted(value), "", std::move(hint)};
  };
  constexpr std::string_view kUnconverted = "Could not convert: ";
  if (what.starts_with(kUnconverted)) {
    what.remove_prefix(kUnconverted.size());
    const auto name = take_until(" = ");
    const auto* const option = name ? command.get_option_no_throw(*name) : nullptr;
    if (option == nullptr) return std::nullopt;
    const std::string type = option->get_type_name();
    return error(*name, std::string(what),
                 type.starts_with("UINT")  ? kWhole
                 : type.starts_with("INT") ? "give a whole number"
                                           : "give a number");
  }
  const auto name = take_until(": ");
  const auto* const option = name ? command.get_option_no_throw(*name) : nullptr;
  if (option == nullptr) return std::nullopt;
  if (what.ends_with(kIsNegative)) return error(*name, *take_until(kIsNegative), kWhole);
  if (const auto value = take_until(" not in {")) {
    return error(*name, *value,
                 fmt::format("choose one of {}", fmt::join(RowOf(*option).words, ", ")));
  }
  if (const auto value = take_until(" not in range ")) {
    const auto low = take_until(" to ");
    constexpr size_t kValue = std::string_view("Value ").size();
    return error(*name, value->substr(std::min(kValue, value->size())),
                 fmt::format("give a number from {} to {}", Trimmed(low.value_or("")),
                             Trimmed(std::string(what))));
  }
  return std::nullopt;
}

std::string ExitCodesLine(const std::vector<ExitCode>& codes) {
  std::string line;
  for (const ExitCode& exit : codes) {
    line += fmt::format("{} {} {}", line.empty() ? "Exit codes:" : ",", exit.code, exit.meaning);
  }
  return line + ".";
}

}  // namespace

void SetHelp(CLI::App& app, const About& about) {
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(kHelpColumn);
  formatter->label("Positionals", "Arguments");
  std::vector<CLI::App*> all = app.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* command : all) command->group("Commands");
  all.push_back(&app);
  for (CLI::App* command : all) {
    command->formatter(formatter);
    for (CLI::Option* option : command->get_options()) RefuseNegative(*option);
  }
  app.footer((about.notes.empty() ? "" : about.notes + "\n") + ExitCodesLine(about.exit_codes));
}

std::string HelpText(const CLI::App& app) {
  const CLI::App* command = ParsedCommand(app);
  const std::string help = command != nullptr ? command->help(app.get_name()) : app.help();
  // CLI11 leaves long lines to the terminal, which breaks words.
  std::string text;
  for (const std::string_view line : SplitLines(help)) {
    constexpr std::string_view kUsage = "Usage: ";
    const size_t indent = line.starts_with("  ")     ? kHelpColumn
                          : line.starts_with(kUsage) ? kUsage.size()
                                                     : 0;
    // A group of hidden options leaves a line behind.
    if (line.empty() && text.ends_with("\n\n")) continue;
    for (const std::string& part : words::Wrapped(line, words::kTextWidth, indent)) {
      text += part + "\n";
    }
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

Error UsageError(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& arguments) {
  const CLI::App* command = ParsedCommand(app);
  const std::string where = command != nullptr ? command->get_name() : "";
  const std::string see =
      "see " + app.get_name() + " " + (where.empty() ? std::string() : where + " ") + "--help";
  const std::vector<std::string> commands = CommandNames(app);
  if (command == nullptr && !commands.empty() && arguments[1].substr(0, 1) != "-") {
    const std::string hint = DidYouMean(arguments[1], commands);
    return {ErrorKind::kUsage, "unknown command " + Quoted(arguments[1]), "",
            hint.empty() ? see : hint};
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
    const std::string name = what.substr(0, what.find(':'));
    return {ErrorKind::kUsage,
            name + " needs " + ValuesOf(command != nullptr ? *command : app, name), where, see};
  }
  if (auto invalid = InvalidValue(command != nullptr ? *command : app, error.what())) {
    invalid->where = where;
    return *std::move(invalid);
  }
  return {ErrorKind::kUsage, error.what(), where, see};
}

}  // namespace stallscope::usage
