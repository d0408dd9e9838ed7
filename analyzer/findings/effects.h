// What changes do to a load: more workers, less work, batches made ahead, a faster link. Private to
// the room; any thread.
#pragma once

#include <cstdint>

#include "analyzer/findings/capacity.h"
#include "analyzer/findings/spec_view.h"

namespace stallscope::findings {

// Enough for the stage to keep up with the trainer: at least one more than it has, at most `most`.
// CPU work, or work that may be, gets no more workers than the machine has cores: `now` if it
// already has that many. `now` + 1 if the run does not show how many are needed.
int64_t WorkersFor(const Load* load, StageId stage, int64_t now, int64_t most);
// Where nothing loads ahead, and a step waits for this part of its time: enough to load a batch
// within the rest of a step, and one to spare.
int64_t WorkersToHide(double share);

// The stage with this many workers, in its own threads.
Effect WithWorkers(StageId stage, int64_t workers);
// The stage's time per item times the assumed size, its CPU time too.
Effect WithTimeTimes(StageId stage, const Assumed& sizes);

// Everything so far runs in its own threads, with this many batches between it and the trainer.
void PrepareAhead(Load& load, int64_t batches);

// A category's exposed time, times the assumed size.
Effect WithExposedTimes(attribution::Category category, const Assumed& sizes);

// Steps of `factor` times as many samples: what a step costs once stays, what a sample costs grows
// with them. `fewer`: by this factor fewer of them make an update, so that each bears more of it.
Effect WithLargerBatch(const Case& c, StageId batch, double factor, double fewer = 1);

// Of a step's compute, the part that takes as long for any batch: an emulated device defines it,
// and of a real one it is unknown, 0.
double FixedPartOfCompute(const Case& c);

// The share of the copies' time that is latency: an emulated link defines it, that of a real one is
// estimated from the size of its copies. 0 without copies.
double LatencyPartOfCopies(const Case& c);

// What pinned memory leaves of the copies' time.
Assumed LeftWhenPinned(const Case& c);

// Of the host-to-device copies of the whole trace.
struct CopiesToDevice {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t pageable = 0;  // of these
  uint64_t pinned = 0;    // of these; the memory of the rest is unknown
  int64_t ns = 0;
};
CopiesToDevice CopiesOf(const Case& c);

}  // namespace stallscope::findings
