#include "analyzer/spec/ladder.h"

#include <doctest/doctest.h>

using stallscope::Ladder;
using stallscope::WorkersToTry;

TEST_SUITE("fast") {
  TEST_CASE("numbers that are worth trying, and of workers more than cores") {
    CHECK(Ladder(1, 4) == std::vector<int64_t>{1, 2, 3, 4});
    CHECK(Ladder(5, 5).empty());
    CHECK(WorkersToTry(1) == WorkersToTry(4));
    CHECK(WorkersToTry(4) == std::vector<int64_t>{0, 1, 2, 3, 4, 6, 8});
    CHECK(WorkersToTry(6).back() == 12);
    CHECK(WorkersToTry(1000).back() == 64);
  }
}
