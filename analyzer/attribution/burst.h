// Could the pipeline have kept up on average? Then only bursts emptied the queue, and a larger one
// would have helped. Any thread once it is made.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_BURST_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_BURST_H_

#include <vector>

#include "analyzer/attribution/partition.h"
#include "analyzer/attribution/span_pass.h"

namespace stallscope::attribution {

class Bursts {
 public:
  Bursts(const model::Run& run, const Partition& partition, const SpanTotals& totals,
         const StepBuckets& buckets);

  // Capacity over the 64 batches before and after a counted step (of its rank) is at least 1.05
  // times what the trainer would have taken without stalls.
  bool OnlyBursts(size_t counted_step) const;

 private:
  // By bucket.
  std::vector<double> demand_ns_;              // step time without input stall
  std::vector<std::vector<double>> needs_ns_;  // a group of threads or a stage: work / workers
  const StepBuckets& buckets_;
};

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_BURST_H_
