#include "collectors/recorder/ring.h"

#include <sys/mman.h>

#include <bit>
#include <cassert>

#include "collectors/recorder/track.h"

namespace stallscope::recorder {

Ring::Ring(size_t slots, Fault fault) {
  assert(slots == 0 || std::has_single_bit(slots));
  capacity_ = slots;
  mask_ = slots - 1;
  if (slots != 0) {
    mapped_bytes_ = slots * sizeof(Slot);
    // A first touch costs 2.4 us per page, as much as a hundred spans.
    const int populate = fault == Fault::kNow ? MAP_POPULATE : 0;
    void* memory = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);
    if (memory != MAP_FAILED) slots_ = static_cast<Slot*>(mapping_ = memory);
  }
  producer_.limit = slots_ != nullptr ? capacity_ : 0;
}

Ring::Ring(RingHeader& mapping)
    : header_(&mapping),
      slots_(reinterpret_cast<Slot*>(reinterpret_cast<char*>(&mapping) + kHeaderBytes)),
      capacity_(mapping.slots),
      mask_(capacity_ - 1),
      mapping_(&mapping),
      mapped_bytes_(kHeaderBytes + capacity_ * sizeof(Slot)) {
  assert(std::has_single_bit(capacity_));
  producer_.limit = capacity_;
}

Ring::~Ring() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

bool Ring::MakeRoom(Ticks now, uint64_t needed) noexcept {
  constexpr uint64_t kGapSlots = 2;
  const uint64_t head = producer_.head;
  const uint64_t limit = header_->tail.load(std::memory_order_acquire) + capacity_;
  const uint64_t lost = header_->gap_dropped.load(std::memory_order_relaxed);
  if (slots_ == nullptr || head + needed + (lost != 0 ? kGapSlots : 0) > limit) {
    if (lost == 0) header_->gap_from.store(now, std::memory_order_relaxed);
    header_->gap_to.store(now, std::memory_order_relaxed);
    header_->gap_dropped.store(lost + 1, std::memory_order_relaxed);
    header_->dropped.store(Dropped() + 1, std::memory_order_relaxed);
    producer_.limit = head;  // the next event gets here again and closes the gap if it can
    return false;
  }
  producer_.limit = limit;
  if (lost != 0) {
    slots_[head & mask_] = {header_->gap_from.load(std::memory_order_relaxed),
                            internal::Word(internal::Tag::kGap), lost};
    slots_[(head + 1) & mask_] = {header_->gap_to.load(std::memory_order_relaxed), 0, 0};
    producer_.head = head + kGapSlots;
    header_->gap_dropped.store(0, std::memory_order_relaxed);
  }
  return true;
}

void Ring::Lose(uint64_t count, Ticks from, Ticks to) noexcept {
  const uint64_t lost = header_->gap_dropped.load(std::memory_order_relaxed);
  if (lost == 0) header_->gap_from.store(from, std::memory_order_relaxed);
  header_->gap_to.store(to, std::memory_order_relaxed);
  header_->gap_dropped.store(lost + count, std::memory_order_relaxed);
  header_->dropped.store(Dropped() + count, std::memory_order_relaxed);
  producer_.limit = producer_.head;  // the next event calls MakeRoom and closes the gap
}

void Ring::Detach() noexcept {
  if (mapping_ == nullptr) return;
  // Over the shared mapping, so that no pointer into it has to change.
  mmap(mapping_, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
       0);
}

Ring::OpenGap Ring::Open() const {
  return {header_->gap_from.load(std::memory_order_relaxed),
          header_->gap_to.load(std::memory_order_relaxed),
          header_->gap_dropped.load(std::memory_order_relaxed)};
}

void Ring::Reset() {
  producer_.head = 0;
  producer_.limit = slots_ != nullptr ? capacity_ : 0;
  header_->published.store(0, std::memory_order_relaxed);
  header_->dropped.store(0, std::memory_order_relaxed);
  header_->gap_dropped.store(0, std::memory_order_relaxed);
  header_->tail.store(0, std::memory_order_relaxed);
}

}  // namespace stallscope::recorder
