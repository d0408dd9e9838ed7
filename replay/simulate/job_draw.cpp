#include "replay/simulate/job_draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyzer/base/splitmix.h"

namespace stallscope::replay {

JobDraw::JobDraw(const JobCosts& costs, uint32_t workers, uint64_t seed) : costs_(costs) {
  if (seed != 1) shift_ = SplitMix(seed) % costs_.batches.size();
  if (!costs_.loader.iterable || costs_.loader.num_workers != workers || workers == 0) return;
  of_worker_.resize(workers);
  for (size_t i = 0; i < costs_.batches.size(); ++i) {
    const uint32_t worker = costs_.batches[i].worker;
    if (worker < of_worker_.size()) of_worker_[worker].push_back(i);
  }
}

const BatchCost& JobDraw::Batch(uint64_t number) const {
  const uint64_t count = costs_.batches.size();
  return costs_.batches[(number + count - costs_.first % count + shift_) % count];
}

const BatchCost& JobDraw::BatchOf(uint32_t worker, uint64_t produced, uint64_t number) const {
  if (of_worker_.empty() || of_worker_[worker].empty()) return Batch(number);
  const auto& own = of_worker_[worker];
  return costs_.batches[own[(produced + shift_) % own.size()]];
}

bool JobDraw::ShareEnds(uint32_t worker, uint64_t produced) const {
  return !of_worker_.empty() && worker < costs_.shards.size() && produced >= costs_.shards[worker];
}

uint64_t JobDraw::LengthOfPass(uint64_t pass, double samples_scale) const {
  const bool by_shards = !of_worker_.empty() && !costs_.shards.empty();
  if (costs_.passes.empty() || by_shards) return std::numeric_limits<uint64_t>::max();
  const uint64_t recorded = costs_.passes[std::min<size_t>(pass, costs_.passes.size() - 1)];
  const double length = static_cast<double>(recorded) / samples_scale;
  return static_cast<uint64_t>(std::max(1.0, std::ceil(length)));
}

}  // namespace stallscope::replay
