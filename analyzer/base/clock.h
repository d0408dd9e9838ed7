// One clock for everything that is recorded.
//
// Timestamps are ticks: the invariant time-stamp counter if the machine has one (11 ns per read),
// else CLOCK_MONOTONIC in nanoseconds. Ticks become nanoseconds of CLOCK_MONOTONIC through a
// ClockMap, which interpolates between anchors (pairs of both clocks read at the same instant), so
// the map is continuous, never runs backwards, and follows any drift between the two clocks. Any
// thread may read clocks; a ClockMap belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

namespace stallscope {

using Ticks = uint64_t;

// CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_THREAD_CPUTIME_ID in nanoseconds.
int64_t MonotonicNs();
int64_t RealtimeNs();
int64_t ThreadCpuNs();

namespace internal {
extern const bool kTicksAreTsc;
}

// Whether ticks come from the time-stamp counter: it must be invariant (CPUID 8000_0007h) and
// STALLSCOPE_CLOCK=monotonic must not be set.
inline bool TicksAreTsc() { return internal::kTicksAreTsc; }

inline Ticks NowTicks() {
#if defined(__x86_64__)
  if (internal::kTicksAreTsc) [[likely]] {
    return __builtin_ia32_rdtsc();  // <x86intrin.h> adds 0.7 s to every compilation
  }
#endif
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Ticks>(now.tv_sec) * 1'000'000'000u + static_cast<Ticks>(now.tv_nsec);
}

// Both clocks at one instant: the closest pair of several tries.
struct ClockAnchor {
  Ticks ticks = 0;
  int64_t ns = 0;
};
ClockAnchor ReadClockAnchor();

class ClockMap {
 public:
  // Anchors must be added in order of time; one that does not advance both clocks is ignored.
  void Add(ClockAnchor anchor);
  // Before the first and after the last anchor, the nearest segment continues. With fewer than two
  // anchors, a tick counts as a nanosecond.
  int64_t ToNs(Ticks ticks) const {
    return ticks >= segment_start_ ? last_ns_ + Scale(ticks - segment_start_, last_multiplier_)
                                   : ToNsSlow(ticks);
  }
  // Ticks per second in the last segment; 0 before there is one.
  double TicksPerSecond() const;

 private:
  struct Segment {
    Ticks ticks;
    int64_t ns;
    uint64_t multiplier;  // nanoseconds per tick, 32.32 fixed point
  };
  static int64_t Scale(Ticks delta, uint64_t multiplier) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<int64_t>((static_cast<Wide>(delta) * multiplier) >> 32);
  }
  int64_t ToNsSlow(Ticks ticks) const;

  std::vector<Segment> segments_;
  ClockAnchor last_anchor_;
  bool has_anchor_ = false;
  Ticks segment_start_ = 0;
  int64_t last_ns_ = 0;
  uint64_t last_multiplier_ = uint64_t{1} << 32;
};

}  // namespace stallscope
