// `stallscope doctor`: what can be recorded on this machine, what limits it, what to do about it.
#ifndef STALLSCOPE_ANALYZER_CLI_DOCTOR_H_
#define STALLSCOPE_ANALYZER_CLI_DOCTOR_H_

#include <CLI/App.hpp>

namespace stallscope::cli {

// Adds the command to `app`, which must outlive the parsing. It prints to stdout and leaves
// `exit_code` 0: a machine that lacks something is a result, not a failure.
void AddDoctor(CLI::App& app, int& exit_code);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_DOCTOR_H_
