#include "analyzer/compare/mann_whitney.h"

#include <algorithm>
#include <cmath>

namespace stallscope::compare {
namespace {

constexpr size_t kMostExact = 20;

struct Ranks {
  double sum_now = 0;   // of the new side's ranks, which count from 1; ties share their mean
  double tie_term = 0;  // sum of t^3 - t over groups of t equal values
};

Ranks RankTogether(std::span<const double> base, std::span<const double> now) {
  struct Value {
    double value;
    bool is_now;
  };
  std::vector<Value> values;
  for (double v : base) values.push_back({v, false});
  for (double v : now) values.push_back({v, true});
  std::sort(values.begin(), values.end(),
            [](const Value& a, const Value& b) { return a.value < b.value; });
  Ranks ranks;
  for (size_t i = 0; i < values.size();) {
    size_t end = i;
    while (end < values.size() && values[end].value == values[i].value) ++end;
    const double tied = static_cast<double>(end - i);
    const double rank = static_cast<double>(i + 1 + end) / 2;
    for (size_t k = i; k < end; ++k) ranks.sum_now += values[k].is_now ? rank : 0;
    ranks.tie_term += tied * tied * tied - tied;
    i = end;
  }
  return ranks;
}

double ExactP(double u, size_t m, size_t n) {
  const std::vector<uint64_t> counts = RankCounts(m, n);
  const size_t tail = static_cast<size_t>(std::min(u, static_cast<double>(m * n) - u));
  double below = 0, all = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    const double count = static_cast<double>(counts[i]);
    all += count;
    if (i <= tail) below += count;
  }
  return std::min(1.0, 2 * below / all);
}

double NormalP(double u, double m, double n, double tie_term) {
  const double total = m + n;
  const double variance = m * n / 12 * (total + 1 - tie_term / (total * (total - 1)));
  if (variance <= 0) return 1;
  const double distance = std::max(0.0, std::abs(u - m * n / 2) - 0.5);
  return std::min(1.0, std::erfc(distance / std::sqrt(2 * variance)));
}

}  // namespace

// The counts are the coefficients of the Gaussian binomial: the product over i = 1..m of
// (1 - q^(n+i)) / (1 - q^i). Unsigned arithmetic may wrap on the way; the quotients are exact.
std::vector<uint64_t> RankCounts(size_t m, size_t n) {
  std::vector<uint64_t> counts(m * n + 1, 0);
  counts[0] = 1;
  for (size_t i = 1; i <= m; ++i) {
    for (size_t q = counts.size(); q-- > n + i;) counts[q] -= counts[q - n - i];
    for (size_t q = i; q < counts.size(); ++q) counts[q] += counts[q - i];
  }
  return counts;
}

RankTest MannWhitney(std::span<const double> base, std::span<const double> now) {
  const Ranks ranks = RankTogether(base, now);
  const double m = static_cast<double>(base.size());
  const double n = static_cast<double>(now.size());
  RankTest test;
  test.u = ranks.sum_now - n * (n + 1) / 2;
  test.exact = ranks.tie_term == 0 && std::max(base.size(), now.size()) <= kMostExact;
  test.p =
      test.exact ? ExactP(test.u, base.size(), now.size()) : NormalP(test.u, m, n, ranks.tie_term);
  return test;
}

}  // namespace stallscope::compare
