// The steps of reading a trace of ours, for a whole file and for one that grows. Private to the
// room; one thread at a time.
#ifndef STALLSCOPE_ANALYZER_MODEL_LOADING_H_
#define STALLSCOPE_ANALYZER_MODEL_LOADING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/model/assembler.h"
#include "analyzer/model/run.h"
#include "analyzer/trace/reader.h"

namespace stallscope::model {

// An error that says what it is instead, where the file is no trace.
Result<trace::TraceReader> OpenTrace(const std::string& path);

// After each frame; an error ends the reading.
using AfterFrame = std::function<Status(const trace::TraceReader& reader)>;

// What the chunks that follow will bring.
Result<Expected> CountAll(trace::TraceReader& reader, const AfterFrame& after);
// Gives them to the assembler. How many could be read.
Result<uint64_t> DecodeAll(trace::TraceReader& reader, Assembler& assembler,
                           const AfterFrame& after);

// What the file is and what of it was lost, into the run that `chunks` chunks of it have made. An
// error where nothing of it can be used.
Result<Run> Described(Run run, const trace::TraceReader& reader, const std::string& path,
                      uint64_t chunks, const std::vector<std::string>& limit_warnings);

}  // namespace stallscope::model

#endif  // STALLSCOPE_ANALYZER_MODEL_LOADING_H_
