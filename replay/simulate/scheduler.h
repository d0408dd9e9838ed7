// The model of the machine's time: cores that all runnable threads share evenly, and timers.
// Private to the room; one thread.
//
// Of n threads on c cores each runs at the speed min(1, c/n). All bursts advance at the same speed,
// so one virtual clock does for all of them: a burst of d that starts at the virtual time v ends at
// v + d, however often the speed changes meanwhile, and no event ever has to be moved.
#ifndef STALLSCOPE_REPLAY_SIMULATE_SCHEDULER_H_
#define STALLSCOPE_REPLAY_SIMULATE_SCHEDULER_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "replay/simulate/event_heap.h"

namespace stallscope::replay {

class Scheduler {
 public:
  explicit Scheduler(double cores) : cores_(std::max(cores, 0.01)) {}

  double now() const { return now_; }
  uint64_t events() const { return events_; }

  // `who` burns so much CPU from now on.
  void Burn(uint32_t who, double ns) {
    bursts_.Push({virtual_now_ + ns, who});
    SetSpeed();
  }
  // `who` goes on at that time, which is not in the past.
  void WakeAt(uint32_t who, double time) { timers_.Push({std::max(time, now_), who}); }

  // Moves time on to the next event. False: there is none.
  bool Next(uint32_t& who) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    const double burst =
        bursts_.empty() ? kNever : now_ + (bursts_.top().time - virtual_now_) * slowness_;
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
      virtual_now_ += (timer - now_) * speed_;
      now_ = timer;
      timers_.Pop();
    }
    ++events_;
    return true;
  }

 private:
  void SetSpeed() {
    const auto running = static_cast<double>(bursts_.size());
    if (running <= cores_) {
      slowness_ = speed_ = 1;
    } else {
      slowness_ = running / cores_;
      speed_ = cores_ / running;
    }
  }

  const double cores_;
  EventHeap bursts_;  // by virtual time
  EventHeap timers_;
  double now_ = 0;
  double virtual_now_ = 0;
  double speed_ = 1;
  double slowness_ = 1;
  uint64_t events_ = 0;
};

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SIMULATE_SCHEDULER_H_
