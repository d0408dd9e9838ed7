// The same answer, in every field, whatever the number of threads.
#include <doctest/doctest.h>

#include <string>

#include "tests/analyzer/attribution/printed.h"
#include "tests/analyzer/attribution/random_runs.h"

using namespace stallscope;
using test::Printed;
using test::Random;

TEST_SUITE("fast") {
  TEST_CASE("random runs: same result with 1, 2, 7 and 16 threads") {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      Random random(3'000'000 + seed);
      const model::Run run =
          test::RandomRun(random, {.horizon_ns = 20'000, .sloppy = seed % 3 == 0});
      const std::string one = Printed(attribution::Attribute(run, 1));
      for (const unsigned threads : {2u, 7u, 16u}) {
        REQUIRE(Printed(attribution::Attribute(run, threads)) == one);
      }
      REQUIRE(Printed(attribution::Attribute(run, 0)) == one);
    }
  }

  TEST_CASE("printed form differs between runs") {
    Random a(1);
    Random b(2);
    const test::RandomShape shape{.horizon_ns = 2000};
    CHECK(Printed(attribution::Attribute(test::RandomRun(a, shape))) !=
          Printed(attribution::Attribute(test::RandomRun(b, shape))));
  }
}
