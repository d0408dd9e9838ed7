#include "collectors/recorder/ring.h"

#include <sys/mman.h>

#include <bit>
#include <cassert>

#include "collectors/recorder/track.h"

namespace stallscope::recorder {

Ring::Ring(size_t slots) {
  assert(slots == 0 || std::has_single_bit(slots));
  capacity_ = slots;
  mask_ = slots - 1;
  if (slots != 0) {
    // Populated now: a first touch costs 2.4 us per page, as much as a hundred spans.
    void* memory = mmap(nullptr, slots * sizeof(Slot), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory != MAP_FAILED) slots_ = static_cast<Slot*>(memory);
  }
  producer_.limit = slots_ != nullptr ? capacity_ : 0;
}

Ring::~Ring() {
  if (slots_ != nullptr) munmap(slots_, capacity_ * sizeof(Slot));
}

bool Ring::MakeRoom(Ticks now, uint64_t needed) noexcept {
  constexpr uint64_t kGapSlots = 2;
  const uint64_t head = producer_.head;
  const uint64_t limit = tail_.load(std::memory_order_acquire) + capacity_;
  const uint64_t lost = gap_dropped_.load(std::memory_order_relaxed);
  if (head + needed + (lost != 0 ? kGapSlots : 0) > limit) {
    if (lost == 0) gap_from_.store(now, std::memory_order_relaxed);
    gap_to_.store(now, std::memory_order_relaxed);
    gap_dropped_.store(lost + 1, std::memory_order_relaxed);
    dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    producer_.limit = head;  // the next event gets here again and closes the gap if it can
    return false;
  }
  producer_.limit = limit;
  if (lost != 0) {
    slots_[head & mask_] = {gap_from_.load(std::memory_order_relaxed),
                            internal::Word(internal::Tag::kGap), lost};
    slots_[(head + 1) & mask_] = {gap_to_.load(std::memory_order_relaxed), 0, 0};
    producer_.head = head + kGapSlots;
    gap_dropped_.store(0, std::memory_order_relaxed);
  }
  return true;
}

void Ring::Lose(uint64_t count, Ticks from, Ticks to) noexcept {
  const uint64_t lost = gap_dropped_.load(std::memory_order_relaxed);
  if (lost == 0) gap_from_.store(from, std::memory_order_relaxed);
  gap_to_.store(to, std::memory_order_relaxed);
  gap_dropped_.store(lost + count, std::memory_order_relaxed);
  dropped_.store(dropped_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  producer_.limit = producer_.head;  // the next event calls MakeRoom and closes the gap
}

Ring::OpenGap Ring::Open() const {
  return {gap_from_.load(std::memory_order_relaxed), gap_to_.load(std::memory_order_relaxed),
          gap_dropped_.load(std::memory_order_relaxed)};
}

void Ring::Reset() {
  producer_.head = 0;
  producer_.limit = slots_ != nullptr ? capacity_ : 0;
  published_.store(0, std::memory_order_relaxed);
  dropped_.store(0, std::memory_order_relaxed);
  gap_dropped_.store(0, std::memory_order_relaxed);
  tail_.store(0, std::memory_order_relaxed);
}

}  // namespace stallscope::recorder
