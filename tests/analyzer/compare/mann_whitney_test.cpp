#include "analyzer/compare/mann_whitney.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using doctest::Approx;
using stallscope::compare::MannWhitney;
using stallscope::compare::RankCounts;

namespace {

std::vector<double> Range(size_t count, double from, double step = 1) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) values.push_back(from + step * static_cast<double>(i));
  return values;
}

// In how many of all ways to choose the new side's places U has each value, by trying them all.
std::vector<uint64_t> CountedOneByOne(size_t m, size_t n) {
  std::vector<uint64_t> counts(m * n + 1, 0);
  for (uint32_t chosen = 0; chosen < uint32_t{1} << (m + n); ++chosen) {
    size_t base = 0, now = 0, u = 0;
    for (size_t place = 0; place < m + n; ++place) {
      if ((chosen >> place & 1) != 0) {
        ++now;
        u += base;
      } else {
        ++base;
      }
    }
    if (now == n) ++counts[u];
  }
  return counts;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("rank counts match an enumeration of all orderings") {
    CHECK(RankCounts(1, 1) == std::vector<uint64_t>{1, 1});
    CHECK(RankCounts(5, 5) == CountedOneByOne(5, 5));
    CHECK(RankCounts(3, 7) == CountedOneByOne(3, 7));
    CHECK(RankCounts(7, 3) == CountedOneByOne(7, 3));
    const std::vector<uint64_t> large = RankCounts(20, 20);
    CHECK(std::accumulate(large.begin(), large.end(), uint64_t{0}) == 137'846'528'820);
    CHECK(std::equal(large.begin(), large.end(), large.rbegin()));
  }

  TEST_CASE("five per side without overlap: two of 252 orderings") {
    const auto up = MannWhitney(Range(5, 0), Range(5, 10));
    CHECK(up.exact);
    CHECK(up.u == 25);
    CHECK(up.p == Approx(2.0 / 252));
    const auto down = MannWhitney(Range(5, 10), Range(5, 0));
    CHECK(down.u == 0);
    CHECK(down.p == up.p);
    // One pair the other way round.
    CHECK(MannWhitney(Range(5, 0), {{3.5, 10, 11, 12, 13}}).p == Approx(4.0 / 252));
  }

  TEST_CASE("a published example") {
    // scipy.stats.mannwhitneyu's own: males and females by age at diagnosis, p = 0.1111.
    const auto test =
        MannWhitney(std::vector<double>{20, 11, 17, 12}, std::vector<double>{19, 22, 16, 29, 24});
    CHECK(test.u == 17);
    CHECK(test.p == Approx(0.1111111));
  }

  TEST_CASE("no p is above one") {
    CHECK(MannWhitney(std::vector<double>{1, 4}, std::vector<double>{2, 3}).p == 1);
  }

  TEST_CASE("ties take the normal approximation with their correction") {
    // Ranks 1, 3 3 3, 5.5 5.5, 7, 8: U = 13.5 of 16, variance 16 / 12 * (9 - 30 / 56).
    const auto test = MannWhitney(std::vector<double>{1, 2, 2, 3}, std::vector<double>{2, 3, 4, 5});
    CHECK_FALSE(test.exact);
    CHECK(test.u == 13.5);
    CHECK(test.p == Approx(0.136638).epsilon(1e-4));
    // A tie inside one side only is a tie, too.
    CHECK_FALSE(MannWhitney(std::vector<double>{1, 1}, std::vector<double>{2, 3}).exact);
    const auto all_tied =
        MannWhitney(std::vector<double>{1, 1, 1}, std::vector<double>{1, 1, 1, 1});
    CHECK(all_tied.p == 1);
  }

  TEST_CASE("above 20 per side the approximation continues the exact p") {
    const auto exact = MannWhitney(Range(20, 0), Range(20, 5.5));
    const auto normal = MannWhitney(Range(21, 0), Range(21, 5.5));
    CHECK(exact.exact);
    CHECK_FALSE(normal.exact);
    // U = 321 of 441, variance 441 * 43 / 12; 295 of 400, of which the normal one makes 0.0106.
    CHECK(normal.u == 321);
    CHECK(normal.p == Approx(0.011884).epsilon(1e-3));
    CHECK(exact.u == 295);
    CHECK(exact.p == Approx(0.0106).epsilon(0.15));
  }
}
