// One thread's ring: a single producer that never waits, a single consumer that drains.
//
// An event takes one to three slots of 24 bytes. A full ring refuses the event; the producer counts
// it, remembers the time range of its losses, and puts that gap into the ring as soon as there is
// room again. The memory is mapped and faulted in before the ring is used.
#ifndef STALLSCOPE_COLLECTORS_RECORDER_RING_H_
#define STALLSCOPE_COLLECTORS_RECORDER_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "analyzer/base/clock.h"

namespace stallscope::recorder {

struct Slot {
  uint64_t a;
  uint64_t b;
  uint64_t c;
};
static_assert(sizeof(Slot) == 24);

class Ring {
 public:
  // `slots` is a power of two, or 0: such a ring accepts nothing and counts what it refuses.
  explicit Ring(size_t slots);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  // False if out of memory; nothing else may then be called.
  bool ok() const { return slots_ != nullptr || capacity_ == 0; }
  uint64_t capacity() const { return capacity_; }

  // --- The producer ---

  // Writes the slots of one event (1 to 3). `now` places a gap if there is no room.
  template <class... S>
  void Put(Ticks now, S... slots) noexcept {
    constexpr uint64_t kNeeded = sizeof...(S);
    uint64_t head = producer_.head;
    if (head + kNeeded > producer_.limit) [[unlikely]] {
      if (!MakeRoom(now, kNeeded)) return;
      head = producer_.head;
    }
    uint64_t at = head;
    ((slots_[at++ & mask_] = slots), ...);
    producer_.head = at;
    published_.store(at, std::memory_order_release);
  }

  // `count` events that never reached the producer: dropped, like those that a full ring refuses.
  void Lose(uint64_t count, Ticks from, Ticks to) noexcept;

  // --- The consumer ---

  // Slots between Tail() and Published() may be read until Release().
  uint64_t Published() const { return published_.load(std::memory_order_acquire); }
  uint64_t Tail() const { return tail_.load(std::memory_order_relaxed); }
  const Slot& At(uint64_t index) const { return slots_[index & mask_]; }
  void Release(uint64_t tail) { tail_.store(tail, std::memory_order_release); }

  // Events that the producer has dropped so far, and the gap that it could not put into the ring
  // yet: `dropped` is 0 if there is none.
  struct OpenGap {
    Ticks from = 0;
    Ticks to = 0;
    uint64_t dropped = 0;
  };
  uint64_t Dropped() const { return dropped_.load(std::memory_order_relaxed); }
  OpenGap Open() const;

  // Empties the ring for its next thread. Nobody else may use it.
  void Reset();

 private:
  bool MakeRoom(Ticks now, uint64_t needed) noexcept;

  Slot* slots_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t mask_ = 0;
  // The producer's own line, then the lines that the two sides share, one for each writer.
  struct alignas(64) {
    uint64_t head = 0;
    uint64_t limit = 0;  // the head may advance this far without checking the tail
  } producer_;
  alignas(64) std::atomic<uint64_t> published_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> gap_from_{0};
  std::atomic<uint64_t> gap_to_{0};
  std::atomic<uint64_t> gap_dropped_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace stallscope::recorder

#endif  // STALLSCOPE_COLLECTORS_RECORDER_RING_H_
