// Maps a device's clock to the run's: readings of both at nearly the same instant, from the start
// to the end of a run, joined by straight lines. So it follows a drift between the clocks, and how
// far a reading is from the extended previous line tells how far off times may be.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analyzer/base/clock.h"

namespace stallscope::device::cuda {

class ClockAlignment {
 public:
  // The device's clock was read between these two of ours.
  struct Reading {
    int64_t device_ns = 0;
    Ticks before = 0;
    Ticks after = 0;
  };
  // The one of `tries` that took the shortest: the others were interrupted.
  static Reading Read(const std::function<int64_t()>& device_clock, int tries = 8);

  // `ticks_per_ns`: the clocks' ratio until two readings are there.
  explicit ClockAlignment(double ticks_per_ns) : nominal_(ticks_per_ns) {}

  // In time order; one that advances neither clock is ignored.
  void Add(const Reading& reading);
  bool empty() const { return anchors_.empty(); }
  // Interpolated between readings; extrapolated before the first and after the last.
  Ticks ToTicks(int64_t device_ns) const;
  // By how much a time can be off: half the longest reading, plus the farthest that one was from
  // the extended previous line.
  double ErrorNs() const;
  // How much faster the device's clock runs than ours, in parts per million, over the whole run.
  double DriftPpm() const;

 private:
  struct Anchor {
    int64_t device_ns;
    double ticks;
  };
  double Slope(size_t segment) const;

  const double nominal_;
  std::vector<Anchor> anchors_;
  double detour_ = 0;  // ticks, the longest half
  double beside_ = 0;  // ticks, the farthest
};

}  // namespace stallscope::device::cuda
