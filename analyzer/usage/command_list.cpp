#include "analyzer/usage/command_list.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace stallscope::usage {
namespace {

// CLI11 describes a set of words as "{text,json}" in the option's type name.
std::vector<std::string> WordsOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.find('}', open);
  std::vector<std::string> words;
  if (open == std::string::npos || close == std::string::npos) return words;
  size_t from = open + 1;
  while (from < close) {
    const size_t to = std::min(type.find(',', from), close);
    words.push_back(type.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

// CLI11 names types, and describes a check behind a colon: "TEXT:{text,json}", "INT", "FILE".
std::string ValueOf(const CLI::Option& option, const std::vector<std::string>& words) {
  if (option.get_items_expected_max() == 0) return "";
  std::string choices;
  for (const std::string& word : words) choices += (choices.empty() ? "" : "|") + word;
  if (!choices.empty()) return choices;
  const std::string type = option.get_type_name();
  const std::string base = type.substr(0, type.find(':'));
  if (base == "INT" || base == "UINT" || base == "FLOAT") return "N";
  return base == "TEXT" ? "VALUE" : base;
}

}  // namespace

OptionRow RowOf(const CLI::Option& option) {
  OptionRow row;
  for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  if (row.names.empty()) {
    row.positional = true;
    row.names.push_back(option.get_name());
  }
  row.takes_value = option.get_items_expected_max() != 0;
  row.words = WordsOf(option);
  row.value = ValueOf(option, row.words);
  row.many = option.get_allow_extra_args() &&
             option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  row.required = option.get_required();
  row.about = option.get_description();
  return row;
}

std::vector<OptionRow> ListOptions(const CLI::App& app) {
  std::vector<OptionRow> options;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) options.push_back(RowOf(*option));
  }
  return options;
}

std::vector<CommandRow> ListCommands(const CLI::App& app) {
  std::vector<CommandRow> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    std::string notes = command->get_footer();
    while (notes.ends_with('\n')) notes.pop_back();
    commands.push_back(
        {command->get_name(), command->get_description(), ListOptions(*command), std::move(notes)});
  }
  return commands;
}

}  // namespace stallscope::usage
