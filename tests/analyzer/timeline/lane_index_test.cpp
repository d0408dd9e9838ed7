#include "analyzer/timeline/lane_index.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tests/support/random.h"

using namespace stallscope;
using timeline::ColumnBounds;
using timeline::kMostLayers;
using timeline::LaneColumn;
using timeline::LaneIndex;
using timeline::Segment;

namespace {

struct Brute {
  double busy = 0;
  std::map<uint16_t, double> kinds;
};

// Every segment against every column.
std::vector<Brute> ByHand(const std::vector<Segment>& segments,
                          const std::vector<int64_t>& bounds) {
  std::vector<Brute> columns(bounds.size() - 1);
  for (size_t k = 0; k + 1 < bounds.size(); ++k) {
    const auto width = static_cast<double>(bounds[k + 1] - bounds[k]);
    for (const Segment& segment : segments) {
      const int64_t ns =
          std::min(segment.end_ns, bounds[k + 1]) - std::max(segment.start_ns, bounds[k]);
      if (ns <= 0) continue;
      columns[k].busy += static_cast<double>(ns) / width;
      columns[k].kinds[segment.kind] += static_cast<double>(ns) / width;
    }
  }
  return columns;
}

std::vector<Segment> RandomSegments(test::Random& random, size_t count, uint16_t kinds) {
  std::vector<Segment> segments;
  int64_t at = 1'000;
  for (size_t i = 0; i < count; ++i) {
    if (random.OneIn(3)) at += static_cast<int64_t>(random.Below(5'000));
    const auto length = static_cast<int64_t>(random.Below(random.OneIn(50) ? 200'000 : 900));
    segments.push_back({at, at + length, static_cast<uint16_t>(random.Below(kinds)),
                        timeline::Origin::kSpan, static_cast<uint32_t>(i)});
    at += length;
  }
  return segments;
}

void CheckAgainstBrute(const LaneIndex& lane, const std::vector<Segment>& segments,
                       model::TimeRange range, size_t columns) {
  const auto bounds = ColumnBounds(range, columns);
  std::vector<LaneColumn> drawn(columns);
  lane.Draw(bounds, drawn);
  const auto expected = ByHand(segments, bounds);
  for (size_t k = 0; k < columns; ++k) {
    CAPTURE(k);
    CHECK(std::fabs(drawn[k].busy - expected[k].busy) < 1e-5);
    if (expected[k].busy == 0) {
      CHECK(drawn[k].layer == timeline::kNoLayer);
      continue;
    }
    double most = 0;
    for (const auto& [kind, share] : expected[k].kinds) most = std::max(most, share);
    CHECK(std::fabs(drawn[k].share - most) < 1e-5);
    CHECK(expected[k].kinds.at(lane.layers()[drawn[k].layer]) == doctest::Approx(most));
  }
}

model::Track TrackOf(const std::vector<std::pair<int64_t, int64_t>>& spans) {
  model::Track track;
  for (const auto& [start, end] : spans) {
    track.spans.start_ns.push_back(start);
    track.spans.duration.push_back(end - start < 0xffffffff ? static_cast<uint32_t>(end - start)
                                                            : trace::SpanColumns::kLongDuration);
    if (end - start >= 0xffffffff) {
      track.spans.long_durations.emplace_back(track.spans.size() - 1, end - start);
    }
    track.spans.span_class.push_back(static_cast<uint16_t>(track.spans.size() % 3));
    track.spans.item.push_back(0);
  }
  return track;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("columns begin where the range is divided, in whole numbers") {
    CHECK(ColumnBounds({0, 10}, 4) == std::vector<int64_t>{0, 2, 5, 7, 10});
    CHECK(ColumnBounds({7, 7}, 2) == std::vector<int64_t>{7, 7, 7});
    CHECK(ColumnBounds({0, 10}, 0).empty());
    const int64_t far = (int64_t{1} << 62) - 1;
    const auto bounds = ColumnBounds({-far, far}, 1'600);
    CHECK(bounds.front() == -far);
    CHECK(bounds.back() == far);
    CHECK(std::is_sorted(bounds.begin(), bounds.end()));
  }

  TEST_CASE("every column of a lane equals brute force, at every zoom") {
    test::Random random(7);
    for (const size_t count : {1U, 15U, 16U, 17U, 1'000U}) {
      const auto segments = RandomSegments(random, count, 5);
      const LaneIndex lane = LaneIndex::FromSegments(segments);
      const int64_t end = segments.back().end_ns + 1;
      CheckAgainstBrute(lane, segments, {0, end}, 100);
      CheckAgainstBrute(lane, segments, {-end, 2 * end}, 33);
      for (int64_t zoom = 2; zoom < end; zoom *= 7) {
        const auto start = static_cast<int64_t>(random.Below(static_cast<uint64_t>(end)));
        CheckAgainstBrute(lane, segments, {start, start + end / zoom + 1}, 64);
      }
    }
  }

  TEST_CASE("rare kinds share the last layer, and no time is lost") {
    std::vector<Segment> segments;
    for (uint16_t kind = 0; kind < 20; ++kind) {
      segments.push_back({kind * 100, kind * 100 + 40 + kind, kind, {}, kind});
    }
    const LaneIndex lane = LaneIndex::FromSegments(segments);
    CHECK(lane.layers().size() == kMostLayers);
    CHECK(lane.layers().front() == 19);
    int64_t sum = 0;
    for (const int64_t ns : lane.CoveredNs({0, 2'000})) sum += ns;
    CHECK(sum == 20 * 40 + 190);
  }

  TEST_CASE("lanes that are drawn as one add up") {
    const LaneIndex a = LaneIndex::FromSegments({{0, 10, 3, {}, 0}});
    const LaneIndex b = LaneIndex::FromSegments({{5, 20, 4, {}, 0}});
    const auto bounds = ColumnBounds({0, 20}, 2);
    std::vector<int64_t> sums(4);
    const std::vector<uint8_t> first = {0};
    const std::vector<uint8_t> second = {1};
    a.AddTo(bounds, first, 2, sums);
    b.AddTo(bounds, second, 2, sums);
    CHECK(sums == std::vector<int64_t>{10, 5, 0, 10});
  }

  TEST_CASE("the segment under an instant is found, and between two there is none") {
    test::Random random(3);
    const auto segments = RandomSegments(random, 500, 3);
    const LaneIndex lane = LaneIndex::FromSegments(segments);
    for (int i = 0; i < 2'000; ++i) {
      const auto at =
          static_cast<int64_t>(random.Below(static_cast<uint64_t>(segments.back().end_ns + 100)));
      const auto expected = std::find_if(segments.begin(), segments.end(), [&](const Segment& s) {
        return s.start_ns <= at && at < s.end_ns;
      });
      const auto found = lane.Find(at);
      REQUIRE(found.has_value() == (expected != segments.end()));
      if (found) CHECK(lane.At(*found).index == expected->index);
    }
  }

  TEST_CASE("a plain track is read in place, a nested one is made disjoint") {
    const model::Track plain = TrackOf({{0, 10}, {10, 10}, {12, 20}});
    const LaneIndex in_place = LaneIndex::FromSpans(plain);
    CHECK(in_place.size() == 3);
    CHECK(in_place.Bytes() < 200);
    CHECK(in_place.At(2).index == 2);

    // Two spans inside a third one, which comes after them; then one by itself.
    const model::Track nested = TrackOf({{10, 20}, {30, 40}, {0, 50}, {60, 70}});
    const LaneIndex lane = LaneIndex::FromSpans(nested);
    std::vector<std::pair<int64_t, uint32_t>> parts;
    for (size_t i = 0; i < lane.size(); ++i) {
      parts.emplace_back(lane.At(i).start_ns, lane.At(i).index);
    }
    CHECK(parts == std::vector<std::pair<int64_t, uint32_t>>{
                       {0, 2}, {10, 0}, {20, 2}, {30, 1}, {40, 2}, {60, 3}});
  }

  TEST_CASE("a span of many seconds is whole") {
    const int64_t minute = 60'000'000'000;
    const model::Track track = TrackOf({{0, minute}, {minute, minute + 5}});
    const LaneIndex lane = LaneIndex::FromSpans(track);
    int64_t sum = 0;
    for (const int64_t ns : lane.CoveredNs({0, 2 * minute})) sum += ns;
    CHECK(sum == minute + 5);
    CHECK(lane.At(*lane.Find(minute - 1)).index == 0);
  }

  TEST_CASE("spans of centuries, as a damaged trace has them, take no more than a lane may") {
    constexpr int64_t kCentury = 3'155'760'000'000'000'000;
    const LaneIndex lane = LaneIndex::FromSegments(
        {{0, kCentury, 1, stallscope::timeline::Origin::kSpan, 0},
         {kCentury, 2 * kCentury, 2, stallscope::timeline::Origin::kSpan, 1}});
    CHECK(lane.Bytes() < 100 << 20);
    CHECK(lane.Find(1'000'000'000'000'000).has_value());  // 11 days
    CHECK(lane.Find(kCentury).has_value());
  }

  TEST_CASE("a lane without segments is empty wherever it is drawn") {
    const LaneIndex lane;
    std::vector<LaneColumn> columns(3);
    lane.Draw(ColumnBounds({0, 10}, 3), columns);
    CHECK(columns[1].busy == 0);
    CHECK_FALSE(lane.Find(5).has_value());
  }
}
