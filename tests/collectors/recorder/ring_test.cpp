#include "collectors/recorder/ring.h"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "collectors/recorder/track.h"

using stallscope::recorder::Ring;
using stallscope::recorder::Slot;
using stallscope::recorder::internal::Tag;

namespace {

Tag TagAt(const Ring& ring, uint64_t index) { return static_cast<Tag>(ring.At(index).b & 0xff); }
Slot Work(uint64_t time) { return {time, static_cast<uint64_t>(Tag::kWork), 0}; }

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a full ring refuses, counts, and puts the gap before what comes next") {
    Ring ring(16);
    for (uint64_t i = 0; i < 16; ++i) ring.Put(i, Work(i));
    CHECK(ring.Published() == 16);
    ring.Put(100, Work(100));
    ring.Put(101, Work(101), Work(101));
    ring.Put(102, Work(102));
    CHECK(ring.Published() == 16);
    CHECK(ring.Dropped() == 3);
    CHECK(ring.Open().dropped == 3);
    CHECK(ring.Open().from == 100);
    CHECK(ring.Open().to == 102);

    ring.Release(2);  // room for the gap, not for an event behind it
    ring.Put(103, Work(103));
    CHECK(ring.Published() == 16);
    CHECK(ring.Dropped() == 4);

    ring.Release(3);
    ring.Put(104, Work(104));
    CHECK(ring.Published() == 19);
    CHECK(TagAt(ring, 16) == Tag::kGap);
    CHECK(ring.At(16).a == 100);
    CHECK(ring.At(16).c == 4);
    CHECK(ring.At(17).a == 103);
    CHECK(ring.At(18).a == 104);
    CHECK(ring.Open().dropped == 0);
    CHECK(ring.Dropped() == 4);
  }

  TEST_CASE("a smaller event does not slip in before a gap") {
    Ring ring(16);
    for (uint64_t i = 0; i < 15; ++i) ring.Put(i, Work(i));
    ring.Put(50, Work(50), Work(50));
    CHECK(ring.Dropped() == 1);
    ring.Put(51, Work(51));  // would fit, but not with the gap
    CHECK(ring.Dropped() == 2);
  }

  TEST_CASE("a ring without slots accepts nothing and counts everything") {
    Ring ring(0);
    CHECK(ring.ok());
    ring.Put(1, Work(1));
    ring.Put(2, Work(2), Work(2), Work(2));
    CHECK(ring.Published() == 0);
    CHECK(ring.Dropped() == 2);
  }

  TEST_CASE("a reset ring is as new") {
    Ring ring(16);
    for (uint64_t i = 0; i < 40; ++i) ring.Put(i, Work(i));
    ring.Reset();
    CHECK(ring.Dropped() == 0);
    CHECK(ring.Open().dropped == 0);
    ring.Put(7, Work(7));
    CHECK(ring.Published() == 1);
    CHECK(ring.At(0).a == 7);
  }

  TEST_CASE("a consumer on another thread sees every event once, in order, or a gap") {
    Ring ring(64);
    constexpr uint64_t kEvents = 200'000;
    std::thread producer([&] {
      for (uint64_t i = 0; i < kEvents; ++i) ring.Put(i, Work(i));
    });
    uint64_t seen = 0;
    uint64_t lost = 0;
    uint64_t next = 0;
    bool in_order = true;
    const auto drain = [&] {
      const uint64_t end = ring.Published();
      uint64_t at = ring.Tail();
      while (at < end) {
        if (TagAt(ring, at) == Tag::kGap) {
          lost += ring.At(at).c;
          next += ring.At(at).c;
          at += 2;
        } else {
          in_order = in_order && ring.At(at).a == next;
          ++next;
          ++seen;
          ++at;
        }
      }
      ring.Release(at);
    };
    while (seen + lost + ring.Open().dropped < kEvents) drain();
    producer.join();
    drain();
    CHECK(in_order);
    CHECK(seen + lost + ring.Open().dropped == kEvents);
    CHECK(ring.Dropped() == lost + ring.Open().dropped);
  }
}
