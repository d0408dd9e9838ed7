// The model of the machine's time: cores that all runnable threads share evenly, and timers.
// Private to the room; one thread.
//
// Of n threads on c cores each runs at the speed min(1, c/n). All bursts advance at the same speed,
// so one virtual clock serves all of them: a burst of d that starts at the virtual time v ends at v
// + d, however often the speed changes meanwhile, and no event ever has to be moved.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "replay/simulate/event_heap.h"

namespace stallscope::replay {

// Threads that may go on at once, first come first served. There are nearly always one or two, so a
// vector with a moving start costs less than a deque.
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

class Scheduler {
 public:
  // At most `threads` run at once.
  Scheduler(double cores, size_t threads) : speeds_(threads + 1) {
    cores = std::max(cores, 0.01);
    for (size_t running = 1; running <= threads; ++running) {
      const double share = cores / static_cast<double>(running);
      if (share < 1) speeds_[running] = {share, 1 / share};
    }
  }

  double now() const { return now_; }
  uint64_t events() const { return events_; }

  // `who` burns this much CPU from now on.
  void Burn(uint32_t who, double ns) {
    bursts_.Push({virtual_now_ + ns, who});
    SetSpeed();
  }
  // `who` continues at that time, which is not in the past.
  void WakeAt(uint32_t who, double time) { timers_.Push({std::max(time, now_), who}); }

  // Moves time on to the next event. False: there is none.
  bool Next(uint32_t& who) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const double burst =
        bursts_.empty() ? kNever : now_ + (bursts_.top().time - virtual_now_) * now_at_.slowness;
    const double timer = timers_.empty() ? kNever : timers_.top().time;
    if (burst <= timer) {
      if (bursts_.empty()) return false;
      who = bursts_.top().who;
      virtual_now_ = bursts_.top().time;
      now_ = burst;
      bursts_.Pop();
      SetSpeed();
    } else {
      who = timers_.top().who;
      virtual_now_ += (timer - now_) * now_at_.speed;
      now_ = timer;
      timers_.Pop();
    }
    ++events_;
    return true;
  }

 private:
  // Each thread's speed when this many run, and its inverse: a division per event would be
  // noticeable.
  struct Speed {
    double speed = 1;
    double slowness = 1;
  };
  void SetSpeed() {
    assert(bursts_.size() < speeds_.size());
    now_at_ = speeds_[bursts_.size()];
  }

  std::vector<Speed> speeds_;
  EventHeap bursts_;  // by virtual time
  EventHeap timers_;
  double now_ = 0;
  double virtual_now_ = 0;
  Speed now_at_;
  uint64_t events_ = 0;
};

}  // namespace stallscope::replay
