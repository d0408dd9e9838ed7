#include "analyzer/importers/nsys/marked_ranges.h"

#include <doctest/doctest.h>

#include <string>

using namespace stallscope;
using importers::nsys::MarkedRanges;
using importers::nsys::MarkedThread;

namespace {

// A trainer that fetches three batches, in the first of which it works for so many stages, and so
// many threads beside it that each work for the first of them.
MarkedRanges Made(uint32_t stages, size_t workers) {
  MarkedRanges marked;
  marked.keys = {"data loading"};
  MarkedThread& trainer = marked.threads.emplace_back();
  trainer.launches = true;
  for (int64_t i = 0; i < 3; ++i) {
    trainer.ranges.push_back({i * 1'000'000, i * 1'000'000 + 900'000, 0, {}});
  }
  for (uint32_t i = 1; i <= stages; ++i) {
    marked.keys.push_back("stage " + std::to_string(i));
    trainer.ranges.push_back({i, i + 1, i, {}});
  }
  marked.texts = marked.keys;
  for (size_t i = 0; i < workers; ++i) {
    marked.threads.emplace_back().ranges.push_back({5, 6, 1, {}});
  }
  return marked;
}

size_t TracksOf(uint32_t stages, size_t workers) {
  MarkedRanges marked = Made(stages, workers);
  importers::RunBuilder builder("a", "nsys");
  CHECK(importers::nsys::AddMarkedRanges(marked, builder).loader);
  return builder.run().tracks.size();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("threads of a few kinds of work are the loader's, of more than 64 they mark items") {
    CHECK(TracksOf(64, 2) == 3);
    CHECK(TracksOf(65, 2) == 1);
  }

  TEST_CASE("20,000 workers are not compared with 100,000 stages each") {
    CHECK(TracksOf(100'000, 20'000) == 1);
  }
}
