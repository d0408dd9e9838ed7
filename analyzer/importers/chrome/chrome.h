// Trace events in JSON: what PyTorch's profiler writes (Kineto, every dialect since 2021),
// TensorFlow's trace.json, TF1's timelines, and anything else that chrome://tracing opens.
// README.md of analyzer/importers says what becomes of their events.
//
// Read front to back in windows of 256 KiB: memory is the run's and a few MiB. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_CHROME_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_CHROME_H_

#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/model/run.h"

namespace stallscope::importers::chrome {

// By the first bytes, for which ByteSource::head() is enough: JSON with events, or with the
// beginning of a head such as profilers write before them.
bool LooksLikeTraceEvents(std::string_view head);

// An error where there is not one event, or the file cannot be read. What is broken, left out or
// not known is in the run's quality and limits.
Result<model::Run> ReadTraceEvents(ByteSource& source);

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_CHROME_H_
