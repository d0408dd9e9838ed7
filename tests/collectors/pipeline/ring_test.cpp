#include "collectors/pipeline/ring.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "collectors/pipeline/tensor_pool.h"

using namespace stallscope;
using pipeline::CancelToken;
using pipeline::Ring;
using pipeline::TensorPool;

namespace {
constexpr auto kNothing = [] {};
}

TEST_SUITE("fast") {
  TEST_CASE("items come in the order of their tickets, whoever pushes them and when") {
    CancelToken token;
    Ring<int> ring(QueueId::None(), 8, 8, token);
    const uint64_t first = ring.DrawTicket();
    const uint64_t second = ring.DrawTicket();
    std::thread late([&] { CHECK(ring.Push(first, 1, kNothing)); });
    CHECK(ring.Push(second, 2, kNothing));
    int item = 0;
    CHECK(ring.Pop(item));
    CHECK(item == 1);
    CHECK(ring.Pop(item));
    CHECK(item == 2);
    late.join();
  }

  TEST_CASE("it never holds more than the limit, and nothing is lost or duplicated") {
    constexpr int kProducers = 3;
    constexpr int kEach = 20'000;
    CancelToken token;
    Ring<int> ring(QueueId::None(), 5, 5, token);
    std::atomic<uint64_t> deepest{0};
    std::vector<std::thread> producers;
    for (int p = 0; p < kProducers; ++p) {
      producers.emplace_back([&, p] {
        for (int i = 0; i < kEach; ++i) {
          ring.Push(ring.DrawTicket(), p * kEach + i, [&] {
            const uint64_t depth = ring.depth();
            uint64_t seen = deepest.load();
            while (depth > seen && !deepest.compare_exchange_weak(seen, depth)) {
            }
          });
        }
      });
    }
    std::vector<int> last(kProducers, -1);
    bool in_order = true;
    for (int i = 0; i < kProducers * kEach; ++i) {
      int item = -1;
      REQUIRE(ring.Pop(item));
      int& before = last[static_cast<size_t>(item / kEach)];
      in_order = in_order && item % kEach == before + 1;
      before = item % kEach;
    }
    for (std::thread& producer : producers) producer.join();
    CHECK(in_order);
    CHECK(deepest.load() <= 5);
    CHECK(ring.depth() == 0);
  }

  TEST_CASE("canceling wakes the producer and the consumer") {
    CancelToken token;
    Ring<int> full(QueueId::None(), 1, 1, token);
    Ring<int> empty(QueueId::None(), 1, 1, token);
    CHECK(full.Push(full.DrawTicket(), 1, kNothing));
    std::thread pusher([&] { CHECK_FALSE(full.Push(full.DrawTicket(), 2, kNothing)); });
    std::thread popper([&] {
      int item = 0;
      CHECK_FALSE(empty.Pop(item));
    });
    token.Cancel();
    pusher.join();
    popper.join();
  }

  TEST_CASE("a raised limit releases waiting producers") {
    CancelToken token;
    Ring<int> ring(QueueId::None(), 4, 1, token);
    CHECK(ring.Push(ring.DrawTicket(), 1, kNothing));
    std::thread pusher([&] { CHECK(ring.Push(ring.DrawTicket(), 2, kNothing)); });
    ring.SetLimit(9);
    pusher.join();
    CHECK(ring.limit() == 4);
    CHECK(ring.depth() == 2);
  }

  TEST_CASE("the pool gives the same memory again, on a 64-byte boundary") {
    TensorPool pool;
    for (const int64_t size : {1, 257, 320, 321, 100'000, 1'000'000}) {
      auto tensor = pool.Take(data::DType::kUint8, {size});
      REQUIRE(tensor.has_value());
      const uint8_t* const at = tensor->data();
      CHECK(reinterpret_cast<uintptr_t>(at) % 64 == 0);
      CHECK(tensor->capacity() <= static_cast<size_t>(size) + static_cast<size_t>(size) / 4 + 256);
      const uint64_t bytes = pool.bytes();
      pool.Give(std::move(*tensor));
      auto again = pool.Take(data::DType::kUint8, {size});
      CHECK(again->data() == at);
      CHECK(pool.bytes() == bytes);
    }
    CHECK_FALSE(pool.Take(data::DType::kFloat32, {int64_t{1} << 61}).has_value());
  }
}
