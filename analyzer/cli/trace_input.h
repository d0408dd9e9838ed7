// The traces that a command reads, whatever their format.
#ifndef STALLSCOPE_ANALYZER_CLI_TRACE_INPUT_H_
#define STALLSCOPE_ANALYZER_CLI_TRACE_INPUT_H_

#include <string>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::cli {

// Prints what is wrong with the trace to stderr, a line each; the run is what could be read.
Result<model::Run> OpenTrace(const std::string& path);

}  // namespace stallscope::cli

#endif  // STALLSCOPE_ANALYZER_CLI_TRACE_INPUT_H_
