// What changes of the device's side do to a load. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_DEVICE_TIME_H_
#define STALLSCOPE_ANALYZER_FINDINGS_DEVICE_TIME_H_

#include "analyzer/findings/capacity.h"

namespace stallscope::findings {

// A category's exposed time, times the assumed size.
Effect WithExposedTimes(attribution::Category category, std::array<double, 3> sizes);

// Steps of `factor` times as many samples. What a step costs once stays, what a sample costs grows
// along.
Effect WithLargerBatch(const Case& c, StageId batch, double factor);

// What stays of the copies' time once they come from pinned memory: low, middle, high.
std::array<double, 3> LeftWhenPinned(const Case& c);

// Of the host-to-device copies of the whole trace.
struct CopiesToDevice {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t pageable = 0;  // thereof
  int64_t ns = 0;
};
CopiesToDevice CopiesOf(const Case& c);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_DEVICE_TIME_H_
