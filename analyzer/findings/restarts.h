// Workers of a DataLoader that are shut down at each epoch's end and started anew for the next one,
// as a trace shows them that does not show the workers. Private to the room; any thread.
//
// The fetch that finds an epoch's end and the next epoch's first one follow each other without an
// operation of a step between them. With workers that stay, the former is over at once (10 to 18 us
// with two of them, as sample_traces/recorders/pytorch_epochs.py records it); else it waits until
// they have ended (23 to 57 ms where they were forked, 0.6 s and more where they were spawned). The
// latter is long either way: the queue was empty. So both must be far longer than other fetches
// are.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_RESTARTS_H_
#define STALLSCOPE_ANALYZER_FINDINGS_RESTARTS_H_

#include <cstdint>
#include <vector>

#include "analyzer/findings/findings.h"

namespace stallscope::findings {

// From the fetch that finds an epoch's end to the end of the next one.
struct Restart {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t shut_down_ns = 0;  // of the first fetch
  int64_t first_ns = 0;      // of the second one
};

struct Restarts {
  std::vector<Restart> all;  // of the window, longest first; none where most epochs have none
  double fetch_ns = 0;       // the median of the loader's fetches
  double share = 0;          // of step time
  double waited = 0;         // of this, the fetches alone
};
Restarts RestartsOf(const Case& c, StageId loader);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_RESTARTS_H_
