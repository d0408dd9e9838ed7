#include "analyzer/importers/foreign/iterator_graph.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/analyzer/importers/foreign/colliding_numbers.h"

using namespace stallscope;
using importers::HostEvent;
using importers::HostEvents;
using importers::HostRole;
using importers::IteratorGraph;

namespace {

// Threads, and names for their events.
class Host {
 public:
  Host() { events_.threads.emplace_back(); }

  uint32_t Name(const std::string& name) {
    events_.names.push_back(name);
    events_.facts.emplace_back().kind = importers::IteratorKind(name);
    return static_cast<uint32_t>(events_.names.size() - 1);
  }
  HostEvent& Add(HostRole role, uint32_t name, int64_t start_ns, int64_t end_ns,
                 size_t thread = 0) {
    if (thread >= events_.threads.size()) events_.threads.resize(thread + 1);
    HostEvent& event = events_.threads[thread].events.emplace_back();
    event.role = role;
    event.name = name;
    event.start_ns = start_ns;
    event.end_ns = end_ns;
    return event;
  }
  HostEvents& events() { return events_; }

 private:
  HostEvents events_;
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a pool's thread that asks on the trainer's behalf works for no iterator") {
    Host host;
    const uint32_t prefetch = host.Name("Iterator::Root::Prefetch");
    const uint32_t map = host.Name("Iterator::Root::Prefetch::Map");
    host.Add(HostRole::kGetNext, host.Name("IteratorGetNextOp::DoCompute"), 0, 100);
    host.Add(HostRole::kIterator, prefetch, 1, 99);
    host.Add(HostRole::kConsume, host.Name("PrefetchConsume"), 97, 98);
    host.Add(HostRole::kProduce, host.Name("PrefetchProduce"), 0, 95, 1);
    host.Add(HostRole::kIterator, map, 1, 94, 1);
    const IteratorGraph graph(host.events());
    REQUIRE(graph.nodes().size() == 2);
    CHECK(graph.nodes()[0].own_threads);
    CHECK_FALSE(graph.NodeOfThread(0).has_value());
    CHECK(graph.NodeOfThread(1) == 0);
  }

  TEST_CASE("an iterator is asked by the nearest one on its path, whole words only") {
    Host host;
    int64_t at = 0;
    for (const char* const path :
         {"Iterator::Root::Map", "Iterator::Root::Map::Zip::Range", "Iterator::Root::MapAndBatch",
          "Iterator::Root::Map::Zip", "Iterator::Root"}) {
      host.Add(HostRole::kIterator, host.Name(path), at, at + 1);
      at += 2;
    }
    const IteratorGraph graph(host.events());
    const auto& nodes = graph.nodes();
    REQUIRE(nodes.size() == 5);
    CHECK(nodes[0].asked_by == 4);
    CHECK(nodes[1].asked_by == 3);
    CHECK(nodes[2].asked_by == 4);
    CHECK(nodes[3].asked_by == 0);
    CHECK_FALSE(nodes[4].asked_by.has_value());
  }

  TEST_CASE("a producer without inner calls belongs to the only iterator of its kind") {
    for (const bool only : {true, false}) {
      Host host;
      host.Add(HostRole::kIterator, host.Name("Iterator::A::PrefetchV2"), 0, 1);
      host.Add(HostRole::kIterator, host.Name(only ? "Iterator::A::Map" : "Iterator::A::Prefetch"),
               2, 3);
      host.Add(HostRole::kProduce, host.Name("PrefetchProduce"), 4, 5);
      const IteratorGraph graph(host.events());
      CHECK(graph.Producing(0, 2).has_value() == only);
    }
  }

  TEST_CASE("calls at once, on however many threads a pool runs their pieces") {
    for (const bool overlap : {true, false}) {
      CAPTURE(overlap);
      Host host;
      const uint32_t map = host.Name("Iterator::Root::ParallelMap");
      const uint32_t source = host.Name("Iterator::Root::ParallelMap::Range");
      const uint32_t produce = host.Name("ParallelMapProduce");
      const uint32_t hand_over = host.Name("FunctionRun");
      const uint32_t piece = host.Name("ExecutorState::Process");
      host.Add(HostRole::kIterator, map, 0, 1);
      for (uint64_t call = 1; call <= 6; ++call) {
        const auto at = static_cast<int64_t>(100 * call);
        host.Add(HostRole::kProduce, produce, at, at + 10, 1);
        host.Add(HostRole::kIterator, source, at + 1, at + 2, 1);
        host.Add(HostRole::kRunGraph, hand_over, at + 3, at + 4, 1).produced = call;
        // Two pieces, each on a thread that no other uses.
        for (const size_t half : {size_t{0}, size_t{1}}) {
          const int64_t from = at + (half == 0 ? 20 : 70);
          const int64_t to = half == 0 ? from + 10 : from + (overlap ? 60 : 20);
          host.Add(HostRole::kExecute, piece, from, to, 2 * call + half).consumed = call;
        }
      }
      const IteratorGraph graph(host.events());
      CHECK(graph.nodes()[0].calls_at_once == (overlap ? 2 : 1));
    }
  }

  TEST_CASE("no more calls at once than threads that run their pieces") {
    for (const size_t pool : {size_t{2}, size_t{20}}) {
      CAPTURE(pool);
      Host host;
      host.Add(HostRole::kIterator, host.Name("Iterator::Root::MapAndBatch"), 0, 1);
      const uint32_t source = host.Name("Iterator::Root::MapAndBatch::Range");
      const uint32_t produce = host.Name("MapAndBatchProduce");
      const uint32_t hand_over = host.Name("FunctionRun");
      const uint32_t piece = host.Name("ExecutorState::Process");
      for (uint64_t call = 0; call < 8; ++call) {
        const auto at = static_cast<int64_t>(10 + 10 * call);
        host.Add(HostRole::kProduce, produce, at, at + 8, 1);
        host.Add(HostRole::kIterator, source, at + 1, at + 2, 1);
        host.Add(HostRole::kRunGraph, hand_over, at + 3, at + 4, 1).produced = call + 1;
        // All first pieces, one after the other, then all second ones.
        for (const uint64_t half : {uint64_t{0}, uint64_t{1}}) {
          const int64_t from = at + 100 + 100 * static_cast<int64_t>(half);
          const size_t thread = 2 + (2 * call + half) % pool;
          host.Add(HostRole::kExecute, piece, from, from + 9, thread).consumed = call + 1;
        }
      }
      const IteratorGraph graph(host.events());
      CHECK(graph.nodes()[0].calls_at_once == (pool == 2 ? 2 : 8));
    }
  }

  TEST_CASE("a name of a million words is split once") {
    Host host;
    std::string path = "Iterator::Root";
    host.Add(HostRole::kIterator, host.Name(path), 0, 1);
    for (int i = 0; i < 1'000'000; ++i) path += "::a";
    host.Add(HostRole::kIterator, host.Name(path), 2, 3);
    const IteratorGraph graph(host.events());
    CHECK(graph.nodes()[1].asked_by == 0);
  }

  TEST_CASE("calls nested 400,000 deep take linear time") {
    constexpr int64_t kDepth = 400'000;
    Host host;
    const uint32_t call = host.Name("train");
    host.Add(HostRole::kIterator, host.Name("Iterator::Root::Map"), -1, 2 * kDepth + 1);
    for (int64_t i = 0; i < kDepth; ++i) host.Add(HostRole::kCall, call, i, 2 * kDepth - i);
    host.Add(HostRole::kIterator, host.Name("Iterator::Root::Map::Range"), kDepth, kDepth);
    const IteratorGraph graph(host.events());
    REQUIRE(graph.nodes().size() == 2);
    // It was asked by Map in Map's own call.
    CHECK_FALSE(graph.nodes()[0].own_threads);
  }

  TEST_CASE("150,000 producers find theirs among as many iterators") {
    constexpr int kMany = 150'000;
    Host host;
    for (int i = 0; i < kMany; ++i) {
      const std::string kind = "Kind" + std::to_string(kMany + i);
      host.Add(HostRole::kIterator, host.Name("Iterator::Root::" + kind + "V2"), 2 * i, 2 * i + 1);
      host.Add(HostRole::kProduce, host.Name(kind + "Produce"), 2 * (kMany + i),
               2 * (kMany + i) + 1);
    }
    const IteratorGraph graph(host.events());
    // Behind the iterators' events.
    CHECK(graph.Producing(0, kMany) == 0);
    CHECK(graph.Producing(0, 2 * kMany - 1) == kMany - 1);
  }

  TEST_CASE("iterators with colliding numbers cost no more than others") {
    Host host;
    const uint32_t map = host.Name("Iterator::Map");
    int64_t at = 0;
    for (const int64_t number : test::CollidingNumbers()) {
      host.Add(HostRole::kIterator, map, at, at + 1).id = static_cast<uint64_t>(number);
      at += 2;
    }
    const IteratorGraph graph(host.events());
    CHECK(graph.nodes().size() == 1);
  }
}
