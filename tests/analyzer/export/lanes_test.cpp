#include "analyzer/export/lanes.h"

#include <doctest/doctest.h>

#include <random>

using stallscope::exporting::Lanes;

TEST_SUITE("fast") {
  TEST_CASE("apart and nested intervals share a lane, overlapping ones do not") {
    Lanes lanes;
    CHECK(lanes.Place(0, 100) == 0);
    CHECK(lanes.Place(0, 50) == 0);
    CHECK(lanes.Place(50, 100) == 0);
    CHECK(lanes.Place(90, 110) == 1);
    CHECK(lanes.Place(95, 100) == 0);
    CHECK(lanes.Place(100, 105) == 0);
    CHECK(lanes.Place(100, 100) == 0);
    CHECK(lanes.Place(104, 120) == 2);
    CHECK(lanes.Place(200, 300) == 0);
  }

  TEST_CASE("any number of overlaps is distributed, and no lane has two that cross") {
    struct Interval {
      int64_t start, end;
      size_t lane;
    };
    std::mt19937 random(7);
    std::vector<Interval> all;
    for (int i = 0; i < 3000; ++i) {
      const auto start = static_cast<int64_t>(random() % 10'000);
      all.push_back({start, start + static_cast<int64_t>(random() % 300), 0});
    }
    std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    Lanes lanes;
    for (Interval& interval : all) interval.lane = lanes.Place(interval.start, interval.end);
    int crossings = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t j = i + 1; j < all.size() && all[j].start < all[i].end; ++j) {
        if (all[i].lane == all[j].lane && all[j].end > all[i].end) ++crossings;
      }
    }
    CHECK(crossings == 0);
  }
}
