// Half a million numbers that a hash table of the standard library would keep in one list.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace stallscope::test {

inline std::vector<int64_t> CollidingNumbers() {
  constexpr int64_t kMany = 500'000;
  std::unordered_set<int64_t> table;
  for (int64_t i = 0; i < kMany; ++i) table.insert(i);
  const auto buckets = static_cast<int64_t>(table.bucket_count());
  std::vector<int64_t> numbers;
  for (int64_t i = 1; i <= kMany; ++i) numbers.push_back(i * buckets);
  return numbers;
}

}  // namespace stallscope::test
