// Who may go on at once, first come first served. Private to the room; one thread.
//
// Nearly always one or two: a vector with a beginning does, which costs less than a deque.
#ifndef STALLSCOPE_REPLAY_SIMULATE_READY_LIST_H_
#define STALLSCOPE_REPLAY_SIMULATE_READY_LIST_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stallscope::replay {

class ReadyList {
 public:
  bool empty() const { return first_ == list_.size(); }
  void Push(uint32_t who) { list_.push_back(who); }
  uint32_t Pop() {
    assert(!empty());
    const uint32_t who = list_[first_];
    if (++first_ == list_.size() || first_ == kMostSpent) {
      list_.erase(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return who;
  }

 private:
  static constexpr size_t kMostSpent = 256;  // places before the first: it may never be empty

  std::vector<uint32_t> list_;
  size_t first_ = 0;
};

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SIMULATE_READY_LIST_H_
