// What happens next, to whom: a binary heap by time. Private to the room.
//
// Events at equal times come in an order that depends only on earlier pushes and pops: the same
// simulation has the same order everywhere. A heap of our own: of two children the earlier one is
// chosen without a branch, which the processor would mispredict half of the time.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stallscope::replay {

struct Event {
  double time = 0;
  uint32_t who = 0;
};

class EventHeap {
 public:
  bool empty() const { return events_.empty(); }
  size_t size() const { return events_.size(); }
  void clear() { events_.clear(); }
  const Event& top() const {
    assert(!empty());
    return events_.front();
  }

  void Push(Event event) {
    events_.push_back(event);
    size_t at = events_.size() - 1;
    while (at > 0) {
      const size_t parent = (at - 1) / 2;
      if (event.time >= events_[parent].time) break;
      events_[at] = events_[parent];
      at = parent;
    }
    events_[at] = event;
  }

  void Pop() {
    assert(!empty());
    const Event last = events_.back();
    events_.pop_back();
    if (!events_.empty()) SiftDown(last);
  }

 private:
  // From the top, where there is a hole.
  void SiftDown(Event event) {
    const size_t count = events_.size();
    size_t at = 0;
    Event* const events = events_.data();
    for (size_t child = 1; child + 1 < count; child = 2 * at + 1) {
      child += static_cast<size_t>(events[child + 1].time < events[child].time);
      if (events[child].time >= event.time) break;
      events[at] = events[child];
      at = child;
    }
    // The last one may be an only child.
    const size_t child = 2 * at + 1;
    if (child + 1 == count && events[child].time < event.time) {
      events[at] = events[child];
      at = child;
    }
    events[at] = event;
  }

  std::vector<Event> events_;
};

}  // namespace stallscope::replay
