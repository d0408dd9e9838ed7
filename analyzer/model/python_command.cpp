#include "analyzer/model/python_command.h"

#include <string_view>

namespace stallscope::model {

std::optional<PythonCommand> PythonCommandOf(std::span<const std::string> arguments) {
  if (arguments.empty()) return std::nullopt;
  const std::string& program = arguments[0];
  if (!program.substr(program.rfind('/') + 1).starts_with("python")) return std::nullopt;
  PythonCommand command;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view flags = arguments[i];
    if (!flags.starts_with('-')) return command;  // the program
    if (flags == "-") break;
    if (flags.starts_with("--")) continue;
    const size_t value = flags.find_first_of("cmWX");  // what is behind these is theirs
    if (flags.substr(0, value).find_first_of("IES") != std::string_view::npos) {
      command.isolating = flags;
    }
    if (value == std::string_view::npos) continue;
    if (flags[value] == 'c' || flags[value] == 'm') return command;
    if (value + 1 == flags.size()) ++i;
  }
  command.reads_program = true;
  return command;
}

}  // namespace stallscope::model
