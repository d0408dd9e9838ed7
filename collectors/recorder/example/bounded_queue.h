// The program's own queue between two stages: a mutex, two condition variables, an end.
//
// What the recorder needs is five lines: a wait where the thread has to sleep, with who ended it,
// and a push or pop with the depth after it. Any number of threads on either side.
#ifndef EXAMPLE_BOUNDED_QUEUE_H_
#define EXAMPLE_BOUNDED_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "collectors/recorder/track.h"

namespace example {

// T has a member `id` of type stallscope::ItemId.
template <class T>
class BoundedQueue {
 public:
  BoundedQueue(size_t capacity, stallscope::QueueId id) : capacity_(capacity), id_(id) {}

  void Push(T item) {
    std::unique_lock lock(mutex_);
    if (items_.size() >= capacity_) {
      stallscope::recorder::WaitScope wait(stallscope::trace::WaitCause::kFull, id_);
      room_.wait(lock, [this] { return items_.size() < capacity_; });
      wait.SetWaker(last_popper_);
    }
    const stallscope::ItemId item_id = item.id;
    items_.push_back(std::move(item));
    if (auto* track = stallscope::recorder::CurrentTrack()) {
      track->Push(id_, item_id, static_cast<uint32_t>(items_.size()), stallscope::NowTicks());
      last_pusher_ = track->id();
    }
    lock.unlock();
    filled_.notify_one();
  }

  // The next item; nothing once the queue is closed and empty.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    if (items_.empty() && !closed_) {
      stallscope::recorder::WaitScope wait(stallscope::trace::WaitCause::kEmpty, id_);
      filled_.wait(lock, [this] { return !items_.empty() || closed_; });
      wait.SetWaker(last_pusher_);
    }
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    if (auto* track = stallscope::recorder::CurrentTrack()) {
      track->Pop(id_, item.id, static_cast<uint32_t>(items_.size()), stallscope::NowTicks());
      last_popper_ = track->id();
    }
    lock.unlock();
    room_.notify_one();
    return item;
  }

  // No more items will come.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    filled_.notify_all();
  }

 private:
  const size_t capacity_;
  const stallscope::QueueId id_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable room_;
  std::deque<T> items_;
  bool closed_ = false;
  stallscope::TrackId last_pusher_;
  stallscope::TrackId last_popper_;
};

}  // namespace example

#endif  // EXAMPLE_BOUNDED_QUEUE_H_
