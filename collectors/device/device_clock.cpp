#include "collectors/device/device_clock.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace stallscope::device {
namespace {

// Two readings that are 100 ns off: 10 ppm. Once a process; a static initialiser would come for
// free, but before or after the one that finds out what a tick is.
double MeasureTicksPerNs() {
  if (!TicksAreTsc()) return 1;
  ClockMap map;
  map.Add(ReadClockAnchor());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  map.Add(ReadClockAnchor());
  return map.TicksPerSecond() / 1e9;
}

}  // namespace

MachineClock::MachineClock() {
  static const double measured = MeasureTicksPerNs();
  ticks_per_ns_ = measured;
}

void MachineClock::WaitUntil(Ticks time) {
  // A condition variable that nobody signals: its deadline is absolute, so a signal handler that
  // interrupts the wait does not lengthen it.
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mutex);
  for (Ticks now = Now(); now < time; now = Now()) {
    const double ns = std::max(1.0, static_cast<double>(time - now) / ticks_per_ns_);
    never.wait_until(lock, std::chrono::steady_clock::now() +
                               std::chrono::nanoseconds(static_cast<int64_t>(ns)));
  }
}

}  // namespace stallscope::device
