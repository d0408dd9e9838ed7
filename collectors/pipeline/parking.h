// Where threads wait for something that others make true without a lock.
//
// The maker calls Wake() after it; that costs one atomic instruction where nobody sleeps. A sleeper
// looks for a few microseconds first: a blocked hand-over costs some 30 us. Any thread.
#ifndef STALLSCOPE_COLLECTORS_PIPELINE_PARKING_H_
#define STALLSCOPE_COLLECTORS_PIPELINE_PARKING_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace stallscope::pipeline {

class Parking {
 public:
  // Returns once ready() is true. It is called with a lock held: it must not block.
  template <class Ready>
  void Wait(Ready ready) {
    for (int i = 0; i < kLooks; ++i) {
      if (ready()) return;
      Pause();
    }
    std::unique_lock lock(mutex_);
    // Ordered with Wake's own: either that sees the sleeper, or this sees what was made.
    sleepers_.fetch_add(1, std::memory_order_acq_rel);
    wake_.wait(lock, ready);
    sleepers_.fetch_sub(1, std::memory_order_acq_rel);
  }

  void Wake() {
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    { const std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }

 private:
  static constexpr int kLooks = 60;  // of some 40 ns
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<uint32_t> sleepers_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace stallscope::pipeline

#endif  // STALLSCOPE_COLLECTORS_PIPELINE_PARKING_H_
