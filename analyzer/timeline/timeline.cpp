#include "analyzer/timeline/timeline.h"

#include <algorithm>

#include "analyzer/timeline/innermost.h"

namespace stallscope::timeline {
namespace {

// A product of two 63-bit numbers: nanoseconds times columns. __extension__ keeps -Wpedantic quiet.
__extension__ using Wide = __int128;

// Adds up intervals. Column k is [start + k x length / columns, start + (k + 1) x length /
// columns), in whole numbers, so that every nanosecond of the range lies in exactly one column.
//
// An interval over many columns is two differences and not a loop over them: the cost of Add does
// not depend on the interval's length.
class Columns {
 public:
  Columns(model::TimeRange range, size_t columns);

  // Cut to the range. Intervals must not overlap, or their sum counts twice.
  void Add(int64_t start_ns, int64_t end_ns);
  // The sums as fractions of the columns' widths times `share` (workers, say).
  std::vector<float> Fractions(size_t share = 1) const;

  bool empty() const { return columns_ == 0 || range_.end_ns <= range_.start_ns; }
  const model::TimeRange& range() const { return range_; }

 private:
  int64_t BeginOf(size_t column) const;
  size_t ColumnOf(int64_t time_ns) const;

  model::TimeRange range_;
  size_t columns_;
  std::vector<int64_t> partial_;  // nanoseconds of columns that are not wholly covered
  std::vector<int64_t> whole_;    // differences: how many intervals cover the column wholly
  // The column that the interval before ended in: most of a million begin there, too, and then
  // none of Add's divisions are needed.
  size_t last_ = 0;
  int64_t last_begin_ = 0;
  int64_t last_end_ = 0;  // as last_begin_: none yet
};

Columns::Columns(model::TimeRange range, size_t columns)
    : range_(range), columns_(columns), partial_(columns), whole_(columns + 1) {}

int64_t Columns::BeginOf(size_t column) const {
  const Wide length = Wide{range_.end_ns} - range_.start_ns;
  return static_cast<int64_t>(range_.start_ns +
                              length * static_cast<Wide>(column) / static_cast<Wide>(columns_));
}

// The last column that begins at or before the time.
size_t Columns::ColumnOf(int64_t time_ns) const {
  const Wide length = Wide{range_.end_ns} - range_.start_ns;
  const Wide offset = Wide{time_ns} - range_.start_ns;
  auto column = static_cast<size_t>(offset * static_cast<Wide>(columns_) / length);
  column = std::min(column, columns_ - 1);
  // Columns begin at rounded-down places; where there are more columns than nanoseconds several
  // begin at the same one, and the last of them has the nanosecond.
  while (column + 1 < columns_ && BeginOf(column + 1) <= time_ns) ++column;
  return column;
}

void Columns::Add(int64_t start_ns, int64_t end_ns) {
  start_ns = std::max(start_ns, range_.start_ns);
  end_ns = std::min(end_ns, range_.end_ns);
  if (empty() || start_ns >= end_ns) return;
  if (start_ns >= last_begin_ && end_ns <= last_end_) {
    partial_[last_] += end_ns - start_ns;
    return;
  }
  const size_t first = ColumnOf(start_ns);
  const size_t last = ColumnOf(end_ns - 1);
  last_ = last;
  last_begin_ = BeginOf(last);
  last_end_ = BeginOf(last + 1);
  if (first == last) {
    partial_[first] += end_ns - start_ns;
    return;
  }
  partial_[first] += BeginOf(first + 1) - start_ns;
  partial_[last] += end_ns - last_begin_;
  ++whole_[first + 1];
  --whole_[last];
}

std::vector<float> Columns::Fractions(size_t share) const {
  std::vector<float> fractions(columns_);
  if (empty() || share == 0) return fractions;
  int64_t covered = 0;
  for (size_t i = 0; i < columns_; ++i) {
    covered += whole_[i];
    const int64_t width = BeginOf(i + 1) - BeginOf(i);
    // A column without a nanosecond of its own shows the one that it is in: its neighbor's.
    if (width == 0) continue;
    const double filled = static_cast<double>(partial_[i]) / static_cast<double>(width) +
                          static_cast<double>(covered);
    fractions[i] = static_cast<float>(filled / static_cast<double>(share));
  }
  // More columns than nanoseconds: the empty ones lie in front of the one that has the nanosecond.
  for (size_t i = columns_ - 1; i-- > 0;) {
    if (BeginOf(i + 1) == BeginOf(i)) fractions[i] = fractions[i + 1];
  }
  return fractions;
}

// --- Lanes of stages ---

enum Layer : size_t { kWork, kEmpty, kFull, kWait, kLayers };

size_t LayerOf(const trace::SpanClass& span_class) {
  if (span_class.kind == trace::SpanKind::kWork) return kWork;
  if (span_class.cause == trace::WaitCause::kEmpty) return kEmpty;
  if (span_class.cause == trace::WaitCause::kFull) return kFull;
  return kWait;
}

// What is added up for one stage.
struct Sums {
  std::vector<Columns> layers;
  size_t own_tracks = 0;
  size_t lent_tracks = 0;  // of other stages, whose threads do this stage's work
  bool on_this_track = false;
};

// By stage.
std::vector<Sums> SumsOf(const model::Run& run, model::TimeRange range, size_t columns) {
  std::vector<Sums> sums(run.stages.size());
  for (Sums& stage : sums) stage.layers.assign(kLayers, Columns(range, columns));
  for (const model::Track& track : run.tracks) {
    if (track.info.kind == trace::TrackKind::kDetail) continue;
    const StageId owner = track.info.stage;
    Innermost innermost;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& span_class = run.ClassOf(track, i);
      // A wait belongs to whoever's thread it is.
      const StageId of = span_class.stage.known() ? span_class.stage : owner;
      const size_t layer = LayerOf(span_class);
      innermost.Add(track.spans.start_ns[i], track.spans.EndNs(i), [&](int64_t start, int64_t end) {
        if (!of.known()) return;
        sums[of.value].layers[layer].Add(start, end);
        sums[of.value].on_this_track = true;
      });
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      const bool own = owner.known() && owner.value == i;
      sums[i].own_tracks += own ? 1U : 0U;
      sums[i].lent_tracks += !own && sums[i].on_this_track ? 1U : 0U;
      sums[i].on_this_track = false;
    }
  }
  return sums;
}

Lane LaneOf(const model::Run& run, size_t stage, const Sums& sums) {
  Lane lane{run.stages[stage].name, {"work", "empty", "full", "wait"}, {}};
  // A stage without threads of its own is as wide as those that it runs in.
  const size_t workers = std::max<size_t>(sums.own_tracks + sums.lent_tracks, 1);
  for (const Columns& layer : sums.layers) lane.busy.push_back(layer.Fractions(workers));
  return lane;
}

}  // namespace

std::vector<float> BusyFractions(std::vector<Interval> intervals, model::TimeRange range,
                                 size_t columns) {
  const auto earlier = [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; };
  // What comes from one track is in order as a rule, and then nothing here is more than linear.
  if (!std::is_sorted(intervals.begin(), intervals.end(), earlier)) {
    std::sort(intervals.begin(), intervals.end(), earlier);
  }
  Columns sums(range, columns);
  int64_t covered_until = range.start_ns;
  for (const Interval& interval : intervals) {
    const int64_t start = std::max(interval.start_ns, covered_until);
    if (interval.end_ns <= start) continue;
    sums.Add(start, interval.end_ns);
    covered_until = interval.end_ns;
  }
  return sums.Fractions();
}

std::vector<Lane> StageLanes(const model::Run& run, model::TimeRange range, size_t columns) {
  const auto sums = SumsOf(run, range, columns);
  std::vector<Lane> lanes;
  for (size_t i = 0; i < sums.size(); ++i) lanes.push_back(LaneOf(run, i, sums[i]));
  return lanes;
}

}  // namespace stallscope::timeline
