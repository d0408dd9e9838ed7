// What happens next, to whom: a binary heap by time. Private to the room.
//
// Equal times come in the order of `who`, so that the order never depends on how the heap was
// filled. A heap of our own: std::priority_queue cannot replace its top, and nearly every event of
// a simulation makes the next one.
#ifndef STALLSCOPE_REPLAY_SIMULATE_EVENT_HEAP_H_
#define STALLSCOPE_REPLAY_SIMULATE_EVENT_HEAP_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stallscope::replay {

struct Event {
  double time = 0;
  uint32_t who = 0;
  bool operator<(const Event& other) const {
    return time < other.time || (time == other.time && who < other.who);
  }
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
      if (!(event < events_[parent])) break;
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
    for (size_t child = 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && events_[child + 1] < events_[child]) ++child;
      if (!(events_[child] < event)) break;
      events_[at] = events_[child];
      at = child;
    }
    events_[at] = event;
  }

  std::vector<Event> events_;
};

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SIMULATE_EVENT_HEAP_H_
