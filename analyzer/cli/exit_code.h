// What the program ends with where that is no error: those are ErrorKind's own numbers.
#ifndef STALLSCOPE_ANALYZER_CLI_EXIT_CODE_H_
#define STALLSCOPE_ANALYZER_CLI_EXIT_CODE_H_

namespace stallscope::cli {

constexpr int kExitFailed = 1;        // a budget, or a comparison whose new side is slower
constexpr int kExitInconclusive = 4;  // of a budget or a comparison

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_EXIT_CODE_H_
