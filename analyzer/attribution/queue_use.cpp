#include "analyzer/attribution/queue_use.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "analyzer/attribution/merge_runs.h"
#include "analyzer/base/thread.h"

namespace stallscope::attribution {
namespace {

// Events are flushed a tenth of a second at a time, thread by thread: in the file an event stands
// some thousand others away from its place in time, at most. So a queue's events are put into order
// as they come, this many at a time, of which the later half waits for what may still come between.
constexpr size_t kPending = 65'536;
constexpr size_t kMostThreads = 4;

struct Depth {
  int64_t time_ns;
  uint32_t depth;
};

// No function pointer: it is called some hundred million times.
struct Before {
  bool operator()(const Depth& a, const Depth& b) const { return a.time_ns < b.time_ns; }
};

class DepthOverTime {
 public:
  // Events that are not `in_order`, as far as a file has one, are all kept until the end.
  DepthOverTime(const Window& window, uint64_t capacity, bool in_order = true)
      : window_(window),
        capacity_(capacity),
        most_pending_(in_order ? kPending : std::numeric_limits<size_t>::max()) {}

  // False where it is earlier than what has already been counted.
  bool Add(Depth event) {
    if (event.time_ns < counted_until_) return false;
    pending_.push_back(event);
    if (pending_.size() >= most_pending_) Count(pending_.size() / 2);
    return true;
  }
  void Finish(QueueUse& use) {
    Count(pending_.size());
    if (last_.has_value()) Lasts(*last_, window_.end_ns);
    if (seen_ns_ == 0) return;
    const auto whole = static_cast<double>(seen_ns_);
    use.mean = area_ / whole;
    use.empty = static_cast<double>(empty_ns_) / whole;
    if (capacity_ > 0) use.full = static_cast<double>(full_ns_) / whole;
  }

 private:
  void Count(size_t events) {
    if (events == 0) return;
    MergeRuns(pending_, Before());
    for (size_t i = 0; i < events; ++i) {
      if (last_.has_value()) Lasts(*last_, pending_[i].time_ns);
      last_ = pending_[i];
    }
    counted_until_ = last_->time_ns;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(events));
  }
  void Lasts(const Depth& depth, int64_t until_ns) {
    const int64_t ns =
        std::min(until_ns, window_.end_ns) - std::max(depth.time_ns, window_.start_ns);
    if (ns <= 0) return;
    seen_ns_ += ns;
    area_ += static_cast<double>(depth.depth) * static_cast<double>(ns);
    if (depth.depth == 0) empty_ns_ += ns;
    if (capacity_ > 0 && depth.depth >= capacity_) full_ns_ += ns;
  }

  Window window_;
  uint64_t capacity_;
  size_t most_pending_;
  std::vector<Depth> pending_;
  std::optional<Depth> last_;  // counted up to its time
  int64_t counted_until_ = std::numeric_limits<int64_t>::min();
  int64_t seen_ns_ = 0;
  int64_t empty_ns_ = 0;
  int64_t full_ns_ = 0;
  double area_ = 0;
};

// Of each `step`th queue from `first` on.
void MeasureSome(const model::Run& run, const Window& window, size_t first, size_t step,
                 std::vector<QueueUse>& uses) {
  std::vector<std::optional<DepthOverTime>> depths(run.queues.size());
  for (size_t q = first; q < depths.size(); q += step) {
    depths[q].emplace(window, run.queues[q].info.capacity);
  }
  std::vector<bool> disordered(depths.size());
  for (const trace::QueueEvent& event : run.rows.queue_events) {
    if (!event.queue.known()) continue;
    const size_t q = event.queue.value;
    if (!depths[q].has_value() || depths[q]->Add({event.time_ns, event.depth})) continue;
    disordered[q] = true;
    depths[q].reset();
  }
  if (std::find(disordered.begin(), disordered.end(), true) != disordered.end()) {
    for (size_t q = first; q < depths.size(); q += step) {
      if (disordered[q]) depths[q].emplace(window, run.queues[q].info.capacity, false);
    }
    for (const trace::QueueEvent& event : run.rows.queue_events) {
      if (!event.queue.known() || !disordered[event.queue.value]) continue;
      depths[event.queue.value]->Add({event.time_ns, event.depth});
    }
  }
  for (size_t q = first; q < depths.size(); q += step) depths[q]->Finish(uses[q]);
}

}  // namespace

std::vector<QueueUse> UseOfQueues(const model::Run& run, const Window& window, unsigned threads) {
  std::vector<QueueUse> uses(run.queues.size());
  for (size_t q = 0; q < uses.size(); ++q) {
    uses[q].queue = QueueId{static_cast<uint32_t>(q)};
    uses[q].capacity = run.queues[q].info.capacity;
  }
  if (window.ns() <= 0) return uses;
  // Each thread looks at all events, which is little beside putting its queues' into order.
  const size_t pieces = std::clamp<size_t>(threads, 1, kMostThreads);
  ForEachParallel(pieces, threads,
                  [&](size_t piece) { MeasureSome(run, window, piece, pieces, uses); });
  return uses;
}

}  // namespace stallscope::attribution
