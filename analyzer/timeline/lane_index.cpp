#include "analyzer/timeline/lane_index.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "analyzer/timeline/innermost.h"

namespace stallscope::timeline {
namespace {

constexpr uint32_t kLongest = trace::SpanColumns::kLongDuration - 1;
// Of a lane, beyond one for each segment: 52 days of time. Only damaged traces have more, and
// theirs may be centuries.
constexpr size_t kMostPieces = size_t{1} << 20;
constexpr unsigned kOriginShift = 30;
constexpr uint32_t kIndexMask = (uint32_t{1} << kOriginShift) - 1;

bool IsPlain(const trace::SpanColumns& spans) {
  if (!spans.long_durations.empty()) return false;
  for (size_t i = 1; i < spans.size(); ++i) {
    if (spans.start_ns[i] < spans.start_ns[i - 1] + int64_t{spans.duration[i - 1]}) return false;
  }
  return true;
}

// Parts come in the order of the spans, where what encloses others follows them: only within the
// outermost span that encloses a part is there anything to sort.
void SortWithinOutlines(std::vector<Segment>& parts) {
  const auto earlier = [](const Segment& a, const Segment& b) { return a.start_ns < b.start_ns; };
  std::vector<int64_t> first_after(parts.size() + 1, std::numeric_limits<int64_t>::max());
  for (size_t i = parts.size(); i-- > 0;) {
    first_after[i] = std::min(first_after[i + 1], parts[i].start_ns);
  }
  size_t begin = 0;
  int64_t last_end = std::numeric_limits<int64_t>::min();
  for (size_t i = 0; i < parts.size(); ++i) {
    last_end = std::max(last_end, parts[i].end_ns);
    if (first_after[i + 1] < last_end) continue;
    const auto from = parts.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = parts.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (!std::is_sorted(from, to, earlier)) std::sort(from, to, earlier);
    begin = i + 1;
  }
}

// Each instant to the innermost of the spans that are taken.
template <class Takes>
std::vector<Segment> PartsOf(const model::Track& track, Takes&& takes) {
  const trace::SpanColumns& spans = track.spans;
  std::vector<Segment> parts;
  Innermost innermost;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (!takes(i)) continue;
    innermost.Add(spans.start_ns[i], spans.EndNs(i), [&](int64_t start, int64_t end) {
      parts.push_back({start, end, spans.span_class[i], Origin::kSpan, static_cast<uint32_t>(i)});
    });
  }
  SortWithinOutlines(parts);
  return parts;
}

}  // namespace

std::vector<int64_t> ColumnBounds(model::TimeRange range, size_t columns) {
  if (columns == 0) return {};
  const int64_t length = std::max<int64_t>(range.end_ns - range.start_ns, 0);
  const auto count = static_cast<int64_t>(columns);
  std::vector<int64_t> bounds(columns + 1);
  // k x length / columns without a wide product: what is left over is below columns.
  for (int64_t k = 0; k <= count; ++k) {
    bounds[static_cast<size_t>(k)] =
        range.start_ns + k * (length / count) + k * (length % count) / count;
  }
  return bounds;
}

LaneIndex LaneIndex::FromSegments(const std::vector<Segment>& segments) {
  LaneIndex lane;
  lane.own_starts_.reserve(segments.size());
  lane.own_durations_.reserve(segments.size());
  lane.own_kinds_.reserve(segments.size());
  lane.own_indices_.reserve(segments.size());
  for (const Segment& segment : segments) lane.Push(segment);
  lane.UseOwn();
  lane.Finish();
  return lane;
}

LaneIndex LaneIndex::FromSpans(const model::Track& track) {
  const trace::SpanColumns& spans = track.spans;
  if (IsPlain(spans)) {
    LaneIndex lane;
    lane.starts_ = spans.start_ns.data();
    lane.durations_ = spans.duration.data();
    lane.kinds_ = spans.span_class.data();
    lane.size_ = spans.size();
    lane.Finish();
    return lane;
  }
  return FromSegments(PartsOf(track, [](size_t) { return true; }));
}

LaneIndex LaneIndex::FromSpansOfRow(const model::Track& track, const std::vector<uint8_t>& rows,
                                    uint8_t row) {
  return FromSegments(PartsOf(track, [&](size_t span) { return rows[span] == row; }));
}

// What is longer than a duration can say becomes several segments, as far as a lane may have more.
void LaneIndex::Push(const Segment& segment) {
  for (int64_t at = segment.start_ns; at < segment.end_ns;) {
    if (at > segment.start_ns && ++pieces_ > kMostPieces) return;
    const auto length = static_cast<uint32_t>(std::min<int64_t>(segment.end_ns - at, kLongest));
    own_starts_.push_back(at);
    own_durations_.push_back(length);
    own_kinds_.push_back(segment.kind);
    own_indices_.push_back((segment.index & kIndexMask) |
                           (static_cast<uint32_t>(segment.origin) << kOriginShift));
    at += length;
  }
}

void LaneIndex::UseOwn() {
  starts_ = own_starts_.data();
  durations_ = own_durations_.data();
  kinds_ = own_kinds_.data();
  size_ = own_starts_.size();
}

void LaneIndex::Finish() {
  std::vector<int64_t> time_of_kind;
  for (size_t i = 0; i < size_; ++i) {
    if (kinds_[i] >= time_of_kind.size()) time_of_kind.resize(size_t{kinds_[i]} + 1, -1);
    // An empty span has a layer, too.
    time_of_kind[kinds_[i]] = std::max<int64_t>(time_of_kind[kinds_[i]], 0) + durations_[i];
  }
  std::vector<uint16_t> kinds;
  for (size_t kind = 0; kind < time_of_kind.size(); ++kind) {
    if (time_of_kind[kind] >= 0) kinds.push_back(static_cast<uint16_t>(kind));
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [&](uint16_t a, uint16_t b) { return time_of_kind[a] > time_of_kind[b]; });
  layer_of_kind_.assign(time_of_kind.size(), kMostLayers - 1);
  for (size_t i = 0; i < std::min(kinds.size(), kMostLayers); ++i) {
    layer_of_kind_[kinds[i]] = static_cast<uint8_t>(i);
  }
  kinds.resize(std::min(kinds.size(), kMostLayers));
  layer_kinds_ = std::move(kinds);

  const size_t layers = layer_kinds_.size();
  const size_t count = (size_ + kBlock - 1) / kBlock;
  block_starts_.reserve(count);
  block_sums_.reserve(count * layers);
  Sums sums{};
  for (size_t i = 0; i < size_; ++i) {
    if (i % kBlock == 0) {
      block_starts_.push_back(starts_[i]);
      block_sums_.insert(block_sums_.end(), sums.begin(),
                         sums.begin() + static_cast<std::ptrdiff_t>(layers));
    }
    sums[layer_of_kind_[kinds_[i]]] += durations_[i];
  }
}

Segment LaneIndex::At(size_t segment) const {
  Segment result{starts_[segment], EndOf(segment), kinds_[segment], Origin::kSpan, 0};
  if (own_indices_.empty()) {
    result.index = static_cast<uint32_t>(segment);
  } else {
    result.index = own_indices_[segment] & kIndexMask;
    result.origin = static_cast<Origin>(own_indices_[segment] >> kOriginShift);
  }
  return result;
}

size_t LaneIndex::FirstEndingAfter(int64_t time_ns) const {
  if (empty()) return 0;
  const size_t block = BlockAt(time_ns, Guess(time_ns));
  if (block == blocks()) return 0;
  size_t i = block * kBlock;
  while (i < size_ && EndOf(i) <= time_ns) ++i;
  return i;
}

std::optional<size_t> LaneIndex::Find(int64_t time_ns) const {
  const size_t i = FirstEndingAfter(time_ns);
  if (i < size_ && starts_[i] <= time_ns) return i;
  return std::nullopt;
}

size_t LaneIndex::Guess(int64_t time_ns) const {
  const auto first = static_cast<double>(block_starts_.front());
  const auto length = static_cast<double>(block_starts_.back()) - first;
  if (length <= 0) return 0;
  const double part = (static_cast<double>(time_ns) - first) / length;
  return static_cast<size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(blocks() - 1));
}

size_t LaneIndex::BlockAt(int64_t time_ns, size_t from) const {
  if (blocks() == 0 || block_starts_[0] > time_ns) return blocks();
  // Doubling steps, then halves.
  size_t low = std::min(from, blocks() - 1);
  size_t high = low;
  size_t step = 1;
  if (block_starts_[low] <= time_ns) {
    while (low + step < blocks() && block_starts_[low + step] <= time_ns) {
      low += step;
      step *= 2;
    }
    high = std::min(low + step, blocks());
  } else {
    while (high > step && block_starts_[high - step] > time_ns) {
      high -= step;
      step *= 2;
    }
    low = high > step ? high - step : 0;
  }
  const auto found =
      std::upper_bound(block_starts_.begin() + static_cast<std::ptrdiff_t>(low),
                       block_starts_.begin() + static_cast<std::ptrdiff_t>(high), time_ns);
  return static_cast<size_t>(found - block_starts_.begin()) - 1;
}

void LaneIndex::AddBefore(int64_t time_ns, size_t block, Sums& sums) const {
  if (block == blocks()) return;
  const size_t layers = layer_kinds_.size();
  const int64_t* const before = &block_sums_[block * layers];
  for (size_t l = 0; l < layers; ++l) sums[l] += before[l];
  const size_t end = std::min(size_, (block + 1) * kBlock);
  for (size_t i = block * kBlock; i < end && starts_[i] < time_ns; ++i) {
    sums[layer_of_kind_[kinds_[i]]] += std::min<int64_t>(durations_[i], time_ns - starts_[i]);
  }
}

// Calls take(column, sums) with the nanoseconds of each layer in it. Bounds are looked up some at a
// time: memory then fetches their blocks side by side, which is most of what a column costs.
template <class Take>
void LaneIndex::ForEachColumn(std::span<const int64_t> bounds, Take&& take) const {
  if (empty() || bounds.size() < 2) return;
  constexpr size_t kAhead = 32;
  std::array<size_t, kAhead> blocks_ahead{};
  size_t block = Guess(bounds.front());
  size_t stride = 0;  // from the last bound's block to this one's: likely the next one's, too
  Sums before{};
  for (size_t first = 0; first < bounds.size(); first += kAhead) {
    const size_t count = std::min(kAhead, bounds.size() - first);
    for (size_t i = 0; i < count; ++i) {
      const size_t found = BlockAt(bounds[first + i], block + stride);
      blocks_ahead[i] = found;
      if (found == blocks()) {
        block = 0;
        continue;
      }
      stride = found > block ? found - block : 0;
      block = found;
      __builtin_prefetch(&starts_[block * kBlock]);
      __builtin_prefetch(&starts_[std::min(block * kBlock + kBlock / 2, size_ - 1)]);
      __builtin_prefetch(&durations_[block * kBlock]);
      __builtin_prefetch(&kinds_[block * kBlock]);
      __builtin_prefetch(&block_sums_[block * layer_kinds_.size()]);
    }
    for (size_t i = 0; i < count; ++i) {
      Sums now{};
      AddBefore(bounds[first + i], blocks_ahead[i], now);
      if (first + i > 0) {
        Sums column{};
        for (size_t l = 0; l < kMostLayers; ++l) column[l] = now[l] - before[l];
        take(first + i - 1, column);
      }
      before = now;
    }
  }
}

std::array<int64_t, kMostLayers> LaneIndex::CoveredNs(model::TimeRange range) const {
  Sums covered{};
  const std::array<int64_t, 2> bounds = {range.start_ns, std::max(range.start_ns, range.end_ns)};
  ForEachColumn(bounds, [&](size_t, const Sums& sums) { covered = sums; });
  return covered;
}

void LaneIndex::Draw(std::span<const int64_t> bounds, std::span<LaneColumn> columns) const {
  std::fill(columns.begin(), columns.end(), LaneColumn{});
  ForEachColumn(bounds, [&](size_t k, const Sums& sums) {
    const int64_t total = std::accumulate(sums.begin(), sums.end(), int64_t{0});
    if (total == 0) return;
    const auto width = static_cast<double>(bounds[k + 1] - bounds[k]);
    const auto most = std::max_element(sums.begin(), sums.end());
    columns[k] = {static_cast<float>(static_cast<double>(total) / width),
                  static_cast<uint8_t>(most - sums.begin()),
                  static_cast<float>(static_cast<double>(*most) / width)};
  });
}

void LaneIndex::AddTo(std::span<const int64_t> bounds, std::span<const uint8_t> slot_of,
                      size_t slots, std::span<int64_t> sums) const {
  const size_t layers = layer_kinds_.size();
  ForEachColumn(bounds, [&](size_t k, const Sums& column) {
    for (size_t l = 0; l < layers; ++l) sums[k * slots + slot_of[l]] += column[l];
  });
}

size_t LaneIndex::Bytes() const {
  return own_starts_.capacity() * sizeof(int64_t) + own_durations_.capacity() * sizeof(uint32_t) +
         own_kinds_.capacity() * sizeof(uint16_t) + own_indices_.capacity() * sizeof(uint32_t) +
         block_starts_.capacity() * sizeof(int64_t) + block_sums_.capacity() * sizeof(int64_t) +
         layer_of_kind_.capacity();
}

}  // namespace stallscope::timeline
