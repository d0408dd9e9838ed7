// One thread's ring: a single producer that never waits, a single consumer that drains.
//
// An event takes one to three slots of 24 bytes. A full ring refuses the event; the producer counts
// it, remembers the time range of its losses, and puts that gap into the ring as soon as there is
// room again. The memory is mapped and faulted in before the ring is used. It is this process's
// own, or a file that another process drains (ring_file.h): RING.md has the layout.
#pragma once

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

enum class TickSource : uint64_t { kMonotonic = 0, kTsc = 1 };

// What a ring is, and what its two sides tell each other: the start of a ring's file.
struct RingHeader {
  uint64_t magic = 0;
  uint64_t version = 0;
  uint64_t slots = 0;
  uint64_t pid = 0;
  uint64_t tid = 0;
  uint64_t start = 0;  // of the process, in ticks since the machine was started
  uint64_t tick_source = 0;
  uint64_t track_plus_1 = 0;
  // The producer's line.
  std::atomic<uint64_t> published{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> gap_from{0};
  std::atomic<uint64_t> gap_to{0};
  std::atomic<uint64_t> gap_dropped{0};
  std::atomic<uint64_t> closed{0};
  uint64_t unused[2] = {};
  // The consumer's.
  std::atomic<uint64_t> tail{0};
};
static_assert(offsetof(RingHeader, published) == 64 && offsetof(RingHeader, tail) == 128);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

class Ring {
 public:
  // In memory of this process. `slots` is a power of two, or 0: such a ring accepts nothing and
  // counts what it refuses.
  enum class Fault : uint8_t { kNow, kLater };
  explicit Ring(size_t slots, Fault fault = Fault::kNow);
  // In a mapping of mapping.slots slots behind kHeaderBytes, which it unmaps.
  static constexpr size_t kHeaderBytes = 4096;
  explicit Ring(RingHeader& mapping);
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
    header_->published.store(at, std::memory_order_release);
  }

  // `count` events that never reached the producer: dropped, like those that a full ring refuses.
  void Lose(uint64_t count, Ticks from, Ticks to) noexcept;
  // Nothing follows.
  void Close() noexcept { header_->closed.store(1, std::memory_order_release); }
  // In a forked child: what this process writes from now on is its own, and nobody reads it.
  void Detach() noexcept;

  // --- The consumer ---

  // Slots between Tail() and Published() may be read until Release().
  uint64_t Published() const { return header_->published.load(std::memory_order_acquire); }
  uint64_t Tail() const { return header_->tail.load(std::memory_order_relaxed); }
  const Slot& At(uint64_t index) const { return slots_[index & mask_]; }
  void Release(uint64_t tail) { header_->tail.store(tail, std::memory_order_release); }

  // Events that the producer has dropped so far, and the gap that it could not put into the ring
  // yet: `dropped` is 0 if there is none.
  struct OpenGap {
    Ticks from = 0;
    Ticks to = 0;
    uint64_t dropped = 0;
  };
  uint64_t Dropped() const { return header_->dropped.load(std::memory_order_relaxed); }
  OpenGap Open() const;

  // Empties the ring for its next thread. Nobody else may use it.
  void Reset();

 private:
  friend class AdoptedRing;  // copies another process's ring into this one

  bool MakeRoom(Ticks now, uint64_t needed) noexcept;

  RingHeader* header_ = &own_header_;
  Slot* slots_ = nullptr;
  uint64_t capacity_ = 0;
  uint64_t mask_ = 0;
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  // The producer's own line.
  struct alignas(64) {
    uint64_t head = 0;
    uint64_t limit = 0;  // the head may advance this far without checking the tail
  } producer_;
  alignas(64) RingHeader own_header_;
};

}  // namespace stallscope::recorder
