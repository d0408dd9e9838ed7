// A DataLoader's workers that are shut down after each epoch and restarted for the next one, in a
// trace that does not show the workers. Private to the room; any thread.
//
// No operation of a step runs between the fetch that finds the end of an epoch and the first fetch
// of the next one. If the workers stay, the former returns at once (10 to 18 us with two of them,
// as sample_traces/recorders/pytorch_epochs.py records it); otherwise it waits for them to end (23
// to 57 ms if forked, 0.6 s or more if spawned). The latter is long either way, because the queue
// was empty. So both must be far longer than other fetches.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/findings/findings.h"

namespace stallscope::findings {

// From the fetch that finds the end of an epoch to the end of the next fetch.
struct Restart {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t shut_down_ns = 0;  // the first fetch
  int64_t first_ns = 0;      // the second one
};

struct Restarts {
  std::vector<Restart> all;  // in the window, longest first; none if most epochs have none
  double fetch_ns = 0;       // the median of the loader's fetches
  double share = 0;          // of step time
  double waited = 0;         // of this, the fetches alone
};
Restarts RestartsOf(const Case& c, StageId loader);

}  // namespace stallscope::findings
