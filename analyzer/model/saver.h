// Writes a run as a trace of ours: how an imported run becomes an .sst.
//
// LoadTrace returns the same run but for its format: times, names, tables, limits and warnings. Any
// thread.
#pragma once

#include <string>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

// Readers see the file whole or not at all. An error if it cannot be written, or if the run has
// several ranks: a trace has one. `over`: kOwnInput to replace the trace that was read.
Status SaveTrace(const Run& run, const std::string& path, FileOps& ops = FileOps::Kernel(),
                 Over over = Over::kNoInput);

}  // namespace stallscope::model
