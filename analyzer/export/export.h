// A run as a file that other tools read.
//
// Text is generated and passed to the sink in pieces of 64 KiB, so memory does not grow with the
// output. Times are the trace's nanoseconds; where a format wants microseconds, they are exact
// decimals with three digits.
//  chrome  one JSON object of trace events, for Perfetto and chrome://tracing
//  csv     RFC 4180 with a header line; a name that a spreadsheet would take for a formula has a
//  "'"
//          in front ("=1+1" becomes "'=1+1"), control characters become '?', numbers are untouched
//  jsonl   one object per line; unknown values are null
// Any thread; the run must not change meanwhile.
#pragma once

#include <functional>
#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/model/run.h"

namespace stallscope::exporting {

enum class Format { kChrome, kCsv, kJsonl };

// kDefault: everything for chrome, spans for csv and jsonl, whose rows are all of one kind. Spans
// are spans, copies and kernels; counters are the sampled ones and the depths of the queues.
enum class What { kDefault, kSpans, kSteps, kCounters };

// How each step's time is partitioned: as in reports, or as in Kineto's overview
// (kineto_partition.h). The latter is for steps as csv or jsonl only.
enum class Partition { kStallscope, kKineto };

// Takes the next piece of the text. Its first error ends the export and is returned.
using Sink = std::function<Status(std::string_view)>;

Status Export(const model::Run& run, Format format, What what, Partition partition,
              const Sink& sink);
inline Status Export(const model::Run& run, Format format, What what, const Sink& sink) {
  return Export(run, format, what, Partition::kStallscope, sink);
}

}  // namespace stallscope::exporting
