// What changes do to a load: more workers, less work, batches made ahead, a faster link. Private to
// the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_EFFECTS_H_
#define STALLSCOPE_ANALYZER_FINDINGS_EFFECTS_H_

#include <cstdint>

#include "analyzer/findings/capacity.h"
#include "analyzer/findings/spec_view.h"

namespace stallscope::findings {

// So many that the stage keeps up with the trainer, at least one more than it has, at most `most`.
// Work that burns a core is not worth more workers than there are cores. One more than now where
// the run does not tell.
int64_t WorkersFor(const Load* load, StageId stage, int64_t now, int64_t most);

// The stage with so many workers, in threads of its own.
Effect WithWorkers(StageId stage, int64_t workers);
// The stage's time for an item times the assumed size, its CPU too.
Effect WithTimeTimes(StageId stage, const Assumed& sizes);
// A map that saves so many of the passes over its values that each of its ops is taken for.
Effect WithFewerPasses(StageId stage, const MapSpec& map, const Assumed& passes);

// Everything works in threads of its own from here on, with so many batches between it and the
// trainer.
void PrepareAhead(Load& load, int64_t batches);

// A category's exposed time, times the assumed size.
Effect WithExposedTimes(attribution::Category category, const Assumed& sizes);

// Steps of `factor` times as many samples. What a step costs once stays, what a sample costs grows
// along.
Effect WithLargerBatch(const Case& c, StageId batch, double factor);

// What stays of the copies' time once they come from pinned memory: low, middle, high.
Assumed LeftWhenPinned(const Case& c);

// Of the host-to-device copies of the whole trace.
struct CopiesToDevice {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t pageable = 0;  // thereof
  int64_t ns = 0;
};
CopiesToDevice CopiesOf(const Case& c);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_EFFECTS_H_
