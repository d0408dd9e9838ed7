// An endless stream of costs like the recorded ones: blocks of them, from random places. Private to
// the room.
//
// Blocks rather than single items keep what follows each other together: one slow element in 64
// stays one in 64, slow shards stay in a row. Streams with one seed draw the same places, so that
// an element that is large is so in each stage.
#ifndef STALLSCOPE_REPLAY_SIMULATE_COST_STREAM_H_
#define STALLSCOPE_REPLAY_SIMULATE_COST_STREAM_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analyzer/base/splitmix.h"
#include "replay/simulate/model_constants.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

class CostStream {
 public:
  // The costs must outlive it. Nothing costs nothing.
  CostStream(const std::vector<Cost>& costs, uint64_t seed)
      : costs_(costs.data()),
        size_(costs.size()),
        block_(std::max<uint64_t>(kLeastDrawBlock, costs.size() / kDrawBlocks)),
        random_(seed) {}

  Cost Next() {
    if (size_ == 0) return {};
    if (left_ == 0) Jump();
    --left_;
    const Cost cost = costs_[at_];
    if (++at_ == size_) at_ = 0;
    return cost;
  }

 private:
  void Jump() {
    left_ = block_;
    at_ = random_.Below(size_);
  }

  const Cost* costs_;
  uint64_t size_;
  uint64_t block_;
  uint64_t left_ = 0;
  uint64_t at_ = 0;
  SplitMix64 random_;
};

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SIMULATE_COST_STREAM_H_
