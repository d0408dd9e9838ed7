// Writes a run as a trace of ours: how an imported run becomes an .sst.
//
// What LoadTrace gives back is the same run but for its format: times, names, tables, limits and
// warnings. Any thread.
#ifndef STALLSCOPE_ANALYZER_MODEL_SAVER_H_
#define STALLSCOPE_ANALYZER_MODEL_SAVER_H_

#include <string>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

// Others see the file whole or not at all. An error where it cannot be written, or where the run is
// one of several ranks: a trace has one.
Status SaveTrace(const Run& run, const std::string& path, FileOps& ops = FileOps::Kernel());

}  // namespace stallscope::model

#endif  // STALLSCOPE_ANALYZER_MODEL_SAVER_H_
