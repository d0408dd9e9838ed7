#include "analyzer/importers/foreign/kernel_rhythm.h"

#include <doctest/doctest.h>

#include <vector>

using namespace stallscope;

namespace {

// In round r the kernels of the names that come more than r times, a microsecond each.
model::Run RunOf(const std::vector<size_t>& counts) {
  model::Run run;
  trace::TrackInfo& info = run.tracks.emplace_back().info;
  info.id = TrackId{0};
  info.kind = trace::TrackKind::kStream;
  int64_t at = 0;
  bool more = true;
  for (size_t round = 0; more; ++round) {
    more = false;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] <= round) continue;
      more = true;
      trace::Kernel& kernel = run.rows.kernels.emplace_back();
      kernel.track = TrackId{0};
      kernel.name = trace::StringId{static_cast<uint32_t>(i)};
      kernel.start_ns = at;
      kernel.end_ns = at += 1'000;
    }
  }
  return run;
}

size_t RoundsOf(const std::vector<size_t>& counts) {
  const auto rhythm = importers::FindRhythm(RunOf(counts));
  return rhythm.has_value() ? rhythm->starts_ns.size() : 0;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a recording that was cut out of a run has the rounds that nearly all names agree on") {
    CHECK(RoundsOf({9, 9, 8, 10, 10, 8, 9}) == 9);
    // Two of seven that are off by more are too many.
    CHECK(RoundsOf({9, 9, 8, 12, 12, 10, 10}) == 0);
  }

  TEST_CASE("120,000 names are compared by how often they come, not each with each") {
    std::vector<size_t> counts;
    for (size_t i = 0; i < 120'000; ++i) counts.push_back(8 + i % 3);
    CHECK(RoundsOf(counts) == 9);
  }
}
