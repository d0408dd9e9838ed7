// Trace events in JSON: those of PyTorch's profiler (kineto.h), TensorFlow's trace.json and TF1's
// timelines (tensorflow.h), and anything else that chrome://tracing opens.
// analyzer/importers/README.md documents how events map to a run.
//
// Read front to back in windows of 256 KiB: memory is the run's and a few MiB. Any thread.
#pragma once

#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/model/run.h"

namespace stallscope::importers::chrome {

// Decides by the first bytes, for which ByteSource::head() suffices: JSON with events, or with the
// beginning of a head as profilers write it.
bool LooksLikeTraceEvents(std::string_view head);

// An error if there is not a single event or the file cannot be read. Whatever is broken, left out
// or unknown is in the run's quality and limits.
Result<model::Run> ReadTraceEvents(ByteSource& source);

}  // namespace stallscope::importers::chrome
