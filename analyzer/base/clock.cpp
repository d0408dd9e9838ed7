#include "analyzer/base/clock.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stallscope {
namespace {

int64_t ReadNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool HasInvariantTsc() {
  const char* asked = std::getenv("STALLSCOPE_CLOCK");
  if (asked != nullptr && std::strcmp(asked, "monotonic") == 0) return false;
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx & (1u << 8)) != 0;
#else
  return false;
#endif
}

}  // namespace

namespace internal {
const bool kTicksAreTsc = HasInvariantTsc();
}

int64_t MonotonicNs() { return ReadNs(CLOCK_MONOTONIC); }
int64_t RealtimeNs() { return ReadNs(CLOCK_REALTIME); }
int64_t ThreadCpuNs() { return ReadNs(CLOCK_THREAD_CPUTIME_ID); }

ClockAnchor ReadClockAnchor() {
  ClockAnchor best;
  Ticks best_detour = ~Ticks{0};
  for (int attempt = 0; attempt < 8; ++attempt) {
    const Ticks before = NowTicks();
    const int64_t ns = MonotonicNs();
    const Ticks after = NowTicks();
    if (after - before < best_detour) {
      best_detour = after - before;
      best = {before + (after - before) / 2, ns};
    }
  }
  return best;
}

void ClockMap::Add(ClockAnchor anchor) {
  if (!has_anchor_) {
    has_anchor_ = true;
    last_anchor_ = anchor;
    segment_start_ = anchor.ticks;
    last_ns_ = anchor.ns;
    return;
  }
  if (anchor.ticks <= last_anchor_.ticks || anchor.ns <= last_anchor_.ns) return;
  __extension__ using Wide = unsigned __int128;
  const Wide elapsed_ns = static_cast<Wide>(anchor.ns - last_anchor_.ns) << 32;
  last_multiplier_ = static_cast<uint64_t>(elapsed_ns / (anchor.ticks - last_anchor_.ticks));
  segment_start_ = last_anchor_.ticks;
  last_ns_ = last_anchor_.ns;
  segments_.push_back({segment_start_, last_ns_, last_multiplier_});
  last_anchor_ = anchor;
}

int64_t ClockMap::ToNsSlow(Ticks ticks) const {
  if (segments_.empty()) return last_ns_ - Scale(segment_start_ - ticks, last_multiplier_);
  auto after = std::upper_bound(segments_.begin(), segments_.end(), ticks,
                                [](Ticks t, const Segment& s) { return t < s.ticks; });
  if (after == segments_.begin()) {
    return after->ns - Scale(after->ticks - ticks, after->multiplier);
  }
  const Segment& segment = *(after - 1);
  return segment.ns + Scale(ticks - segment.ticks, segment.multiplier);
}

double ClockMap::TicksPerSecond() const {
  if (segments_.empty()) return 0;
  return 1e9 * 4294967296.0 / static_cast<double>(last_multiplier_);
}

}  // namespace stallscope
