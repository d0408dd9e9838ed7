#include "replay/workload/worker_start.h"

#include <doctest/doctest.h>

#include <vector>

using stallscope::LoaderSpec;
using stallscope::replay::BatchCost;
using stallscope::replay::MoveFirstsToStart;
using stallscope::replay::StartOf;
using stallscope::replay::WorkerStart;

TEST_SUITE("fast") {
  TEST_CASE("worker start: threads of the workers' queues belong to the start that they follow") {
    LoaderSpec loader;
    loader.num_workers = 2;
    // Two passes: starting for 10, two indices with 3 and 1 between them, and ending for 5.
    const std::vector<stallscope::attribution::Interval> startups = {
        {0, 10}, {12, 15}, {50, 55}, {100, 110}, {112, 113}, {150, 155}};
    const std::vector<stallscope::attribution::Interval> samplings = {
        {10, 12}, {15, 17}, {110, 112}, {113, 117}};
    const auto start = StartOf(loader, startups, samplings, {{4, 8}, {6, 10}});
    REQUIRE(start.has_value());
    CHECK(start->fork_ns == doctest::Approx((10 + 3 + 10 + 1) / 2.0 / 2.0));
    CHECK(start->end_ns == doctest::Approx(5));
    CHECK(start->boot_cpu_ns == doctest::Approx(5));
    CHECK(start->boot_blocked_ns == doctest::Approx(9 - start->fork_ns / 2));
    CHECK_FALSE(StartOf(loader, {{50, 55}}, samplings, {}).has_value());
    loader.num_workers = 0;
    CHECK_FALSE(StartOf(loader, startups, samplings, {}).has_value());
  }

  TEST_CASE("worker start: first batches cost what later ones do, and the start the rest") {
    std::vector<BatchCost> costs(24);
    std::vector<BatchCost*> firsts;
    std::vector<const BatchCost*> later;
    for (size_t i = 0; i < costs.size(); ++i) {
      const bool first = i % 4 == 0;
      costs[i].fetch.cpu_ns = first ? 900 : 300;
      costs[i].send.blocked_ns = first ? 50 : 100;  // less is no start's
      if (first) firsts.push_back(&costs[i]);
      if (!first) later.push_back(&costs[i]);
    }
    WorkerStart start;
    MoveFirstsToStart({firsts.begin(), firsts.begin() + 5}, later, start);
    CHECK(start.first_fetch.cpu_ns == 0);  // too few to tell
    MoveFirstsToStart(firsts, later, start);
    CHECK(start.first_fetch.cpu_ns == doctest::Approx(600));
    CHECK(start.first_send.blocked_ns == 0);
    CHECK(costs[0].fetch.cpu_ns == doctest::Approx(300));
    CHECK(costs[0].send.blocked_ns == 50);
    CHECK(start.first_step.cpu_ns == 0);
  }
}
