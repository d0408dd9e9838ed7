// Reads a trace of ours into memory.
//
// The file is read twice: first to count, so that every column is reserved exactly (22 bytes a
// span, and what a span has beyond that), then to decode. A file that grows meanwhile is read as
// far as it goes. Whatever the file says, memory stays within 128 MiB + 12 x its size. Any thread;
// nothing is shared between calls.
#ifndef STALLSCOPE_ANALYZER_MODEL_LOADER_H_
#define STALLSCOPE_ANALYZER_MODEL_LOADER_H_

#include <functional>
#include <optional>
#include <string>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::model {

// Told now and then while a file is read: the part of it that has been, where that is known. False
// ends the reading, with an error that nobody waits for any more.
using OnProgress = std::function<bool(std::optional<double> part)>;

// An error only where nothing can be used: a missing file, one that is no trace (the error says
// what it looks like), or one without a single whole chunk. Everything less is in Run::quality.
Result<Run> LoadTrace(const std::string& path, const OnProgress& on_progress = {});

}  // namespace stallscope::model

#endif  // STALLSCOPE_ANALYZER_MODEL_LOADER_H_
