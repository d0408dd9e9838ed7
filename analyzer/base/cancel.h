// Whether anybody still waits for the result of long work. Whoever waits owns the flag, which
// outlives the work and is never lowered; the work asks every few milliseconds and returns early.
// Any thread.
#ifndef STALLSCOPE_ANALYZER_BASE_CANCEL_H_
#define STALLSCOPE_ANALYZER_BASE_CANCEL_H_

#include <atomic>

namespace stallscope {

class Cancel {
 public:
  Cancel() = default;  // nobody ever cancels
  explicit Cancel(const std::atomic<bool>& flag) : flag_(&flag) {}

  bool requested() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  // As the `stop_requested` of a replay.
  bool operator()() const { return requested(); }

 private:
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace stallscope

#endif  // STALLSCOPE_ANALYZER_BASE_CANCEL_H_
