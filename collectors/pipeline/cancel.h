// One flag that ends a pipeline, and the sleeps and waits that obey it.
#ifndef STALLSCOPE_COLLECTORS_PIPELINE_CANCEL_H_
#define STALLSCOPE_COLLECTORS_PIPELINE_CANCEL_H_

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
  // Returns when all listeners have been called, by whichever thread: who cancels and then goes
  // must not go while another one's call still reaches it. Not from a listener.
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

// What a call gives that was cut short.
Error CancelledError();

}  // namespace stallscope::pipeline

#endif  // STALLSCOPE_COLLECTORS_PIPELINE_CANCEL_H_
