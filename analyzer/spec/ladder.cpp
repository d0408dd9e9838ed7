#include "analyzer/spec/ladder.h"

#include <algorithm>

namespace stallscope {
namespace {

constexpr int64_t kLeastOfMost = 8;
constexpr int64_t kProcessesPerCore = 2;

}  // namespace

std::vector<int64_t> Ladder(int64_t from, int64_t to) {
  std::vector<int64_t> values;
  for (const int64_t value : {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}) {
    if (value >= from && value <= to) values.push_back(value);
  }
  return values;
}

std::vector<int64_t> WorkersToTry(int64_t cores) {
  return Ladder(0, std::max(kLeastOfMost, kProcessesPerCore * cores));
}

}  // namespace stallscope
