#include "gui/session/workers.h"

#include <doctest/doctest.h>

#include <future>
#include <new>
#include <string>
#include <vector>

#include "analyzer/base/thread.h"

using namespace stallscope;
using namespace stallscope::session;

namespace {

void PollUntilIdle(Workers& workers) {
  while (!workers.Running().empty()) {
    workers.Await(50);
    workers.Poll();
  }
  workers.Poll();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the owner makes a job's calls in order") {
    Workers workers(nullptr);
    std::vector<int> got;
    workers.Start(JobKind::kOpen, "counting", [&](Ticket& job) {
      for (int i = 0; i < 3; ++i) job.HandOver([&got, i] { got.push_back(i); });
    });
    PollUntilIdle(workers);
    CHECK(got == std::vector<int>{0, 1, 2});
  }

  TEST_CASE("a job reports progress, and ends when canceled") {
    Workers workers(nullptr);
    std::promise<void> told;
    const JobNumber number = workers.Start(JobKind::kSweep, "sweeping", [&](Ticket& job) {
      job.Tell("3 of 4", 0.75);
      told.set_value();
      while (!job.cancelled()) std::this_thread::yield();
    });
    told.get_future().wait();
    const std::vector<Job> running = workers.Running();
    REQUIRE(running.size() == 1);
    CHECK(running[0].detail == "3 of 4");
    CHECK(running[0].done == 0.75);
    CHECK(running[0].kind == JobKind::kSweep);
    workers.Cancel(number);
    PollUntilIdle(workers);
    CHECK(workers.Running().empty());
  }

  TEST_CASE("a job that gets no thread or throws is reported to its owner") {
    std::vector<std::string> complaints;
    const auto complain = [&](const Error& error) { complaints.push_back(error.Line()); };
    for (const bool no_thread : {true, false}) {
      Workers workers(nullptr, complain);
      bool undone = false;
      {
        const ThreadStartFault fault(no_thread ? 1 : 0);
        workers.Start(
            JobKind::kOpen, "reading a.sst", [](Ticket&) { throw std::bad_alloc(); },
            [&](const Error&) { undone = true; });
      }
      while (!workers.Idle([](JobKind) { return false; })) {
        workers.Await(50);
        workers.Poll();
      }
      CHECK(undone);
      CHECK(workers.Running().empty());
    }
    REQUIRE(complaints.size() == 2);
    CHECK(complaints[0].find("reading a.sst: cannot start another thread") == 0);
    CHECK(complaints[1].find("reading a.sst: out of memory") == 0);
  }

  TEST_CASE("the destructor cancels all jobs, and drops late results") {
    bool called = false;
    {
      Workers workers(nullptr);
      workers.Start(JobKind::kOpen, "waiting", [&](Ticket& job) {
        while (!job.cancelled()) std::this_thread::yield();
        job.HandOver([&] { called = true; });
      });
    }
    CHECK_FALSE(called);
  }

  TEST_CASE("a sleeping window is woken") {
    std::promise<void> woken;
    std::atomic<bool> once{false};
    Workers workers([&] {
      if (!once.exchange(true)) woken.set_value();
    });
    workers.Start(JobKind::kOpen, "short", [](Ticket&) {});
    woken.get_future().wait();
    PollUntilIdle(workers);
  }

  TEST_CASE("an exiting program waits for writers, not for computations") {
    std::promise<void> go_on;
    std::shared_future<void> may_go_on = go_on.get_future().share();
    std::promise<void> computes;
    std::atomic<bool> written{false};
    Workers workers(nullptr);
    workers.Start(JobKind::kExplain, "computing", [&](Ticket& job) {
      job.OnlyComputes();
      computes.set_value();
      may_go_on.wait();
    });
    workers.Start(JobKind::kExport, "writing", [&](Ticket& job) {
      while (!job.cancelled()) std::this_thread::yield();
      written = true;
    });
    computes.get_future().wait();
    CHECK_FALSE(workers.EndWhatMatters());
    CHECK(written);
    go_on.set_value();
    while (!workers.EndWhatMatters()) std::this_thread::yield();
  }
}
