#include "analyzer/timeline/series_index.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "analyzer/timeline/lane_index.h"
#include "tests/support/random.h"

using namespace stallscope;
using timeline::ColumnBounds;
using timeline::SeriesColumn;
using timeline::SeriesIndex;
using timeline::SeriesPoint;

namespace {

std::vector<SeriesColumn> Drawn(const SeriesIndex& series, model::TimeRange range, size_t columns) {
  std::vector<SeriesColumn> drawn(columns);
  series.Draw(ColumnBounds(range, columns), drawn);
  return drawn;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a value holds until the next one, and there is none before the first") {
    const SeriesIndex series({{10, 4}, {20, 8}});
    CHECK_FALSE(series.ValueAt(9).has_value());
    CHECK(series.ValueAt(10) == 4.F);
    CHECK(series.ValueAt(25) == 8.F);
    const auto columns = Drawn(series, {0, 40}, 4);
    CHECK_FALSE(columns[0].known);
    CHECK(columns[1].mean == 4);
    CHECK(columns[3].low == 8);
  }

  TEST_CASE("points may come in any order, and of two at one time the last counts") {
    const SeriesIndex series({{20, 8}, {10, 4}, {10, 6}});
    CHECK(series.size() == 2);
    CHECK(series.ValueAt(15) == 6.F);
  }

  TEST_CASE("low, high and mean match a count by nanoseconds") {
    test::Random random(11);
    std::vector<SeriesPoint> points;
    std::vector<float> by_ns(6'000);
    for (int64_t at = 0; at < 6'000; at += 1 + static_cast<int64_t>(random.Below(4))) {
      const auto value = static_cast<float>(random.Below(64));
      points.push_back({at, value});
      std::fill(by_ns.begin() + at, by_ns.end(), value);
    }
    const SeriesIndex series(points);
    for (const size_t columns : {1U, 3U, 7U, 600U}) {
      const auto bounds = ColumnBounds({0, 6'000}, columns);
      const auto drawn = Drawn(series, {0, 6'000}, columns);
      for (size_t k = 0; k < columns; ++k) {
        const auto from = by_ns.begin() + bounds[k];
        const auto to = by_ns.begin() + bounds[k + 1];
        double sum = 0;
        for (auto at = from; at != to; ++at) sum += static_cast<double>(*at);
        CHECK(drawn[k].mean == doctest::Approx(sum / static_cast<double>(to - from)).epsilon(1e-5));
        CHECK(drawn[k].low == *std::min_element(from, to));
        CHECK(drawn[k].high == *std::max_element(from, to));
      }
    }
  }
}
