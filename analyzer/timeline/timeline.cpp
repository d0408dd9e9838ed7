#include "analyzer/timeline/timeline.h"

#include <algorithm>
#include <cassert>

#include "analyzer/timeline/columns.h"

namespace stallscope::timeline {
namespace {

// A product of two 63-bit numbers: nanoseconds times columns. __extension__ keeps -Wpedantic quiet.
__extension__ using Wide = __int128;

}  // namespace

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
    // A column without a nanosecond of its own shows the one that it lies in: its neighbour's.
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

}  // namespace stallscope::timeline
