// A request to stop long work. The caller owns the flag, which outlives the work and is never
// lowered; the work checks it every few milliseconds. Any thread.
#pragma once

#include <atomic>

namespace stallscope {

class Cancel {
 public:
  Cancel() = default;  // never canceled
  explicit Cancel(const std::atomic<bool>& flag) : flag_(&flag) {}

  bool requested() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  // Converts to a `stop_requested` callback.
  bool operator()() const { return requested(); }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace stallscope
