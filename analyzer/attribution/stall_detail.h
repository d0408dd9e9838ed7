// Single stalls: what each was blamed on, and the chain of threads that led there. For whoever
// draws them; the sums are Attribution::blame. Any thread.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_STALL_DETAIL_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_STALL_DETAIL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/attribution/attribution.h"

namespace stallscope::attribution {

// The time of one step on one device that went to one stage and cause.
struct StallDetail {
  size_t step_row = 0;  // of Run::rows.steps
  uint32_t rank = 0;
  uint32_t device = 0;
  int64_t start_ns = 0;  // of the step's stall, whose pieces may lie apart
  int64_t end_ns = 0;
  StageId stage;
  Cause cause = Cause::kUnknown;
  int64_t ns = 0;
};

// One link of the chain: from `start_ns` to `end_ns` the stall was explained by what this track
// did. Depth 0 is the awaited batch's own way and its consumer; a track that another one waited for
// is one deeper.
struct ChainLink {
  TrackId track;
  StageId stage;
  Cause cause = Cause::kUnknown;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int depth = 0;
};

// In the order of the steps. Summed by stage and cause they are the blame of one device, and of
// several the blame before their mean is taken.
std::vector<StallDetail> StallDetails(const model::Run& run, unsigned threads = 2);

// How the stall of one step was explained, by start; empty where it had none. Workers that share a
// stretch each have their link.
std::vector<ChainLink> ExplainStall(const model::Run& run, size_t step_row, unsigned threads = 2);

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_STALL_DETAIL_H_
