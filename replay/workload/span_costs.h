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
  std::vector<IdleEffect> idle;  // by stage; the items' costs are free of it
  // By stage: what its own threads did between two spans, each gap capped at 100 microseconds: a
  // longer one is a lost core.
  std::vector<double> gap_ns;
};

// How a stage's time off the CPU divides, and its time where no CPU was taken.
struct Shares {
  double cpu = 1;         // of own time
  double contention = 0;  // of own time off the CPU
};
Shares SharesOf(const attribution::StageUse& use);
// Of a span of so much time of its own; `cpu_ns` < 0: it was not taken.
Cost CostOf(double own_ns, double cpu_ns, double io_ns, const Shares& shares);

// Of the window; of a stage that did nothing in it, of the whole run. No more than the last
// `most` items of a stage.
SpanCosts CostsOfSpans(const model::Run& run, const attribution::Attribution& attribution,
                       size_t most);

}  // namespace stallscope::replay
