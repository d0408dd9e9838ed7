// A value that changes in steps (the depth of a queue, a sampled counter), drawn into columns: the
// lowest, the highest and the mean over time of each, exactly. Made once, then only read; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/base/column.h"

namespace stallscope::timeline {

struct SeriesPoint {
  int64_t time_ns = 0;
  float value = 0;
};

struct SeriesColumn {
  bool known = false;  // false: before the first value
  float low = 0;
  float high = 0;
  float mean = 0;
};

class SeriesIndex {
 public:
  SeriesIndex() = default;
  // In any order; of several points at the same time, the last one counts.
  explicit SeriesIndex(std::vector<SeriesPoint> points);

  size_t size() const { return times_.size(); }
  bool empty() const { return times_.empty(); }
  float highest() const { return highest_; }
  // The value that holds at an instant; nothing before the first.
  std::optional<float> ValueAt(int64_t time_ns) const;
  // `bounds` as ColumnBounds (lane_index.h) makes them. The last value holds until the end.
  void Draw(std::span<const int64_t> bounds, std::span<SeriesColumn> columns) const;
  size_t Bytes() const;

 private:
  struct Extent {
    float low;
    float high;
  };
  void BuildExtents();
  Extent ExtentOf(size_t first, size_t last) const;
  double AreaBefore(int64_t time_ns, size_t count) const;

  Column<int64_t> times_;
  Column<float> values_;
  Column<double> areas_;  // value x time before each point
  // Low and high of 16, 256, ... points: a range of millions takes a few lookups.
  std::vector<std::vector<Extent>> extents_;
  float highest_ = 0;
};

}  // namespace stallscope::timeline
