// One flag that ends a pipeline, and the sleeps and waits that obey it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::pipeline {

// Any thread, all calls.
class CancelToken {
 public:
  // Returns once all listeners have been called, by whichever thread: a caller that goes away after
  // canceling must not do so while another thread's call can still reach it. Not from a listener.
  void Cancel();
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // False where it was cut short.
  bool SleepFor(int64_t ns);

  // `wake` is called once, from the thread that cancels first. Whoever registers must live until
  // then: every stage with threads cancels when it is destroyed, and the last one goes first.
  void OnCancel(std::function<void()> wake);

 private:
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void()>> listeners_;
  bool all_told_ = false;
};

// The error of a call that was cut short.
Error CancelledError();

}  // namespace stallscope::pipeline
