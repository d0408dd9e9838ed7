// What csv and jsonl hold: one kind of record each.
#pragma once

#include "analyzer/base/result.h"
#include "analyzer/export/record_writer.h"
#include "analyzer/model/run.h"

namespace stallscope::exporting {

// Spans track by track, then copies, then kernels.
Status WriteSpanRecords(const model::Run& run, RecordWriter& writer);
// One per step: step,start_ns,end_ns, then <category>_ns for each category of the breakdown.
Status WriteStepRecords(const model::Run& run, RecordWriter& writer);
// One per step: step, then <role>_ns for each role of Kineto's (kineto_partition.h).
Status WriteKinetoStepRecords(const model::Run& run, RecordWriter& writer);
// One per value: sampled counters, then the depth of a queue after each push and pop.
Status WriteCounterRecords(const model::Run& run, RecordWriter& writer);

}  // namespace stallscope::exporting
