#include "replay/simulate/job_pass.h"

#include <doctest/doctest.h>

using stallscope::replay::JobPass;

TEST_SUITE("fast") {
  TEST_CASE("in order: each worker in turn, and a batch that is early waits") {
    JobPass pass(2, 2, true);
    pass.Begin(3);
    CHECK(pass.Ask() == 0);
    CHECK(pass.Ask() == 1);
    CHECK(pass.Ask() == 0);
    CHECK_FALSE(pass.MayAsk());
    pass.Arrive(1, 1);
    CHECK_FALSE(pass.TakeTurn());
    pass.Arrive(0, 0);
    CHECK(pass.TakeTurn());
    CHECK(pass.TakeTurn());
    CHECK_FALSE(pass.TakeTurn());
  }

  TEST_CASE("in order: requests to a worker whose share has ended are skipped") {
    JobPass pass(2, 2, true);
    pass.Begin(100);
    for (int i = 0; i < 4; ++i) pass.Ask();
    pass.EndShare(0);
    pass.Arrive(1, 1);
    CHECK(pass.TakeTurn());
    CHECK(pass.Ask() == 1);
    pass.EndShare(1);
    CHECK_FALSE(pass.MayAsk());
    CHECK_FALSE(pass.TakeTurn());
    CHECK(pass.Exhausted());
  }

  TEST_CASE("out of order: no worker has more than its share at a time") {
    JobPass pass(2, 1, false);
    pass.Begin(100);
    CHECK(pass.Ask() == 0);
    CHECK(pass.Ask() == 1);
    pass.Arrive(1, 1);
    CHECK_FALSE(pass.TakeTurn());  // no turns
    CHECK(pass.Ask() == 1);
    pass.Arrive(0, 0);
    CHECK(pass.Ask() == 0);
  }

  TEST_CASE("a pass ends when all its batches are handed out") {
    JobPass pass(1, 2, true);
    pass.Begin(1);
    CHECK_FALSE(pass.ended());
    pass.HandOut();
    CHECK(pass.ended());
    pass.Begin(1);
    CHECK_FALSE(pass.ended());
    CHECK(pass.asked() == 0);
  }
}
