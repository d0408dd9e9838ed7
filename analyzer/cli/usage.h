// Wrong usage in one line, with what was probably meant.
#ifndef STALLSCOPE_ANALYZER_CLI_USAGE_H_
#define STALLSCOPE_ANALYZER_CLI_USAGE_H_

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <string>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::cli {

// The help of the command that was asked about.
std::string HelpText(const CLI::App& app);

Error UsageError(const CLI::App& app, const CLI::ParseError& error,
                 const std::vector<std::string>& arguments);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_USAGE_H_
