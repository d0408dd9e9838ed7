// Trace events as Chrome's tracing and Perfetto read them: one process for the host and one per
// device (of each rank), one thread per track. Work, waits, copies, kernels and steps are complete
// events ("X"); events that overlap on one track go to an additional thread, because the events of
// one thread must nest. Times are the trace's own, not shifted to 0.
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/export/export.h"
#include "analyzer/export/text_sink.h"
#include "analyzer/model/run.h"

namespace stallscope::exporting {

Status WriteChrome(const model::Run& run, What what, TextSink& sink);

}  // namespace stallscope::exporting
