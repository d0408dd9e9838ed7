// The model of the machine's time: cores with a run queue each, and timers. Private to the room;
// one thread.
//
// The queues follow Linux's fair scheduler (EEVDF), since a pipeline whose threads sleep pays for
// its rules: a woken thread takes the core at once only if it is owed time, and otherwise waits for
// the running one's slice to end, which the kernel notices at a tick. Waiting earns what the next
// wake-ups spend. Rejected: threads that share the cores evenly at every instant. They burn as
// much, but nobody ever waits, which made a thread that slept beside busy cores 30% too fast.
//
// While nobody waits, of n threads on c cores each runs at the speed min(1, c/n): c need not be
// whole. All running bursts advance at the same speed, so one virtual clock serves all of them: a
// burst of d that starts at the virtual time v ends at v + d, however often the speed changes
// meanwhile.
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
  // At most `threads` run at once, numbered from 0.
  Scheduler(double cores, size_t threads);

  double now() const { return now_; }
  uint64_t events() const { return events_; }
  bool HasIdleCore() const { return !idle_.empty(); }
  // Of all threads together: ready, but without a core.
  double waited_ns() const { return waited_ns_; }

  // `who` burns this much CPU, from now on or from when it has a core. If its last burst ended at
  // this moment, it still has one.
  void Burn(uint32_t who, double ns) {
    Thread& thread = threads_[who];
    thread.left = ns;
    if (holder_ == who) {
      holder_ = kNone;
      Start(who);
    } else {
      Arrive(who);
    }
  }
  // `who` continues at that time, which is not in the past.
  void WakeAt(uint32_t who, double time) { timers_.Push({std::max(time, now_), who}); }

  // Moves time on to the next event. False: there is none.
  bool Next(uint32_t& who);

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  struct Thread {
    double ran = 0;               // on its core's queue's scale: the less, the more it is owed
    double deadline = 0;          // end of its slice, on the same scale
    double left = 0;              // work left to burn
    double started = 0;           // by the virtual clock
    double end = -1;              // by the virtual clock; -1: it is not running
    double owed = 0;              // when it went to sleep
    double slept_at = -1;         // -1: it has not run yet
    double stopped_at = -kNever;  // when it last had a core
    uint32_t core = 0;
  };
  struct Core {
    uint32_t running = kNone;
    double ran = 0;  // of all that wait
    std::vector<uint32_t> queue;
  };
  // Each thread's speed when this many cores are busy, and its inverse: a division per event would
  // be noticeable.
  struct Speed {
    double speed = 1;
    double slowness = 1;
  };

  void SetSpeed() { now_at_ = speeds_[busy_]; }
  void Start(uint32_t who) {
    Thread& thread = threads_[who];
    thread.started = virtual_now_;
    thread.end = virtual_now_ + thread.left;
    bursts_.Push({thread.end, who});
  }
  void Occupy(uint32_t core, uint32_t who) {
    cores_[core].running = who;
    threads_[who].core = core;
    ++busy_;
    SetSpeed();
    Start(who);
  }
  // A thread that went to sleep, or has not run yet, wants a core.
  void Arrive(uint32_t who);
  void Enqueue(uint32_t core, uint32_t who);
  // The thread whose burst has just ended does not go on: its core is free.
  void Leave();
  // The running thread's figures as of now.
  void Account(Thread& thread) const;
  double Average(const Core& core) const;
  static bool IsOwed(const Thread& running, double average);
  double LastTick() const;
  // A place in the queue, or behind it where the running thread should go on.
  size_t Pick(const Core& core) const;
  // From the running thread, which stays runnable, to the one at this place.
  void Switch(Core& core, size_t place);
  uint32_t TakeFrom(Core& core, size_t place);
  void Tick();
  // A thread that waits for another core and may move to an idle one.
  bool FindIdler(uint32_t& from, size_t& place) const;
  void AdvanceTo(double time) {
    virtual_now_ += (time - now_) * now_at_.speed;
    Pass(time);
  }
  void Pass(double time) {
    waited_ns_ += static_cast<double>(waiting_) * (time - now_);
    now_ = time;
  }

  std::vector<Speed> speeds_;
  std::vector<double> parts_;  // 1 / n: no division per event
  std::vector<Thread> threads_;
  std::vector<Core> cores_;
  std::vector<uint32_t> idle_;
  EventHeap bursts_;  // by virtual time; of threads that were interrupted, too
  EventHeap timers_;
  double now_ = 0;
  double virtual_now_ = 0;
  double next_tick_ = kNever;  // only while a thread waits for a core
  size_t busy_ = 0;
  size_t waiting_ = 0;
  uint32_t holder_ = kNone;  // whose burst has just ended
  Speed now_at_;
  double waited_ns_ = 0;
  uint64_t events_ = 0;
};

}  // namespace stallscope::replay
