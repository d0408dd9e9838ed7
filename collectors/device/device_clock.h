// The time that an emulated device goes by: the machine's, or a test's.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_DEVICE_CLOCK_H_
#define STALLSCOPE_COLLECTORS_DEVICE_DEVICE_CLOCK_H_

#include "analyzer/base/clock.h"

namespace stallscope::device {

// Any thread.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  virtual Ticks Now() = 0;
  // Returns at that time or later, without burning CPU.
  virtual void WaitUntil(Ticks time) = 0;
  virtual double TicksPerNs() const = 0;

  // The ticks that so many nanoseconds take, rounded to the nearest.
  Ticks ToTicks(double ns) const { return static_cast<Ticks>(ns * TicksPerNs() + 0.5); }
};

// The first one measures how fast ticks go, which takes 20 ms.
class MachineClock : public DeviceClock {
 public:
  MachineClock();
  Ticks Now() override { return NowTicks(); }
  void WaitUntil(Ticks time) override;
  double TicksPerNs() const override { return ticks_per_ns_; }

 private:
  double ticks_per_ns_ = 1;
};

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_DEVICE_CLOCK_H_
