#include "analyzer/importers/foreign/span_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "tests/support/random.h"

using namespace stallscope;
using trace::SpanColumns;

namespace {

void Add(SpanColumns& spans, int64_t start, int64_t end, uint64_t item) {
  const int64_t ns = end - start;
  if (ns >= SpanColumns::kLongDuration) spans.long_durations.emplace_back(spans.size(), ns);
  spans.duration.push_back(ns >= SpanColumns::kLongDuration ? SpanColumns::kLongDuration
                                                            : static_cast<uint32_t>(ns));
  spans.start_ns.push_back(start);
  spans.span_class.push_back(static_cast<uint16_t>(item % 7));
  spans.item.push_back(item);
}

using Row = std::tuple<int64_t, int64_t, uint64_t>;  // end, -start, -item: the order

std::vector<Row> Rows(const SpanColumns& spans) {
  std::vector<Row> rows;
  for (size_t i = 0; i < spans.size(); ++i) {
    CHECK(spans.span_class[i] == spans.item[i] % 7);
    rows.emplace_back(spans.EndNs(i), -spans.start_ns[i], ~spans.item[i]);
  }
  return rows;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("what encloses comes later, and of the same extent what came first") {
    SpanColumns spans;
    Add(spans, 0, 100, 0);  // encloses all
    Add(spans, 0, 100, 1);  // the same, inside
    Add(spans, 10, 20, 2);
    Add(spans, 90, 100, 3);
    importers::OrderSpans(spans);
    CHECK(std::vector<uint64_t>(spans.item.begin(), spans.item.end()) ==
          std::vector<uint64_t>{2, 3, 1, 0});
  }

  TEST_CASE("any order comes out sorted, with all that belongs to a span") {
    test::Random random(7);
    for (int round = 0; round < 200; ++round) {
      SpanColumns spans;
      const uint64_t count = random.Below(300);
      int64_t at = 0;
      for (uint64_t i = 0; i < count; ++i) {
        // Runs by start, now and then a new one; long spans among them.
        at = random.Below(40) == 0 ? 0 : at + static_cast<int64_t>(random.Below(20));
        const uint64_t length = random.Below(30) == 0 ? 5'000'000'000 : random.Below(50);
        Add(spans, at, at + static_cast<int64_t>(length), i);
      }
      std::vector<Row> expected = Rows(spans);
      std::sort(expected.begin(), expected.end());
      importers::OrderSpans(spans);
      CHECK(Rows(spans) == expected);
    }
  }
}
