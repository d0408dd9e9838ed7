#include "analyzer/attribution/intervals.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/support/random.h"

using namespace stallscope::attribution;
using stallscope::test::Random;

namespace {

constexpr int64_t kEnd = 60;
using Instants = std::vector<bool>;  // of 0 to kEnd - 1

Instants Paint(const Intervals& intervals) {
  Instants instants(kEnd);
  for (const stallscope::attribution::Interval& interval : intervals) {
    for (int64_t t = std::max<int64_t>(0, interval.start_ns); t < std::min(kEnd, interval.end_ns);
         ++t) {
      instants[static_cast<size_t>(t)] = true;
    }
  }
  return instants;
}

stallscope::attribution::Interval AnyInterval(Random& random) {
  const auto start = static_cast<int64_t>(random.Below(70)) - 5;
  return {start, start + static_cast<int64_t>(random.Below(15)) - 3};  // some run backwards
}

Intervals AnyIntervals(Random& random) {
  Intervals intervals(random.Below(12));
  for (stallscope::attribution::Interval& interval : intervals) interval = AnyInterval(random);
  return intervals;
}

bool IsSet(const Intervals& set) {
  for (size_t i = 0; i < set.size(); ++i) {
    if (set[i].ns() <= 0) return false;
    if (i > 0 && set[i].start_ns <= set[i - 1].end_ns) return false;  // touching ones are one
  }
  return true;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("intervals: union within the window") {
    Random random(1);
    for (int i = 0; i < 5000; ++i) {
      const Intervals any = AnyIntervals(random);
      const stallscope::attribution::Interval window = AnyInterval(random);
      const Intervals set = UnionWithin(any, window);
      REQUIRE(IsSet(set));
      Instants expected = Paint(any);
      const Instants inside = Paint({window});
      for (size_t t = 0; t < expected.size(); ++t) expected[t] = expected[t] && inside[t];
      REQUIRE(Paint(set) == expected);
      for (const stallscope::attribution::Interval& part : set) {
        REQUIRE(part.start_ns >= window.start_ns);
        REQUIRE(part.end_ns <= window.end_ns);
      }
      int64_t painted = std::count(expected.begin(), expected.end(), true);
      for (const stallscope::attribution::Interval& part :
           set) {  // what lies before 0 or after kEnd
        painted += std::max<int64_t>(0, std::min<int64_t>(0, part.end_ns) - part.start_ns);
        painted += std::max<int64_t>(0, part.end_ns - std::max(kEnd, part.start_ns));
      }
      REQUIRE(Length(set) == painted);
    }
  }

  TEST_CASE("intervals: difference and intersection partition a set") {
    Random random(2);
    for (int i = 0; i < 5000; ++i) {
      const Intervals set = UnionWithin(AnyIntervals(random), {-100, 100});
      const stallscope::attribution::Interval what = AnyInterval(random);
      const Intervals rest = Subtract(set, what);
      const Intervals both = Intersect(set, what);
      REQUIRE(IsSet(rest));
      REQUIRE(IsSet(both));
      REQUIRE(Length(rest) + Length(both) == Length(set));
      const Instants all = Paint(set);
      const Instants cut = Paint({what});
      const Instants left = Paint(rest);
      const Instants kept = Paint(both);
      for (size_t t = 0; t < all.size(); ++t) {
        REQUIRE(left[t] == (all[t] && !cut[t]));
        REQUIRE(kept[t] == (all[t] && cut[t]));
      }
    }
  }

  TEST_CASE("merging runs is a stable sort") {
    Random random(3);
    for (int i = 0; i < 3000; ++i) {
      // A few ascending runs, many equal keys, sometimes pure noise.
      std::vector<std::pair<int, int>> values;
      const bool noise = random.OneIn(4);
      for (uint64_t runs = random.Below(7); runs-- > 0;) {
        int key = static_cast<int>(random.Below(5));
        for (uint64_t n = random.Below(9); n-- > 0;) {
          key =
              noise ? static_cast<int>(random.Below(20)) : key + static_cast<int>(random.Below(3));
          values.emplace_back(key, static_cast<int>(values.size()));
        }
      }
      auto expected = values;
      const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
      std::stable_sort(expected.begin(), expected.end(), before);
      MergeRuns(values, before);
      REQUIRE(values == expected);
    }
  }
}
