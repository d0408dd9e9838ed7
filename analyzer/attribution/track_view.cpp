#include "analyzer/attribution/track_view.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "analyzer/base/thread.h"

namespace stallscope::attribution {
namespace {

constexpr size_t kBlock = 64;

}  // namespace

TrackView::TrackView(const model::Run& run, const model::Track& track)
    : run_(&run),
      track_(&track),
      count_(track.info.kind == trace::TrackKind::kDetail ? 0 : track.spans.size()),
      final_(count_) {
  int64_t first_start_after = std::numeric_limits<int64_t>::max();
  for (size_t i = count_; i-- > 0;) {
    final_[i] = first_start_after >= track.spans.EndNs(i);
    first_start_after = std::min(first_start_after, track.spans.start_ns[i]);
  }
  block_ends_.reserve(count_ / kBlock);
  for (size_t last = kBlock - 1; last < count_; last += kBlock) {
    block_ends_.push_back(track.spans.EndNs(last));
  }
}

size_t TrackView::FirstEndingAfter(int64_t time_ns) const {
  const auto block = std::upper_bound(block_ends_.begin(), block_ends_.end(), time_ns);
  size_t low = static_cast<size_t>(block - block_ends_.begin()) * kBlock;
  size_t high = std::min(low + kBlock, count_);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (track_->spans.EndNs(middle) > time_ns) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

bool TrackView::LivesWithin(Interval range) const {
  return FirstEndingAfter(range.start_ns) < count_ && track_->spans.start_ns[0] < range.end_ns;
}

StageId TrackView::StageOf(size_t span) const {
  const trace::SpanClass& mine = ClassOf(span);
  if (mine.kind == trace::SpanKind::kWork) return mine.stage;
  const int64_t start = track_->spans.start_ns[span];
  for (size_t i = span; !final_[i] && i + 1 < count_;) {
    ++i;
    const trace::SpanClass& outer = ClassOf(i);
    if (outer.kind == trace::SpanKind::kWork && track_->spans.start_ns[i] <= start) {
      return outer.stage;
    }
  }
  return mine.stage.known() ? mine.stage : track_->info.stage;
}

std::vector<TrackView> ViewTracks(const model::Run& run, unsigned threads, Cancel cancel) {
  std::vector<std::optional<TrackView>> made(run.tracks.size());
  ForEachParallel(run.tracks.size(), threads, [&](size_t i) {
    if (!cancel.requested()) made[i].emplace(run, run.tracks[i]);
  });
  if (cancel.requested()) return {};
  std::vector<TrackView> views;
  views.reserve(made.size());
  for (auto& view : made) views.push_back(std::move(*view));
  return views;
}

}  // namespace stallscope::attribution
