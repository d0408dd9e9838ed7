#include "replay/sweep/grid.h"

#include <doctest/doctest.h>

#include "tests/replay/sweep/sweeps.h"

using namespace stallscope;
using replay::ParseAxis;
using replay::ParseGrid;

namespace {

Error Fault(const std::vector<std::string>& texts) {
  const auto grid = ParseGrid(texts, test::SweepSpec());
  REQUIRE_FALSE(grid.ok());
  CHECK(grid.error().kind == ErrorKind::kUsage);
  return grid.error();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a grid has every combination, the last axis fastest") {
    const auto grid =
        ParseGrid({"decode.parallelism=1,auto", "transfer.pinned=false,true"}, test::SweepSpec());
    REQUIRE(grid.ok());
    CHECK(replay::CountPoints(grid.value()) == 4);
    CHECK(replay::PointOfGrid(grid.value(), 0) ==
          std::vector<replay::Setting>{{"decode.parallelism", "1"}, {"transfer.pinned", "false"}});
    CHECK(
        replay::PointOfGrid(grid.value(), 3) ==
        std::vector<replay::Setting>{{"decode.parallelism", "auto"}, {"transfer.pinned", "true"}});
  }

  TEST_CASE("commas in brackets, calls and quotes belong to a value") {
    const auto axis =
        ParseAxis(R"~(decode.ops=["flip","cast(uint8)"],["flip"])~", test::SweepSpec());
    REQUIRE(axis.ok());
    CHECK(axis.value().values.size() == 2);
    const auto ops = ParseAxis(R"~(decode.ops=["busy(5, every=2)"])~", test::SweepSpec());
    REQUIRE(ops.ok());
    CHECK(ops.value().values.size() == 1);
  }

  TEST_CASE("an unknown path names the nearest, a value outside its range names the range") {
    CHECK(Fault({"decode.paralelism=1,2"}).Line().find("decode.parallelism") != std::string::npos);
    CHECK(Fault({"decode.parallelism=0"}).Line().find("decode.parallelism") != std::string::npos);
    CHECK(Fault({"transfer.dtype=int9"}).Line().find("uint8") != std::string::npos);
    CHECK(ParseGrid({"decode.parallelism=1"}, test::SweepSpec()).ok());
  }

  TEST_CASE("an empty grid, an empty value, a value or a path twice are wrong usage") {
    CHECK(Fault({"decode.parallelism="}).what.find("empty grid") != std::string::npos);
    CHECK(Fault({"decode.parallelism"}).what.find("has no values") != std::string::npos);
    CHECK(Fault({"decode.parallelism=1,,2"}).what.find("empty value") != std::string::npos);
    CHECK(Fault({"decode.parallelism=4,4"}).what.find("twice") != std::string::npos);
    CHECK(Fault({"seed=1", "seed=2"}).what.find("varied twice") != std::string::npos);
    CHECK(replay::CountPoints({}) == 0);
  }

  TEST_CASE("a grid beyond the limit is refused, one of a million is only counted") {
    std::string thousand = "=0";
    for (int i = 1; i < 1'000; ++i) thousand += "," + std::to_string(i);
    const auto million =
        ParseGrid({"seed" + thousand, "trainer.steps" + thousand}, test::SweepSpec());
    REQUIRE(million.ok());
    CHECK(replay::CountPoints(million.value()) == 1'000'000);
    CHECK(
        Fault({"seed" + thousand, "trainer.steps" + thousand, "transfer.prefetch_to_device=0,1,2"})
            .what.find("more than") != std::string::npos);
  }
}
