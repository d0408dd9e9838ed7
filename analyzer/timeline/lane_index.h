// One lane of disjoint segments, any part of which is drawn into columns at a cost that does not
// depend on how many segments it has.
//
// Segments stand by time. For each block of them the sums of their durations so far are kept, a sum
// for each layer: how much of a layer lies before an instant is one search, one sum and a look at
// the block's rest, and a column is the difference of two such instants. So a column is exact, with
// nothing rasterised before. Mip maps were rejected: they are exact only where columns fall on
// their bins. Made once, then only read; any thread.
#ifndef STALLSCOPE_ANALYZER_TIMELINE_LANE_INDEX_H_
#define STALLSCOPE_ANALYZER_TIMELINE_LANE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/base/column.h"
#include "analyzer/model/run.h"

namespace stallscope::timeline {

// Where a segment comes from.
enum class Origin : uint8_t { kSpan, kKernel, kCopy };

struct Segment {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t kind = 0;  // what it is: of a span its class, else as the lane's maker says
  Origin origin = Origin::kSpan;
  uint32_t index = 0;  // within the track's spans, Run::rows.kernels or copies
};

// Different kinds of segments that a lane tells apart; rarer ones share the last.
constexpr size_t kMostLayers = 8;
constexpr uint8_t kNoLayer = 255;

// One column of a picture.
struct LaneColumn {
  float busy = 0;            // covered part of the column
  uint8_t layer = kNoLayer;  // with the largest share of what is covered; of equal ones the first
  float share = 0;           // that layer's part of the column
};

class LaneIndex {
 public:
  LaneIndex() = default;
  // `segments` are disjoint and ascending; empty ones are left out.
  static LaneIndex FromSegments(const std::vector<Segment>& segments);
  // The spans of a track: each instant belongs to the innermost. Where nothing is nested the
  // track's own columns are read, and must outlive the lane.
  static LaneIndex FromSpans(const model::Track& track);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Segment At(size_t segment) const;
  // The segment that covers the instant; else nothing.
  std::optional<size_t> Find(int64_t time_ns) const;
  // The first segment that ends after the instant; size() where none does.
  size_t FirstEndingAfter(int64_t time_ns) const;

  // Kinds by layer, the longest first; the last may stand for several.
  const std::vector<uint32_t>& layers() const { return layer_kinds_; }
  uint8_t LayerOf(uint32_t kind) const;

  // Nanoseconds of all segments, and of one layer, in a range.
  int64_t CoveredNs(model::TimeRange range) const;
  void CoveredByLayer(model::TimeRange range, std::span<int64_t> layers) const;
  // Column k is [start + k x length / columns, start + (k + 1) x length / columns), in whole
  // numbers. Where there are more columns than nanoseconds, those that lie in one show the same.
  void Draw(model::TimeRange range, std::span<LaneColumn> columns) const;
  // As Draw, adding each layer's nanoseconds to sums[column x kMostLayers + map[layer]]: for lanes
  // that are drawn as one.
  void AddTo(model::TimeRange range, size_t columns, std::span<const uint8_t> map,
             std::span<int64_t> sums) const;

  size_t Bytes() const;

 private:
  static constexpr size_t kBlock = 16;
  void Finish();
  int64_t StartOf(size_t i) const { return starts_[i]; }
  int64_t EndOf(size_t i) const { return starts_[i] + durations_[i]; }
  // How many segments start before the instant, looked for from `hint` on.
  size_t CountBefore(int64_t time_ns, size_t block_hint) const;
  void SumsBefore(int64_t time_ns, size_t& block_hint, int64_t* sums) const;

  // Either the track's own columns or those below.
  const int64_t* starts_ = nullptr;
  const uint32_t* durations_ = nullptr;
  const uint16_t* span_classes_ = nullptr;  // null: own_layers_
  size_t size_ = 0;

  Column<int64_t> own_starts_;
  Column<uint32_t> own_durations_;
  Column<uint8_t> own_layers_;
  Column<uint8_t> own_origins_;
  Column<uint32_t> own_indices_;
  std::vector<uint32_t> own_kinds_;  // by index into layer tables; see lane_index.cpp

  std::vector<uint32_t> layer_kinds_;
  std::vector<uint8_t> layer_of_class_;  // by span class
  Column<int64_t> block_starts_;         // of the first segment in each block
  Column<int64_t> block_sums_;           // [block][layer]: nanoseconds in all blocks before
};

}  // namespace stallscope::timeline

#endif  // STALLSCOPE_ANALYZER_TIMELINE_LANE_INDEX_H_
