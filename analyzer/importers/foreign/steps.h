// The steps of a foreign run: as the file marks them, else from the trainer's waits for a batch,
// else from the rhythm of its kernels. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::importers {

// A stretch of time that the file marks as a step.
struct StepMark {
  uint64_t index = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // the host's; the device may end later
  TrackId track;       // the trainer's thread track; None if the file does not say
  uint32_t samples = 0;
};

enum class StepsFrom : uint8_t { kMarks, kBatchWaits, kKernelRhythm, kNowhere };

// Fills run.rows.steps in time order, and adds what is unknown about them to run.info.limits. The
// run's spans must be in order already.
//  - requested_ns is the start of the step's mark, so that each step lasts until the next one
//    begins. Marks of the same index and overlapping ones count once.
//  - received_ns is the end of the first wait for a batch that begins in the step, or the step's
//    start if there is none.
//  - issued_ns is the last launch in the step, device_done_ns the end of the last device work
//    launched in it. Both are the mark's end if the device was idle, and the last step lasts at
//    least to its mark's end.
StepsFrom AddSteps(std::vector<StepMark> marks, model::Run& run);

// When the trainer waited for a batch, by time: the waits of activity kLoader.
std::vector<StepMark> BatchWaits(const model::Run& run);

// Steps that nothing marks: a training loop launches the same kernels over and over.
struct Rhythm {
  trace::StringId kernel;          // the first of each round
  std::vector<int64_t> starts_ns;  // of each round: its launch if that is known
};

// Nothing if fewer than three rounds repeat, or if they repeat unevenly: most kernels' names must
// occur once per round or a multiple of that (approximately so with eight rounds or more, since a
// recording may be cut out of a run), and no round may hold more than 1.5 times the median number
// of kernels.
std::optional<Rhythm> FindRhythm(const model::Run& run);

}  // namespace stallscope::importers
