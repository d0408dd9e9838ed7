// Workers whose parts of a stream differ: the first have none left, and the loop waits for those
// that still have data. Private to the room; any thread.
//
// A DataLoader hands its requests to the workers in turn as long as each has data. So what one
// makes beyond what the others do, it makes after they have ended.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "analyzer/findings/findings.h"

namespace stallscope::findings {

struct UnequalShares {
  // Of the pass in which they differ most.
  size_t batches = 0;
  size_t most = 0;          // of one worker
  std::string_view worker;  // this one; lives as long as the run
  size_t behind = 0;        // after half of the workers, or more, had no data left
  double share = 0;         // of step time: waiting for the batches behind, in all passes
};

// Of the loader that `fetch` belongs to; nothing if they are alike, or no step waits for it.
std::optional<UnequalShares> UnequalSharesOf(const Case& c, StageId fetch);

}  // namespace stallscope::findings
