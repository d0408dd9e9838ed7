// What a command prints and asks besides its results: colors, warnings, questions. One thread.
#pragma once

#include <string>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"
#include "replay/rerun/recorded_inputs.h"
#include "replay/workbench/workbench.h"

namespace stallscope::cli {

// Stdout is a terminal and NO_COLOR is not set.
bool UseColors();

// Prints each trace's warnings to stderr, one per line.
workbench::ReadWatch PrintWarnings();

// Asks on the terminal; false without one.
bool AskedYes(const std::string& question);

// Asks where a re-run needs the user's consent (kUsage where it is refused; `yes` gives it in
// advance), checks the data, and prints what the re-run reads, runs and writes.
Status AgreeToRerun(const replay::RerunPlan& plan, const model::Run& run, const std::string& output,
                    bool yes);

}  // namespace stallscope::cli
