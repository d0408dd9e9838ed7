#include "analyzer/timeline/nesting.h"

#include <doctest/doctest.h>

#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/random.h"

using namespace stallscope;
using timeline::Nesting;
using timeline::NestingOf;

namespace {

struct Span {
  int64_t start_ns;
  int64_t end_ns;
  bool wait = false;
};

// Spans stand in the order of their ends.
std::pair<model::Run, Nesting> Nest(const std::vector<Span>& spans) {
  model::Run run;
  run.span_classes = {{trace::SpanKind::kWork, {}, {}, {}},
                      {trace::SpanKind::kWait, {}, trace::WaitCause::kIo, {}}};
  model::Track track;
  for (const Span& span : spans) {
    track.spans.start_ns.push_back(span.start_ns);
    track.spans.duration.push_back(static_cast<uint32_t>(span.end_ns - span.start_ns));
    track.spans.span_class.push_back(span.wait ? 1 : 0);
    track.spans.item.push_back(0);
  }
  Nesting nesting = NestingOf(run, track);
  run.tracks.push_back(std::move(track));
  return {std::move(run), std::move(nesting)};
}

using Part = std::tuple<int64_t, int64_t, uint32_t>;

std::vector<Part> PartsOf(const timeline::LaneIndex& lane) {
  std::vector<Part> parts;
  for (size_t i = 0; i < lane.size(); ++i) {
    const timeline::Segment segment = lane.At(i);
    parts.emplace_back(segment.start_ns, segment.end_ns, segment.index);
  }
  return parts;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("work inside work is in the row below, and the enclosing work is whole") {
    // Two in one, one of which has a third inside; then one by itself.
    const auto [run, nesting] = Nest({{10, 20}, {32, 35}, {30, 40}, {0, 50}, {60, 70}});
    CHECK(nesting.span_rows == std::vector<uint8_t>{1, 2, 1, 0, 0});
    REQUIRE(nesting.rows.size() == 3);
    CHECK(PartsOf(nesting.rows[0]) == std::vector<Part>{{0, 50, 3}, {60, 70, 4}});
    CHECK(PartsOf(nesting.rows[1]) == std::vector<Part>{{10, 20, 0}, {30, 40, 2}});
    CHECK(PartsOf(nesting.rows[2]) == std::vector<Part>{{32, 35, 1}});
  }

  TEST_CASE("a wait is cut out of the work that it interrupts, and opens no row") {
    const auto [run, alone] = Nest({{10, 20, true}, {0, 50}});
    CHECK(alone.rows.empty());
    const auto [other, nesting] = Nest({{10, 20, true}, {5, 30}, {35, 40, true}, {0, 50}});
    CHECK(nesting.span_rows == std::vector<uint8_t>{1, 1, 0, 0});
    CHECK(PartsOf(nesting.rows[0]) == std::vector<Part>{{0, 35, 3}, {35, 40, 2}, {40, 50, 3}});
    CHECK(PartsOf(nesting.rows[1]) == std::vector<Part>{{5, 10, 1}, {10, 20, 0}, {20, 30, 1}});
  }

  TEST_CASE("adjacent spans are not nested, overlapping ones go below") {
    const auto [run, side_by_side] = Nest({{0, 10}, {10, 20}, {20, 20}, {20, 30}});
    CHECK(side_by_side.rows.empty());
    const auto [other, across] = Nest({{0, 20}, {10, 30}});
    CHECK(across.span_rows == std::vector<uint8_t>{1, 0});
  }

  TEST_CASE("at any depth the last row has the rest, and no time counts twice") {
    std::vector<Span> spans;
    constexpr int64_t kDepth = 5'000;
    for (int64_t i = kDepth; i-- > 0;) spans.push_back({i, 3 * kDepth - i});
    const auto [run, nesting] = Nest(spans);
    REQUIRE(nesting.rows.size() == timeline::kMostNestedRows);
    for (size_t row = 0; row < nesting.rows.size(); ++row) {
      const auto parts = PartsOf(nesting.rows[row]);
      int64_t until = -1;
      for (const auto& [start, end, index] : parts) {
        CHECK(start >= until);
        until = end;
      }
      CHECK(std::get<0>(parts.front()) == static_cast<int64_t>(row));
    }
    CHECK(PartsOf(nesting.rows[0]).size() == 1);
  }

  TEST_CASE("every span is below all that enclose it") {
    test::Random random(9);
    for (int round = 0; round < 50; ++round) {
      std::vector<Span> spans;
      // A tree by chance: children before the parents.
      const auto add = [&](auto&& self, int64_t start, int64_t end, int depth) -> void {
        if (depth < 6) {
          for (int64_t at = start; end - at > 4 && !random.OneIn(4);) {
            const auto length = static_cast<int64_t>(random.Below(static_cast<uint64_t>(end - at)));
            if (length > 0) self(self, at, at + length, depth + 1);
            at += length + 1;
          }
        }
        spans.push_back({start, end});
      };
      add(add, 0, 1'000, 0);
      const auto [run, nesting] = Nest(spans);
      if (nesting.rows.empty()) continue;
      for (size_t i = 0; i < spans.size(); ++i) {
        for (size_t k = i + 1; k < spans.size(); ++k) {
          if (spans[k].start_ns > spans[i].start_ns) continue;
          CHECK(nesting.span_rows[i] > nesting.span_rows[k]);
        }
      }
    }
  }
}
