// A bounded queue of tickets, like collectors/pipeline/ring.h: many producers, one consumer, in
// ticket order. Private to the room; one thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace stallscope::replay {

constexpr uint32_t kNobody = ~uint32_t{0};

class HandOver {
 public:
  explicit HandOver(uint64_t limit)
      : limit_(std::max<uint64_t>(limit, 1)),
        mask_(std::bit_ceil(limit_) - 1),
        filled_(mask_ + 1, 0) {}

  uint64_t DrawTicket() { return tickets_++; }
  bool HasRoom(uint64_t ticket) const { return ticket < popped_ + limit_; }
  void Push(uint64_t ticket) {
    filled_[ticket & mask_] = 1;
    ++pushed_;
  }
  bool HasNext() const { return filled_[popped_ & mask_] != 0; }
  void Pop() {
    filled_[popped_ & mask_] = 0;
    ++popped_;
  }
  // A producer that waits for room is woken when there is room for more than one item.
  bool WakesForRoom() const {
    const uint64_t depth = pushed_ - popped_;
    return limit_ - std::min(limit_, depth) >= std::max<uint64_t>(limit_ / 4, 1);
  }

  uint32_t popper = kNobody;  // that sleeps for an item
  struct Sleeper {
    uint64_t ticket;
    uint32_t who;
  };
  std::vector<Sleeper> pushers;  // that sleep for room

 private:
  uint64_t limit_;
  uint64_t mask_;
  std::vector<uint8_t> filled_;
  uint64_t tickets_ = 0;
  uint64_t pushed_ = 0;
  uint64_t popped_ = 0;
};

}  // namespace stallscope::replay
