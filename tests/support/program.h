// Runs a program as a user would and keeps what it printed.
#pragma once

#include <string>
#include <vector>

namespace stallscope::test {

struct ProgramResult {
  int exit_code = -1;  // -1 where a signal ended it
  int signal = 0;
  std::string out;
  std::string err;
};

// arguments[0] is the program. `environment` adds "NAME=value" lines to this process's own.
ProgramResult RunProgram(const std::vector<std::string>& arguments,
                         const std::vector<std::string>& environment = {});

// The program `stallscope` of this build with these arguments.
ProgramResult RunStallscope(std::vector<std::string> arguments,
                            const std::vector<std::string>& environment = {});

// What these print: holds `part`; is one line, as an error has to be.
bool Has(const std::string& text, const std::string& part);
bool OneLine(const std::string& text);

}  // namespace stallscope::test
