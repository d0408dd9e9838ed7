#include "analyzer/importers/nsys/marked_ranges.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analyzer/importers/nsys/range_names.h"

namespace stallscope::importers::nsys {
namespace {

constexpr size_t kLeastSteps = 3;
// A program that marks more kinds of work than these in its workers marks items, not stages.
constexpr size_t kMostStages = 64;

bool IsLess(const Range& a, const Range& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
}

class Marks {
 public:
  Marks(MarkedRanges& marked, RunBuilder& builder) : marked_(marked), builder_(builder) {}

  MarksSeen Run() {
    for (MarkedThread& thread : marked_.threads) {
      std::stable_sort(thread.ranges.begin(), thread.ranges.end(), IsLess);
    }
    MarksSeen seen;
    FindSteps();
    const size_t trainer = step_thread_ ? *step_thread_ : ThreadOfLoader();
    if (trainer == marked_.threads.size()) return seen;
    trainer_stage_ = builder_.Stage("trainer", "trainer", 1);
    const TrackId track = MakeTrack(marked_.threads[trainer], trainer_stage_);
    if (step_thread_) seen.steps = Steps(track);
    seen.loader = AddFetches(marked_.threads[trainer], track);
    if (!seen.loader) return seen;
    for (size_t i = 0; i < marked_.threads.size(); ++i) {
      if (i != trainer) AddWorker(marked_.threads[i]);
    }
    return seen;
  }

 private:
  TrackId MakeTrack(const MarkedThread& thread, StageId stage) {
    trace::TrackInfo info;
    info.name = thread.name;
    info.thread = thread.number;
    info.stage = stage;
    return builder_.Track(info);
  }

  // Whose text is the surest sign; of several threads the one that marks most.
  void FindSteps() {
    int best_rank = 0;
    size_t most = 0;
    for (size_t t = 0; t < marked_.threads.size(); ++t) {
      std::map<uint32_t, size_t> counts;
      for (const Range& range : marked_.threads[t].ranges) ++counts[range.key];
      for (const auto& [key, count] : counts) {
        const int rank = StepRank(marked_.keys[key]);
        if (rank == 0 || count < kLeastSteps) continue;
        if (rank < best_rank || (rank == best_rank && count <= most)) continue;
        best_rank = rank;
        most = count;
        step_thread_ = t;
        step_key_ = key;
      }
    }
  }

  size_t ThreadOfLoader() const {
    size_t best = marked_.threads.size();
    size_t most = kLeastSteps - 1;
    for (size_t t = 0; t < marked_.threads.size(); ++t) {
      const auto& ranges = marked_.threads[t].ranges;
      const auto count =
          static_cast<size_t>(std::count_if(ranges.begin(), ranges.end(), [&](const Range& range) {
            return IsLoader(marked_.keys[range.key]);
          }));
      if (!marked_.threads[t].launches || count <= most) continue;
      most = count;
      best = t;
    }
    return best;
  }

  std::vector<StepMark> Steps(TrackId track) const {
    std::vector<StepMark> steps;
    int64_t until = INT64_MIN;
    for (const Range& range : marked_.threads[*step_thread_].ranges) {
      if (range.key != step_key_ || range.start_ns < until) continue;
      until = range.end_ns;
      StepMark mark;
      mark.index = range.number.value_or(steps.size());
      mark.start_ns = range.start_ns;
      mark.end_ns = range.end_ns;
      mark.track = track;
      steps.push_back(mark);
    }
    return steps;
  }

  uint16_t WorkOf(StageId stage) {
    trace::SpanClass what;
    what.stage = stage;
    return builder_.Class(what);
  }

  bool AddFetches(const MarkedThread& thread, TrackId track) {
    bool any = false;
    int64_t until = INT64_MIN;
    for (size_t i = 0; i < thread.ranges.size(); ++i) {
      const Range& range = thread.ranges[i];
      if (range.start_ns < until || !IsLoader(marked_.keys[range.key])) continue;
      until = range.end_ns;
      any = true;
      loader_ = builder_.Stage(marked_.texts[range.key], "loader", 1);
      builder_.Connect(loader_, trainer_stage_);
      size_t inside = i + 1;
      while (inside < thread.ranges.size() && thread.ranges[inside].start_ns < range.end_ns) {
        ++inside;
      }
      builder_.AddBatchWait(track, loader_, range.start_ns, range.end_ns, inside > i + 1);
      for (size_t j = i + 1; j < inside; ++j) AddWork(thread.ranges[j], track);
    }
    return any;
  }

  void AddWork(const Range& range, TrackId track) {
    stages_.insert(range.key);
    const StageId stage = builder_.Stage(marked_.texts[range.key], marked_.keys[range.key], 1);
    builder_.Connect(stage, loader_);
    builder_.AddSpan(track, WorkOf(stage), range.start_ns, range.end_ns);
  }

  void AddWorker(const MarkedThread& thread) {
    if (thread.launches || thread.ranges.empty() || stages_.size() > kMostStages) return;
    std::set<uint32_t> keys = stages_;
    for (const Range& range : thread.ranges) {
      keys.insert(range.key);
      if (keys.size() > kMostStages) return;
    }
    const TrackId track = MakeTrack(thread, loader_);
    for (const Range& range : thread.ranges) AddWork(range, track);
    for (const SystemWait& wait : thread.waits) {
      trace::SpanClass what;
      what.kind = trace::SpanKind::kWait;
      what.cause = wait.cause;
      builder_.AddSpan(track, builder_.Class(what), wait.start_ns, wait.end_ns);
    }
  }

  MarkedRanges& marked_;
  RunBuilder& builder_;
  std::optional<size_t> step_thread_;
  uint32_t step_key_ = 0;
  StageId trainer_stage_;
  StageId loader_;
  std::set<uint32_t> stages_;  // by key
};

}  // namespace

MarksSeen AddMarkedRanges(MarkedRanges& marked, RunBuilder& builder) {
  return Marks(marked, builder).Run();
}

}  // namespace stallscope::importers::nsys
