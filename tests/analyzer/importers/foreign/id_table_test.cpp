#include "analyzer/importers/foreign/id_table.h"

#include <doctest/doctest.h>

#include <limits>

#include "tests/analyzer/importers/foreign/colliding_numbers.h"

using stallscope::importers::IdTable;

TEST_SUITE("fast") {
  TEST_CASE("dense and sparse numbers are found, others are not") {
    IdTable<int> table;
    const int64_t numbers[] = {1, 0, -5, 4'095, 1'000'000, std::numeric_limits<int64_t>::max()};
    for (const int64_t number : numbers) table[number] = static_cast<int>(number % 100);
    CHECK(table.values().size() == 6);
    for (const int64_t number : numbers) {
      REQUIRE(table.Find(number) != nullptr);
      CHECK(*table.Find(number) == static_cast<int>(number % 100));
    }
    CHECK(table.Find(2) == nullptr);
    CHECK(table.Find(-1) == nullptr);
    CHECK(table.Find(1'000'001) == nullptr);
  }

  TEST_CASE("colliding numbers cost no more than others") {
    IdTable<int64_t> table;
    const auto numbers = stallscope::test::CollidingNumbers();
    for (const int64_t number : numbers) table[number] = number;
    CHECK(*table.Find(numbers.back()) == numbers.back());
  }
}
