// The commands and options as a list. The help, the completions and the man page are generated from
// it, so they cannot disagree with the program. Any thread.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace stallscope::usage {

struct OptionRow {
  std::vector<std::string> names;  // "--format", "-o"; of a positional argument its name
  bool positional = false;
  bool takes_value = false;
  std::vector<std::string> words;  // the values it takes, where they are words
  std::string value;  // what stands for its value: "text|json", "N", "FILE"; else empty
  bool many = false;  // takes several values after one name
  bool required = false;
  std::string about;
};

OptionRow RowOf(const CLI::Option& option);

struct CommandRow {
  std::string name;
  std::string about;
  std::vector<OptionRow> options;
  std::string notes;  // behind the options
};

// Those that are shown: of the program itself, or of one command.
std::vector<OptionRow> ListOptions(const CLI::App& app);
std::vector<CommandRow> ListCommands(const CLI::App& app);

}  // namespace stallscope::usage
