#include "replay/rerun/core_limit.h"

#include <doctest/doctest.h>

#include <thread>

using stallscope::replay::AllowedCores;
using stallscope::replay::CoreLimit;

TEST_SUITE("fast") {
  TEST_CASE("a limit applies to threads started under it, and ends with the object") {
    const int before = AllowedCores();
    {
      const auto limit = CoreLimit::Set(1);
      REQUIRE(limit.ok());
      CHECK(AllowedCores() == 1);
      int inside = 0;
      std::thread([&] { inside = AllowedCores(); }).join();
      CHECK(inside == 1);
    }
    CHECK(AllowedCores() == before);
  }

  TEST_CASE("no limit, or one above the number of cores, changes nothing") {
    const int before = AllowedCores();
    for (const int cores : {0, before, before + 7}) {
      const auto limit = CoreLimit::Set(cores);
      REQUIRE(limit.ok());
      CHECK(AllowedCores() == before);
    }
  }
}
