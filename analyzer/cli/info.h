// What is in a trace, as text for people and JSON for programs.
#ifndef STALLSCOPE_ANALYZER_CLI_INFO_H_
#define STALLSCOPE_ANALYZER_CLI_INFO_H_

#include <string>

#include "analyzer/model/run.h"

namespace stallscope::cli {

std::string InfoText(const model::Run& run, bool colors);
std::string InfoJson(const model::Run& run);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_INFO_H_
