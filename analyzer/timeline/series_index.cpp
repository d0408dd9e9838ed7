#include "analyzer/timeline/series_index.h"

#include <algorithm>
#include <limits>

namespace stallscope::timeline {
namespace {

constexpr size_t kFan = 16;

}  // namespace

SeriesIndex::SeriesIndex(std::vector<SeriesPoint> points) {
  const auto earlier = [](const SeriesPoint& a, const SeriesPoint& b) {
    return a.time_ns < b.time_ns;
  };
  if (!std::is_sorted(points.begin(), points.end(), earlier)) {
    std::stable_sort(points.begin(), points.end(), earlier);
  }
  times_.reserve(points.size());
  values_.reserve(points.size());
  areas_.reserve(points.size());
  for (const SeriesPoint& point : points) {
    if (!times_.empty() && times_.back() == point.time_ns) {
      values_.back() = point.value;
      continue;
    }
    const double area =
        times_.empty() ? 0
                       : areas_.back() + static_cast<double>(values_.back()) *
                                             static_cast<double>(point.time_ns - times_.back());
    times_.push_back(point.time_ns);
    values_.push_back(point.value);
    areas_.push_back(area);
  }
  for (const float value : values_) highest_ = std::max(highest_, value);
  BuildExtents();
}

void SeriesIndex::BuildExtents() {
  std::vector<Extent> level;
  for (size_t i = 0; i + kFan <= values_.size(); i += kFan) {
    const auto from = values_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto [low, high] = std::minmax_element(from, from + kFan);
    level.push_back({*low, *high});
  }
  while (!level.empty()) {
    extents_.push_back(level);
    std::vector<Extent> above;
    for (size_t i = 0; i + kFan <= level.size(); i += kFan) {
      Extent all = level[i];
      for (size_t k = 1; k < kFan; ++k) {
        all.low = std::min(all.low, level[i + k].low);
        all.high = std::max(all.high, level[i + k].high);
      }
      above.push_back(all);
    }
    level = std::move(above);
  }
}

// Of points first to before last, which are some: the largest whole groups, and what they leave.
SeriesIndex::Extent SeriesIndex::ExtentOf(size_t first, size_t last) const {
  Extent all{std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()};
  const auto add = [&](float low, float high) {
    all.low = std::min(all.low, low);
    all.high = std::max(all.high, high);
  };
  while (first < last) {
    size_t level = 0;
    size_t length = 1;
    while (level < extents_.size() && first % (length * kFan) == 0 &&
           first + length * kFan <= last && first / (length * kFan) < extents_[level].size()) {
      length *= kFan;
      ++level;
    }
    if (level == 0) {
      add(values_[first], values_[first]);
    } else {
      const Extent& group = extents_[level - 1][first / length];
      add(group.low, group.high);
    }
    first += length;
  }
  return all;
}

std::optional<float> SeriesIndex::ValueAt(int64_t time_ns) const {
  const auto after = std::upper_bound(times_.begin(), times_.end(), time_ns);
  if (after == times_.begin()) return std::nullopt;
  return values_[static_cast<size_t>(after - times_.begin()) - 1];
}

// Value x time from the first point to the instant, which `count` points are at or before.
double SeriesIndex::AreaBefore(int64_t time_ns, size_t count) const {
  if (count == 0) return 0;
  return areas_[count - 1] +
         static_cast<double>(values_[count - 1]) * static_cast<double>(time_ns - times_[count - 1]);
}

void SeriesIndex::Draw(std::span<const int64_t> bounds, std::span<SeriesColumn> columns) const {
  std::fill(columns.begin(), columns.end(), SeriesColumn{});
  if (empty() || bounds.size() < 2) return;
  const auto at = [&](size_t i) { return times_.begin() + static_cast<std::ptrdiff_t>(i); };
  // Points at or before the column's begin.
  auto before = static_cast<size_t>(std::upper_bound(at(0), times_.end(), bounds[0]) - at(0));
  for (size_t k = 0; k + 1 < bounds.size(); ++k) {
    const auto end =
        static_cast<size_t>(std::lower_bound(at(before), times_.end(), bounds[k + 1]) - at(0));
    if (end > 0 && bounds[k + 1] > bounds[k]) {
      const Extent extent = ExtentOf(before > 0 ? before - 1 : 0, end);
      const int64_t from = std::max(bounds[k], times_.front());
      const double area =
          AreaBefore(bounds[k + 1], end) - AreaBefore(from, std::max<size_t>(before, 1));
      columns[k] = {true, extent.low, extent.high,
                    static_cast<float>(area / static_cast<double>(bounds[k + 1] - from))};
    }
    before = std::max(before, end + (end < times_.size() && times_[end] == bounds[k + 1] ? 1 : 0));
  }
}

size_t SeriesIndex::Bytes() const {
  size_t bytes = times_.capacity() * sizeof(int64_t) + values_.capacity() * sizeof(float) +
                 areas_.capacity() * sizeof(double);
  for (const auto& level : extents_) bytes += level.capacity() * sizeof(Extent);
  return bytes;
}

}  // namespace stallscope::timeline
