// A device's clock on the run's: readings of both at nearly the same instant, from the start to the
// end of a run, and a straight line from each to the next. So a drift between the clocks is
// followed, and what a reading finds beside the line that went before says how far off times may
// be.
//
// One thread at a time.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_CLOCK_ALIGNMENT_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_CLOCK_ALIGNMENT_H_

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
  // The one of `tries` with the shortest detour: the others were interrupted.
  static Reading Read(const std::function<int64_t()>& device_clock, int tries = 8);

  // `ticks_per_ns`: what the clocks' ratio is taken for until two readings tell it.
  explicit ClockAlignment(double ticks_per_ns) : nominal_(ticks_per_ns) {}

  // In the order of time; one that advances neither clock is ignored.
  void Add(const Reading& reading);
  bool empty() const { return anchors_.empty(); }
  // Between readings on the line through both; before the first and after the last on the nearest.
  Ticks ToTicks(int64_t device_ns) const;
  // By how much a time can be wrong: half the longest detour of a reading, and the farthest that
  // one lay from where the line before it led.
  double ErrorNs() const;
  // How much faster the device's clock goes than ours, in parts per million, over the whole run.
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

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_CLOCK_ALIGNMENT_H_
