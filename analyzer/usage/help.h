// A program's help and man page, and what it says about arguments that it does not understand: one
// form for both programs. Any thread.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::usage {

// "a budget failed"; `more` is a sentence for the man page.
struct ExitCode {
  int code = 0;
  std::string meaning;
  std::string more;
};

// What its options do not say.
struct About {
  std::string summary;  // behind the program's name on its man page
  std::string notes;    // sentences behind the options
  std::vector<ExitCode> exit_codes;
  std::vector<std::pair<std::string, std::string>> environment;  // man page only
};

// Gives a program and its commands, which must all be there, this help.
void SetHelp(CLI::App& app, const About& about);

// The help of the command in question, or of the program: lines of 80 columns.
std::string HelpText(const CLI::App& app);

// Roff, for `man -l`.
std::string ManPage(const CLI::App& app, const About& about);

// Wrong usage on one line, with what was probably meant. `arguments` begin with the program.
Error UsageError(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& arguments);

}  // namespace stallscope::usage
