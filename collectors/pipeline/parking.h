// Where threads wait for something that others make true without a lock.
//
// The maker calls Wake() after it; that costs one atomic instruction where nobody sleeps. Waking a
// sleeper costs some 30 us, so who waits looks for a while first: 2 us, and after a row of sleeps
// that were shorter than 50 us for so long. Without the longer look two threads with little to do
// for each element wake each other for every few of them, at 1,000 ns an element and more. It ends
// with the first time that it was in vain: the other one may have no core. Any thread.
#ifndef STALLSCOPE_COLLECTORS_PIPELINE_PARKING_H_
#define STALLSCOPE_COLLECTORS_PIPELINE_PARKING_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "analyzer/base/clock.h"

namespace stallscope::pipeline {

class Parking {
 public:
  // Returns once ready() is true. It is called with a lock held: it must not block.
  template <class Ready>
  void Wait(Ready ready) {
    const int64_t start = MonotonicNs();
    const int64_t look_ns = look_ns_.load(std::memory_order_relaxed);
    // Ever less often: each look takes a cache line away from the one that is to write it, and who
    // comes back a little later finds several things made instead of one.
    int pauses = 1;
    do {
      if (ready()) return;
      for (int i = 0; i < pauses; ++i) Pause();
      pauses = std::min(pauses * 2, kMostPauses);
    } while (MonotonicNs() - start < look_ns);
    {
      std::unique_lock lock(mutex_);
      // Ordered with Wake's own: either that sees the sleeper, or this sees what was made.
      sleepers_.fetch_add(1, std::memory_order_acq_rel);
      wake_.wait(lock, ready);
      sleepers_.fetch_sub(1, std::memory_order_acq_rel);
    }
    Learn(look_ns, MonotonicNs() - start);
  }

  // Whether Wake() has anything to do, as the same atomic instruction tells it.
  bool HasSleepers() { return sleepers_.fetch_add(0, std::memory_order_acq_rel) != 0; }

  void Wake() {
    if (!HasSleepers()) return;
    { const std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }

 private:
  static constexpr int kMostPauses = 16;  // of 20 to 40 ns
  static constexpr int64_t kShortNs = 2'000;
  static constexpr int64_t kLongNs = 50'000;
  static constexpr int kRow = 16;

  // Several may do it at once: what is lost then is a count.
  void Learn(int64_t looked_ns, int64_t took_ns) {
    const bool was_short = looked_ns == kShortNs && took_ns < kLongNs;
    const int row = was_short ? row_.load(std::memory_order_relaxed) + 1 : 0;
    row_.store(row % kRow, std::memory_order_relaxed);
    look_ns_.store(row == kRow ? kLongNs : kShortNs, std::memory_order_relaxed);
  }

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<uint32_t> sleepers_{0};
  std::atomic<int> row_{0};  // of short sleeps
  std::atomic<int64_t> look_ns_{kShortNs};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace stallscope::pipeline

#endif  // STALLSCOPE_COLLECTORS_PIPELINE_PARKING_H_
