#include "collectors/pipeline/cancel.h"

#include <sys/prctl.h>

#include <chrono>

namespace stallscope::pipeline {
namespace {

// The kernel lets a thread oversleep by 50 us unless told otherwise, which would be most of a short
// sleep of known length.
void WakeOnTime() {
  thread_local const int said = prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  static_cast<void>(said);
}

}  // namespace

void CancelToken::Cancel() {
  std::vector<std::function<void()>> listeners;
  {
    std::unique_lock lock(mutex_);
    if (cancelled()) return wake_.wait(lock, [&] { return all_told_; });
    cancelled_.store(true, std::memory_order_release);
    listeners.swap(listeners_);
  }
  wake_.notify_all();
  for (const auto& wake : listeners) wake();
  const std::lock_guard lock(mutex_);
  all_told_ = true;
  wake_.notify_all();
}

bool CancelToken::SleepFor(int64_t ns) {
  if (ns <= 0) return !cancelled();
  WakeOnTime();
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return cancelled(); });
}

void CancelToken::OnCancel(std::function<void()> wake) {
  {
    const std::lock_guard lock(mutex_);
    if (!cancelled()) {
      listeners_.push_back(std::move(wake));
      return;
    }
  }
  wake();
}

Error CancelledError() { return Error{ErrorKind::kRun, "the pipeline was canceled", "", ""}; }

}  // namespace stallscope::pipeline
