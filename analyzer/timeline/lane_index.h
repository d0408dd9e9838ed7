// One lane of disjoint segments, any part of which is drawn into columns at a cost that does not
// depend on how many segments it has.
//
// Segments are sorted by time. Each block of them keeps the total duration of all earlier blocks
// per layer: a layer's time before an instant takes one search, one sum and a scan of the rest of
// the block, and a column is the difference of two instants. So a column is exact, and nothing is
// rasterized in advance. Mip maps were rejected: they are exact only where columns match their
// bins. Made once, then only read; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/base/column.h"
#include "analyzer/model/run.h"

namespace stallscope::timeline {

// The table that has the segment's interval.
enum class Origin : uint8_t { kSpan, kKernel, kCopy };

struct Segment {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint16_t kind = 0;  // what it is: a span's class, or whatever the lane's creator says
  Origin origin = Origin::kSpan;
  uint32_t index = 0;  // of the interval, below 2^30
};

// Kinds of segments that a lane tells apart; rarer ones share the last.
constexpr size_t kMostLayers = 8;
constexpr uint8_t kNoLayer = 255;

// One column of a picture.
struct LaneColumn {
  float busy = 0;            // covered part of the column
  uint8_t layer = kNoLayer;  // that covers the most; the first among equals
  float share = 0;           // that layer's part of the column
};

// Where columns begin, and where the last one ends: start + k x length / columns, in whole numbers.
// Empty for no columns.
std::vector<int64_t> ColumnBounds(model::TimeRange range, size_t columns);

class LaneIndex {
 public:
  LaneIndex() = default;
  // Moved, never copied: a copy would read the other one's columns.
  LaneIndex(LaneIndex&&) noexcept = default;
  LaneIndex& operator=(LaneIndex&&) noexcept = default;

  // `segments` are disjoint and ascending; empty ones are left out.
  static LaneIndex FromSegments(const std::vector<Segment>& segments);
  // The spans of a track: each instant belongs to the innermost. If nothing is nested, the lane
  // reads the track's own columns, which must outlive it.
  static LaneIndex FromSpans(const model::Track& track);
  // Only the spans whose row (nesting.h) is `row`.
  static LaneIndex FromSpansOfRow(const model::Track& track, const std::vector<uint8_t>& rows,
                                  uint8_t row);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The track's own columns are read.
  bool in_place() const { return own_starts_.empty(); }
  Segment At(size_t segment) const;
  // The segment that covers the instant; else nothing.
  std::optional<size_t> Find(int64_t time_ns) const;
  // The first segment that ends after the instant; size() where none does.
  size_t FirstEndingAfter(int64_t time_ns) const;

  // Kinds by layer, those with the most time first; the last may stand for several.
  const std::vector<uint16_t>& layers() const { return layer_kinds_; }

  // Nanoseconds of each layer in a range.
  std::array<int64_t, kMostLayers> CoveredNs(model::TimeRange range) const;
  // `bounds` as ColumnBounds makes them, one more than there are columns. A column without a
  // nanosecond of its own is empty.
  void Draw(std::span<const int64_t> bounds, std::span<LaneColumn> columns) const;
  // For lanes that are drawn as one: adds the nanoseconds of each layer in each column to
  // sums[column x slots + slot_of[layer]].
  void AddTo(std::span<const int64_t> bounds, std::span<const uint8_t> slot_of, size_t slots,
             std::span<int64_t> sums) const;

  // What it needs beyond the track's own columns.
  size_t Bytes() const;

 private:
  using Sums = std::array<int64_t, kMostLayers>;
  static constexpr size_t kBlock = 16;

  void Push(const Segment& segment);
  void UseOwn();
  void Finish();
  int64_t EndOf(size_t i) const { return starts_[i] + int64_t{durations_[i]}; }
  // Where the block of an instant would be if segments were spread evenly.
  size_t Guess(int64_t time_ns) const;
  // The last block that begins at or before the instant; blocks() where there is none. Searches
  // outward from `from`: the better the guess, the fewer memory accesses.
  size_t BlockAt(int64_t time_ns, size_t from) const;
  size_t blocks() const { return block_starts_.size(); }
  // Adds to `sums` the time before the instant, which is in this block or after it.
  void AddBefore(int64_t time_ns, size_t block, Sums& sums) const;
  template <class Take>
  void ForEachColumn(std::span<const int64_t> bounds, Take&& take) const;

  // Either the track's own columns or those below. durations: none is SpanColumns::kLongDuration.
  const int64_t* starts_ = nullptr;
  const uint32_t* durations_ = nullptr;
  const uint16_t* kinds_ = nullptr;
  size_t size_ = 0;

  size_t pieces_ = 0;  // of segments that are longer than a duration can say
  Column<int64_t> own_starts_;
  Column<uint32_t> own_durations_;
  Column<uint16_t> own_kinds_;
  Column<uint32_t> own_indices_;  // origin in the upper two bits; empty: the span of this number

  std::vector<uint16_t> layer_kinds_;
  std::vector<uint8_t> layer_of_kind_;
  Column<int64_t> block_starts_;  // of the first segment in each block
  Column<int64_t> block_sums_;    // [block][layer]: nanoseconds in all blocks before
};

}  // namespace stallscope::timeline
