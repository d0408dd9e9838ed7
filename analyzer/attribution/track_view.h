// A track's spans by time: which span is innermost at an instant, without sorting.
//
// Spans of a track are in the order of their ends, so one that encloses others comes after them.
// One bit per span marks that no later one begins before its end: what was seen up to there is
// final. Any thread once it is made.
#pragma once

#include <algorithm>
#include <vector>

#include "analyzer/attribution/intervals.h"
#include "analyzer/base/cancel.h"
#include "analyzer/model/run.h"

namespace stallscope::attribution {

class TrackView {
 public:
  TrackView(const model::Run& run, const model::Track& track);

  const model::Track& track() const { return *track_; }
  const trace::SpanClass& ClassOf(size_t span) const { return run_->ClassOf(*track_, span); }
  // No span after this one begins before its end.
  bool Final(size_t span) const { return final_[span]; }
  Interval At(size_t span) const {
    return {track_->spans.start_ns[span], track_->spans.EndNs(span)};
  }
  // The first span that ends after `time_ns`.
  size_t FirstEndingAfter(int64_t time_ns) const;
  // False before its first span and behind its last one.
  bool LivesWithin(Interval range) const;
  // The stage of a span: of a wait inside work that work's, otherwise the track's.
  StageId StageOf(size_t span) const;

  // Calls span(index, part) for the parts of `range` in which a span is innermost, and gap(next,
  // part) for those that no span covers, with the index of the span after them. Parts come in no
  // particular order; they add up to the range.
  template <class Span, class Gap>
  void Walk(Interval range, Span&& span, Gap&& gap) const;

 private:
  const model::Run* run_;
  const model::Track* track_;
  size_t count_ = 0;  // of the spans that are read: none on a detail track, which has many
  std::vector<bool> final_;
  std::vector<int64_t> block_ends_;  // of the last span per block: an index that stays in cache
};

template <class Span, class Gap>
void TrackView::Walk(Interval range, Span&& span, Gap&& gap) const {
  if (range.start_ns >= range.end_ns) return;
  Intervals open = {range};
  const size_t count = count_;
  for (size_t i = FirstEndingAfter(range.start_ns); i < count && !open.empty(); ++i) {
    const Interval at = At(i);
    if (open.size() == 1 && final_[i]) {  // nearly always: nothing is nested
      Interval& rest = open.front();
      const Interval part{std::max(at.start_ns, rest.start_ns), std::min(at.end_ns, rest.end_ns)};
      if (part.ns() > 0) span(i, part);
      const int64_t covered = std::max(part.start_ns, part.end_ns);
      const Interval before{rest.start_ns,
                            std::min(std::max(part.start_ns, rest.start_ns), rest.end_ns)};
      if (before.ns() > 0) {
        // What was nested in this span comes before it in the table, and after the gap in time.
        gap(i > 0 && !final_[i - 1] ? FirstEndingAfter(before.start_ns) : i, before);
      }
      rest.start_ns = std::max(rest.start_ns, covered);
      if (rest.ns() <= 0) return;
      continue;
    }
    if (at.start_ns < range.end_ns && at.ns() > 0) {
      for (const Interval& part : Intersect(open, at)) span(i, part);
      open = Subtract(open, at);
    }
    if (!final_[i]) continue;
    if (at.end_ns >= range.end_ns) break;
    size_t closed = 0;
    for (; closed < open.size() && open[closed].end_ns <= at.end_ns; ++closed) {
      gap(FirstEndingAfter(open[closed].start_ns), open[closed]);
    }
    open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(closed));
  }
  for (const Interval& part : open) gap(FirstEndingAfter(part.start_ns), part);
}

// So many spans are looked at between two questions whether anybody still waits: a millisecond or
// less.
constexpr size_t kAskEvery = size_t{1} << 16;

// None where it was cancelled.
std::vector<TrackView> ViewTracks(const model::Run& run, unsigned threads, Cancel cancel = {});

}  // namespace stallscope::attribution
