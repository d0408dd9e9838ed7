#include "collectors/data/throttle.h"

#include <time.h>

#include <algorithm>
#include <cassert>
#include <cerrno>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"

namespace stallscope::data {
namespace {
constexpr int64_t kBurstNs = 20 * kNsPerMs;
}

TokenBucket::TokenBucket(uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {
  assert(bytes_per_s > 0);
}

int64_t TokenBucket::DueAt(uint64_t bytes, int64_t now_ns) {
  const double cost = static_cast<double>(bytes) * kNsPerSecond / static_cast<double>(bytes_per_s_);
  const std::lock_guard lock(mutex_);
  if (next_ns_ == INT64_MIN) next_ns_ = now_ns;
  // Tokens that nobody took for more than the burst's time are lost.
  next_ns_ = std::max(next_ns_, now_ns - kBurstNs) + static_cast<int64_t>(std::min(cost, 9e17));
  return next_ns_;
}

void TokenBucket::Take(uint64_t bytes) {
  const int64_t due = DueAt(bytes, MonotonicNs());
  const timespec until{static_cast<time_t>(due / kNsPerSecond),
                       static_cast<long>(due % kNsPerSecond)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

uint64_t TokenBucket::ReadSize() const {
  return std::clamp<uint64_t>(bytes_per_s_ / 50 / 4096 * 4096, 4096, uint64_t{1} << 20);
}

}  // namespace stallscope::data
