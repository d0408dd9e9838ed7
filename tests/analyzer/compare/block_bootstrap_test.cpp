#include "analyzer/compare/block_bootstrap.h"

#include <doctest/doctest.h>

#include "tests/analyzer/compare/runs.h"

using namespace stallscope;
using compare::Block;
using compare::BlockLength;

namespace {

std::vector<double> Correlated(size_t size, double correlation) {
  test::Simulation simulation(5);
  std::vector<double> series;
  double value = 0;
  for (size_t i = 0; i < size; ++i) {
    value = correlation * value + simulation.Normal();
    series.push_back(value);
  }
  return series;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the generator is uniform, and draws the same with every compiler") {
    SplitMix64 generator(1);
    std::vector<size_t> first;
    for (int i = 0; i < 5; ++i) first.push_back(generator.Below(1000));
    CHECK(first == std::vector<size_t>{566, 745, 971, 444, 444});
    std::vector<size_t> counts(7, 0);
    for (int i = 0; i < 70'000; ++i) ++counts[generator.Below(7)];
    for (size_t count : counts) {
      CHECK(count > 9'600);
      CHECK(count < 10'400);
    }
    CHECK(generator.Below(1) == 0);
  }

  TEST_CASE("blocks are as long as what they must keep together") {
    CHECK(BlockLength(Correlated(1000, 0)) == 10);  // the cube root
    const size_t long_one = BlockLength(Correlated(20'000, 0.9));
    CHECK(long_one > 60);  // four times (1 + 0.9) / (1 - 0.9), about
    CHECK(long_one < 95);
    CHECK(BlockLength(Correlated(50, 0.99)) == 10);  // at most a fifth
    CHECK(BlockLength(std::vector<double>{1, 2, 3}) == 1);
    CHECK(BlockLength(std::vector<double>(100, 4.0)) == 5);  // nothing varies
  }

  TEST_CASE("sums wrap around the ring") {
    const compare::RingSums sums(std::vector<double>{1, 2, 4});
    CHECK(sums.total() == 7);
    CHECK(sums.Sum(0, 2) == 3);
    CHECK(sums.Sum(2, 2) == 5);
    CHECK(sums.Sum(1, 3) == 7);
  }

  TEST_CASE("blocks together are as long as the ring") {
    SplitMix64 generator(3);
    std::vector<Block> blocks;
    compare::DrawBlocks(10, 4, generator, blocks);
    REQUIRE(blocks.size() == 3);
    CHECK(blocks[0].length == 4);
    CHECK(blocks[2].length == 2);
    compare::DrawBlocks(8, 4, generator, blocks);
    CHECK(blocks.size() == 2);
    for (const Block& block : blocks) CHECK(block.start < 8);
  }
}
