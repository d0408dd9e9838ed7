// One pass over all spans: what each stage did on each track and in each step, and how that work
// divides into CPU time, waiting for a core, and being off the CPU for another reason. Any thread.
//
// Times are a span's own: what other spans inside it cover is theirs. All are cut to the window.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/attribution/histogram.h"
#include "analyzer/attribution/system_use.h"
#include "analyzer/attribution/track_view.h"

namespace stallscope::attribution {

// The counted steps of the lowest rank in buckets of one step each, or more if there are very many:
// busy times over them tell bursts from lasting need.
class StepBuckets {
 public:
  explicit StepBuckets(const std::vector<StepShare>& steps);
  size_t size() const { return ends_.size(); }
  size_t steps_per_bucket() const { return steps_per_bucket_; }
  // The first bucket that ends after `time_ns`, looked for from `hint` on.
  size_t Find(int64_t time_ns, size_t hint) const;
  size_t OfStep(size_t counted_step) const { return counted_step / steps_per_bucket_; }

 private:
  size_t steps_per_bucket_ = 1;
  std::vector<int64_t> ends_;
};

// What one track did for one stage.
struct TrackStage {
  int64_t own_ns = 0;  // work without what is inside it
  int64_t io_ns = 0;   // waits inside its work
  int64_t lock_ns = 0;
  int64_t measured_ns = 0;  // of the spans whose CPU time was taken, without the waits inside
  int64_t measured_cpu_ns = 0;
};

struct TrackUse {
  std::map<StageId, TrackStage> stages;  // None among them
  int64_t empty_ns = 0;
  int64_t full_ns = 0;
  int64_t gap_ns = 0;  // between its first and last span without any
};

// The spans of one op.
struct OpWork {
  uint64_t count = 0;
  int64_t own_ns = 0;
  int64_t whole_ns = 0;     // the ops inside included, and no waits
  int64_t measured_ns = 0;  // of the spans whose CPU time was taken
  int64_t measured_cpu_ns = 0;
};

// What a stage did in the threads of one stage.
struct StageWork {
  uint64_t bytes = 0;
  DurationHistogram service;              // of the spans that end in the window
  std::vector<int64_t> busy_by_bucket;    // own time and reads
  int64_t sampled_ns = 0;                 // of the spans whose ops were recorded
  std::map<trace::StringId, OpWork> ops;  // of this, in the ops that have a name
  void Merge(const StageWork& other);
};

struct SpanTotals {
  std::vector<TrackUse> tracks;
  // By the stage that the threads belong to, and the stage that the work was for.
  std::map<std::pair<StageId, StageId>, StageWork> work;
};

// Of no use once it is cancelled.
SpanTotals PassOverSpans(const std::vector<TrackView>& views, const Window& window,
                         const StepBuckets& buckets, unsigned threads, Cancel cancel = {});

// Threads of a job's loader may work ahead on what the trainer's own thread then completes. If that
// takes the trainer longer than its waits for them, and more CPU time than theirs, which would keep
// the interpreter from it, only its own work is left of the stage: nobody waits for theirs.
void LeaveOutWorkAhead(const model::Run& run, const std::vector<TrackView>& views,
                       SpanTotals& totals);

// Few batches of a job are looked into, and all of them may be outside of a short window: if the
// stage that loads most has no ops in it, those of the whole run stand for them.
void TakeOpsOfWholeRun(const model::Run& run, const std::vector<TrackView>& views, unsigned threads,
                       SpanTotals& totals, Cancel cancel = {});

struct Split {
  int64_t cpu_ns = 0;
  int64_t contention_ns = 0;
  int64_t blocked_ns = 0;
  int64_t unknown_ns = 0;
};

class WorkSplit {
 public:
  WorkSplit(const model::Run& run, const std::vector<TrackView>& views, const SpanTotals& totals,
            const std::vector<ThreadTime>& threads);

  // Of `ns` of the span's own time; the parts add up to it. A span with a measured CPU time is
  // divided by it, others like the measured ones of their stage on average, and without any by the
  // thread's CPU time over the window. Waits for a pool of the job's own that computes meanwhile
  // are CPU time.
  Split Of(const TrackView& view, size_t span, int64_t ns) const;
  // Of time between two spans, in which a thread only passes on what it made.
  Split OfGap(const TrackView& view, int64_t ns) const;
  // Of all that a stage did.
  Split OfStage(StageId stage) const;
  bool knows_contention() const { return knows_contention_; }

 private:
  Split Divide(int64_t ns, StageId stage, std::optional<double> cpu_fraction,
               double contention_share) const;
  void FindPools(const model::Run& run);
  std::optional<double> CpuFraction(StageId stage, TrackId track) const;

  const SpanTotals& totals_;
  std::map<StageId, double> cpu_fraction_;              // of own time, where it was measured
  std::map<StageId, double> pool_share_;                // of the rest: a pool computes
  std::vector<std::optional<double>> thread_fraction_;  // by track
  std::vector<double> contention_share_;                // by track, of its off-CPU work
  std::vector<double> gap_contention_share_;            // the same, of its time between spans
  bool knows_contention_ = false;
};

}  // namespace stallscope::attribution
