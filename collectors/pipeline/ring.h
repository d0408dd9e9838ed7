// A bounded queue of tickets, with many producers and one consumer.
//
// Each push has a ticket, and items are popped in ticket order. If order is kept, a worker draws
// its ticket together with its input; if not, just before it pushes. So one queue serves both, and
// the only difference is when the ticket is drawn. There is no lock: two busy threads hand over an
// item in tens of nanoseconds.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/ids.h"
#include "collectors/pipeline/cancel.h"
#include "collectors/recorder/track.h"

namespace stallscope::pipeline {

// Where threads wait for a condition that others make true without a lock.
//
// Whoever makes it true then calls Wake(), which costs one atomic instruction if no one sleeps.
// Waking a sleeper costs about 30 us, so a waiter spins first: for 2 us or, after a series of
// sleeps shorter than 50 us, for that long. Without the longer spin, two threads with little to do
// per element wake each other every few elements, at 1,000 ns per element and more. The first long
// spin in vain ends it: the other thread may have no core. Any thread.
class Parking {
 public:
  // Returns once ready() is true. It is called with a lock held: it must not block.
  template <class Ready>
  void Wait(Ready ready) {
    const int64_t start = MonotonicNs();
    const int64_t look_ns = look_ns_.load(std::memory_order_relaxed);
    // Ever less often: each look takes a cache line away from the thread that is to write it, and a
    // waiter that comes back a little later finds several items instead of one.
    int pauses = 1;
    do {
      if (ready()) return;
      for (int i = 0; i < pauses; ++i) Pause();
      pauses = std::min(pauses * 2, kMostPauses);
    } while (MonotonicNs() - start < look_ns);
    {
      std::unique_lock lock(mutex_);
      // Pairs with Wake's: either Wake sees the sleeper, or this thread sees the new state.
      sleepers_.fetch_add(1, std::memory_order_acq_rel);
      wake_.wait(lock, ready);
      sleepers_.fetch_sub(1, std::memory_order_acq_rel);
    }
    Learn(look_ns, MonotonicNs() - start);
  }

  // Whether Wake() has anything to do, by the same atomic instruction.
  bool HasSleepers() { return sleepers_.fetch_add(0, std::memory_order_acq_rel) != 0; }

  void Wake() {
    if (!HasSleepers()) return;
    { const std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }

 private:
  static constexpr int kMostPauses = 16;  // of 20 to 40 ns
  static constexpr int64_t kShortNs = 2'000;
  static constexpr int64_t kLongNs = 50'000;
  static constexpr int kRow = 16;

  // Several threads may do this at once: at worst a count is lost.
  void Learn(int64_t looked_ns, int64_t took_ns) {
    const bool was_short = looked_ns == kShortNs && took_ns < kLongNs;
    const int row = was_short ? row_.load(std::memory_order_relaxed) + 1 : 0;
    row_.store(row % kRow, std::memory_order_relaxed);
    look_ns_.store(row == kRow ? kLongNs : kShortNs, std::memory_order_relaxed);
  }

  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<uint32_t> sleepers_{0};
  std::atomic<int> row_{0};  // of short sleeps
  std::atomic<int64_t> look_ns_{kShortNs};
  std::mutex mutex_;
  std::condition_variable wake_;
};

template <class T>
class Ring {
 public:
  // Never holds more than `limit` items, which may change later up to `most`. `queue` names it in
  // waits. The token must outlive it.
  Ring(QueueId queue, uint64_t most, uint64_t limit, CancelToken& token)
      : queue_(queue),
        most_(std::max<uint64_t>(most, 1)),
        mask_(std::bit_ceil(most_) - 1),
        token_(token),
        cells_(new Cell[mask_ + 1]) {
    SetLimit(limit);
    for (uint64_t i = 0; i <= mask_; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
    token_.OnCancel([this] {
      room_.Wake();
      items_.Wake();
    });
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Each ticket must be pushed exactly once.
  uint64_t DrawTicket() { return tickets_.fetch_add(1, std::memory_order_relaxed); }

  // Waits for room. False where the pipeline was canceled. `published` is called just before the
  // item can be popped, when depth() counts it already.
  template <class Published>
  bool Push(uint64_t ticket, T&& item, Published published) {
    const auto room = [&] { return HasRoom(ticket) || token_.cancelled(); };
    if (!room()) Blocked(room_, trace::WaitCause::kFull, room, popper_);
    if (token_.cancelled()) return false;
    Cell& cell = cells_[ticket & mask_];
    cell.item = std::move(item);
    if (const recorder::Track* track = recorder::CurrentTrack(); track != nullptr) {
      cell.pusher = track->id().value;
    }
    pushed_.fetch_add(1, std::memory_order_relaxed);
    // The consumer had this cache line last: it arrives while the rest is done.
    __builtin_prefetch(&cells_[(ticket + 2) & mask_], 1);
    published();
    cell.turn.store(ticket + 1, std::memory_order_release);
    items_.Wake();
    return true;
  }

  // Waits for the next ticket's item. False where the pipeline was canceled.
  bool Pop(T& item) {
    const uint64_t position = popped_.load(std::memory_order_relaxed);
    Cell& cell = cells_[position & mask_];
    const auto filled = [&] {
      return cell.turn.load(std::memory_order_acquire) == position + 1 || token_.cancelled();
    };
    if (!filled()) {
      // The producer waited for may itself be asleep: there is room, but for only one item.
      room_.Wake();
      Blocked(items_, trace::WaitCause::kEmpty, filled, cell.pusher);
    }
    if (cell.turn.load(std::memory_order_acquire) != position + 1) return false;
    item = std::move(cell.item);
    if (const recorder::Track* track = recorder::CurrentTrack(); track != nullptr) {
      popper_.store(track->id().value, std::memory_order_relaxed);
    }
    cell.turn.store(position + mask_ + 1, std::memory_order_relaxed);
    popped_.store(position + 1, std::memory_order_release);
    if (room_.HasSleepers()) WakeForRoom();
    return true;
  }

  // Items pushed and not popped, at some moment during the call; never more than the queue can
  // hold, even if it is popped all the time.
  uint64_t depth() const {
    uint64_t popped = popped_.load(std::memory_order_acquire);
    for (int tries = 0;; ++tries) {
      const uint64_t pushed = pushed_.load(std::memory_order_acquire);
      // Items popped between the two loads would count as if they were still there.
      const uint64_t now = popped_.load(std::memory_order_acquire);
      if (now == popped || tries == kMostLooks) {
        return std::min(pushed > popped ? pushed - popped : 0, most_);
      }
      popped = now;
    }
  }
  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint64_t most() const { return most_; }
  void SetLimit(uint64_t limit) {
    limit_.store(std::clamp<uint64_t>(limit, 1, most_), std::memory_order_relaxed);
    room_.Wake();
  }
  QueueId queue() const { return queue_; }
  // How often the consumer found nothing, and producers found no room: for the tuner.
  uint64_t times_empty() const { return times_empty_.load(std::memory_order_relaxed); }
  uint64_t times_full() const { return times_full_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Cell {
    std::atomic<uint64_t> turn{0};  // ticket + 1 once it is filled
    std::atomic<uint32_t> pusher{TrackId::None().value};
    T item{};
  };

  // Reads what the consumer writes only if the queue seems to be full: each such read takes a cache
  // line away from the consumer.
  bool HasRoom(uint64_t ticket) {
    const uint64_t limit = limit_.load(std::memory_order_relaxed);
    if (ticket < seen_popped_.load(std::memory_order_acquire) + limit) return true;
    const uint64_t popped = popped_.load(std::memory_order_acquire);
    seen_popped_.store(popped, std::memory_order_release);
    return ticket < popped + limit;
  }

  // Not for every item: a producer that waits for room continues once there is room for several.
  void WakeForRoom() {
    const uint64_t limit = limit_.load(std::memory_order_relaxed);
    if (limit - std::min(limit, depth()) >= std::max<uint64_t>(limit / 4, 1)) room_.Wake();
  }

  static constexpr int kMostLooks = 3;

  template <class Ready>
  void Blocked(Parking& parking, trace::WaitCause cause, Ready ready,
               const std::atomic<uint32_t>& waker) {
    (cause == trace::WaitCause::kEmpty ? times_empty_ : times_full_)
        .fetch_add(1, std::memory_order_relaxed);
    recorder::Track* track = recorder::CurrentTrack();
    const Ticks start = track != nullptr ? NowTicks() : 0;
    parking.Wait(ready);
    if (track == nullptr) return;
    track->Wait(cause, queue_, start, NowTicks(), TrackId{waker.load(std::memory_order_relaxed)});
  }

  const QueueId queue_;
  const uint64_t most_;
  const uint64_t mask_;
  CancelToken& token_;
  const std::unique_ptr<Cell[]> cells_;
  std::atomic<uint64_t> limit_{1};
  // One cache line per side: what producers write, and what the consumer writes.
  alignas(64) std::atomic<uint64_t> tickets_{0};
  std::atomic<uint64_t> pushed_{0};
  std::atomic<uint64_t> seen_popped_{0};  // at most popped_
  std::atomic<uint64_t> times_full_{0};
  alignas(64) std::atomic<uint64_t> popped_{0};
  std::atomic<uint32_t> popper_{TrackId::None().value};
  std::atomic<uint64_t> times_empty_{0};
  alignas(64) Parking room_;   // the consumer looks at it
  alignas(64) Parking items_;  // producers look at it
};

}  // namespace stallscope::pipeline
