#include "replay/simulate/event_heap.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "analyzer/base/splitmix.h"

using stallscope::SplitMix64;
using stallscope::replay::Event;
using stallscope::replay::EventHeap;

TEST_SUITE("fast") {
  TEST_CASE("events come in the order of their times") {
    EventHeap heap;
    SplitMix64 random(7);
    std::vector<double> times;
    for (uint32_t i = 0; i < 1000; ++i) {
      times.push_back(random.Fraction());
      heap.Push({times.back(), i});
    }
    std::sort(times.begin(), times.end());
    for (const double time : times) {
      REQUIRE(heap.top().time == time);
      heap.Pop();
    }
    CHECK(heap.empty());
  }

  TEST_CASE("events at equal times are not lost, and come in the same order every time") {
    const auto order = [] {
      EventHeap heap;
      for (const uint32_t who : {5u, 1u, 4u, 0u, 3u, 2u}) heap.Push({1.0, who});
      std::vector<uint32_t> out;
      for (; !heap.empty(); heap.Pop()) out.push_back(heap.top().who);
      return out;
    };
    std::vector<uint32_t> all = order();
    CHECK(all == order());
    std::sort(all.begin(), all.end());
    CHECK(all == std::vector<uint32_t>{0, 1, 2, 3, 4, 5});
  }

  TEST_CASE("what is pushed between pops finds its place") {
    EventHeap heap;
    heap.Push({3, 0});
    heap.Push({1, 1});
    heap.Pop();
    heap.Push({2, 2});
    CHECK(heap.top().who == 2);
    heap.Pop();
    CHECK(heap.top().who == 0);
    CHECK(heap.size() == 1);
  }
}
