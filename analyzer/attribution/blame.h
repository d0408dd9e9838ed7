// Assigns every nanosecond of input stall to a stage and a cause. Any thread.
#pragma once

#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/blame_walk.h"
#include "analyzer/attribution/partition.h"
#include "analyzer/attribution/stage_work.h"
#include "analyzer/base/cancel.h"

namespace stallscope::attribution {

struct StallBlame {
  std::vector<Blame> blame;  // adds up to the partition's input stall; largest first
  std::vector<Straggler> stragglers;
};

// Everything that the blame is derived from; it must outlive the call only.
struct BlameInput {
  const model::Run& run;
  const Window& window;
  const Partition& partition;
  const std::vector<TrackView>& views;
  const SpanTotals& totals;
  const WorkSplit& split;
  const StepBuckets& buckets;
  const std::vector<bool>& serial;  // by stage
  double cores = 0;                 // that the run could use; 0: unknown
};
// Of no use once it is cancelled, and so are the next two.
StallBlame BlameStalls(const BlameInput& input, unsigned threads, Cancel cancel = {});

// The same per stall, without what no step explains.
std::vector<StallDetail> DetailStalls(const BlameInput& input, unsigned threads,
                                      Cancel cancel = {});
std::vector<ChainLink> ChainOfStall(const BlameInput& input, size_t step_row, unsigned threads,
                                    Cancel cancel = {});

}  // namespace stallscope::attribution
