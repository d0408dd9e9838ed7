// What stdout is. One thread.
#ifndef STALLSCOPE_ANALYZER_CLI_TERMINAL_H_
#define STALLSCOPE_ANALYZER_CLI_TERMINAL_H_

namespace stallscope::cli {

// Stdout is a terminal and NO_COLOR is not set.
bool UseColors();

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_TERMINAL_H_
