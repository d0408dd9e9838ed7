// What the spans of a run say each item cost each stage. Private to the room; any thread.
#pragma once

#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/run.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

struct SpanCosts {
  // By stage of the run, in the order of the spans' starts.
  std::vector<std::vector<Cost>> items;
  // By stage: what its own threads did between two spans, each gap capped at 100 microseconds: a
  // longer one is a lost core.
  std::vector<double> gap_ns;
};

// Of the window; of a stage that did nothing in it, of the whole run. No more than the last
// `most` items of a stage.
SpanCosts CostsOfSpans(const model::Run& run, const attribution::Attribution& attribution,
                       size_t most);

}  // namespace stallscope::replay
