// The steps of a foreign run: as the file marks them, else from the trainer's waits for a batch,
// else from the rhythm of its kernels. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_STEP_MARKS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_STEP_MARKS_H_

#include <cstdint>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::importers {

// A stretch of the file that it says is a step.
struct StepMark {
  uint64_t index = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // the host's; the device may end later
  TrackId track;       // the trainer's thread track; None where the file does not tell
  uint32_t samples = 0;
};

enum class StepsFrom : uint8_t { kMarks, kBatchWaits, kKernelRhythm, kNowhere };

// Fills run.rows.steps, in time order, and adds to run.info.limits what is not known of them. The
// run's spans must be in order already.
//  - requested_ns is where the step begins: its mark's start, so that each step lasts to the next
//    one's beginning. Marks of the same index and overlapping ones count once.
//  - received_ns is the end of the first wait for a batch that begins in it; the beginning where
//    there is none.
//  - issued_ns is the last launch in it, device_done_ns the end of the last device work that was
//    launched in it. Both are the mark's end where the device did nothing, and the last step lasts
//    at least to its mark's end.
StepsFrom AddSteps(std::vector<StepMark> marks, model::Run& run);

// Where the trainer waited for a batch, by time: the waits of activity kLoader.
std::vector<StepMark> BatchWaits(const model::Run& run);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_STEP_MARKS_H_
