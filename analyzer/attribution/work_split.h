// How a stretch of work divides into CPU, waiting for a core, and being off the CPU for a reason of
// its own. Any thread once it is made.
#ifndef STALLSCOPE_ANALYZER_ATTRIBUTION_WORK_SPLIT_H_
#define STALLSCOPE_ANALYZER_ATTRIBUTION_WORK_SPLIT_H_

#include <map>
#include <optional>
#include <vector>

#include "analyzer/attribution/span_pass.h"
#include "analyzer/attribution/thread_rates.h"

namespace stallscope::attribution {

struct Split {
  int64_t cpu_ns = 0;
  int64_t contention_ns = 0;
  int64_t blocked_ns = 0;
  int64_t unknown_ns = 0;
};

class WorkSplit {
 public:
  WorkSplit(const std::vector<TrackView>& views, const SpanTotals& totals,
            const std::vector<ThreadRate>& rates, const Window& window);

  // Of `ns` of the span's own time; the parts add up to it. A span whose CPU time was taken tells
  // for itself, others as the measured ones of their stage on average; where none was, the thread's
  // own CPU time over the window tells.
  Split Of(const TrackView& view, size_t span, int64_t ns) const;
  // Of time between two spans, in which a thread only hands on what it made.
  Split OfGap(const TrackView& view, int64_t ns) const;
  // Of all that a stage did.
  Split OfStage(StageId stage) const;
  bool knows_contention() const { return knows_contention_; }

 private:
  static Split Divide(int64_t ns, std::optional<double> cpu_fraction, double contention_share);
  std::optional<double> CpuFraction(StageId stage, TrackId track) const;

  const SpanTotals& totals_;
  std::map<StageId, double> cpu_fraction_;              // of own time, where it was measured
  std::vector<std::optional<double>> thread_fraction_;  // by track
  std::vector<double> contention_share_;                // by track, of its time off the CPU
  bool knows_contention_ = false;
};

}  // namespace stallscope::attribution

#endif  // STALLSCOPE_ANALYZER_ATTRIBUTION_WORK_SPLIT_H_
