// What a command line says of how Python is started. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace stallscope::model {

struct PythonCommand {
  std::string isolating;       // the flag without PYTHONPATH, or site: "-I", "-sE"; empty: none
  bool reads_program = false;  // from standard input: "python", "python -u -"
};

// Nothing if its program is not Python.
std::optional<PythonCommand> PythonCommandOf(std::span<const std::string> arguments);

}  // namespace stallscope::model
