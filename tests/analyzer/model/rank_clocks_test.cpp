#include "analyzer/model/ranks.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "analyzer/trace/limits.h"
#include "analyzer/words/words.h"

using namespace stallscope;
using model::CorrectionByCollectives;

namespace {

constexpr int64_t kMs = 1'000'000;

bool IsReduction(std::string_view name) { return name.find("nccl") != std::string_view::npos; }

// Four steps of 10 ms, each with a product and two reductions, on a clock that is `behind` the
// first's and with `jitter` at every other end.
model::Run Rank(uint32_t rank, int64_t behind, int64_t jitter = 0) {
  model::Run run;
  run.path = "rank" + std::to_string(rank);
  run.info.rank = rank;
  run.strings = {"gemm", "ncclAllReduce", "ncclSendRecv"};
  model::Track stream;
  stream.info.kind = trace::TrackKind::kStream;
  stream.info.id = TrackId{0};
  run.tracks.push_back(stream);
  for (int64_t k = 0; k < 4; ++k) {
    const int64_t begin = 1000 * kMs + k * 10 * kMs - behind;
    trace::Step step;
    step.index = static_cast<uint64_t>(7 + k);
    step.requested_ns = step.received_ns = begin;
    step.issued_ns = begin + 5 * kMs;
    step.device_done_ns = begin + 9 * kMs;
    run.rows.steps.push_back(step);
    for (uint32_t name = 0; name < 3; ++name) {
      trace::Kernel kernel;
      kernel.enqueued_ns = begin + kMs;
      // A product takes as long as it likes; a rank may come late to a reduction.
      kernel.end_ns =
          begin + (3 + 2 * name) * kMs + (name == 0 ? rank * kMs : 0) + (k % 2 == 0 ? jitter : 0);
      kernel.start_ns = kernel.end_ns - kMs - rank * 100'000;
      kernel.track = TrackId{0};
      kernel.name = trace::StringId{name};
      run.rows.kernels.push_back(kernel);
    }
  }
  return run;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("clock correction: from the ends of collectives") {
    const auto found = CorrectionByCollectives(Rank(0, 0), Rank(1, 5 * kMs), 0, &IsReduction);
    REQUIRE(found.has_value());
    CHECK(found->ns == 5 * kMs);
    CHECK(found->pairs == 8);
    // What the wall clocks say counts; even where they are more than a step off.
    CHECK(CorrectionByCollectives(Rank(0, 0), Rank(1, 5 * kMs), 5 * kMs, &IsReduction)->ns == 0);
    CHECK(CorrectionByCollectives(Rank(0, 0), Rank(1, -35 * kMs), 0, &IsReduction)->ns ==
          -35 * kMs);
    // Some microseconds are how a collective ends.
    CHECK(CorrectionByCollectives(Rank(0, 0), Rank(1, 0, 4'000), 0, &IsReduction).has_value());
  }

  TEST_CASE("clock correction: none from different or contradictory collectives") {
    const model::Run first = Rank(0, 0);
    const auto corrects = [&](const model::Run& other) {
      return CorrectionByCollectives(first, other, 0, &IsReduction).has_value();
    };
    CHECK(corrects(Rank(1, 3 * kMs)));
    CHECK_FALSE(corrects(Rank(1, 3 * kMs, 2 * kMs)));
    model::Run renamed = Rank(1, 3 * kMs);
    renamed.strings = {"gemm", "ncclReduceScatter", "ncclBroadcast"};
    CHECK_FALSE(corrects(renamed));
    model::Run rhythm = Rank(1, 3 * kMs);
    rhythm.info.limits = {"steps: this file marks none; they were found by the rhythm"};
    CHECK_FALSE(corrects(rhythm));
    model::Run other_steps = Rank(1, 3 * kMs);
    for (trace::Step& step : other_steps.rows.steps) step.index += 100;
    CHECK_FALSE(corrects(other_steps));
    model::Run more = Rank(1, 3 * kMs);
    for (size_t i = 0; i < 12; ++i) more.rows.kernels.push_back(more.rows.kernels[i]);
    CHECK_FALSE(corrects(more));
  }

  TEST_CASE("merged ranks use the corrected clock, a large correction is reported") {
    std::vector<model::Run> runs;
    runs.push_back(Rank(0, 0));
    runs.push_back(Rank(1, 5 * kMs));
    const auto merged = model::MergeRanks(std::move(runs), &IsReduction);
    REQUIRE(merged.ok());
    const auto& steps = merged.value().rows.steps;
    REQUIRE(steps.size() == 8);
    CHECK(steps[0].requested_ns == steps[1].requested_ns);
    REQUIRE(merged.value().quality.warnings.size() == 1);
    CHECK(merged.value().quality.warnings[0].find("8 collectives") != std::string::npos);
    // Without a word for what a collective is, the wall clocks alone count.
    std::vector<model::Run> again;
    again.push_back(Rank(0, 0));
    again.push_back(Rank(1, 5 * kMs));
    const auto plain = model::MergeRanks(std::move(again));
    REQUIRE(plain.ok());
    CHECK(plain.value().rows.steps[1].requested_ns ==
          plain.value().rows.steps[0].requested_ns - 5 * kMs);
    CHECK(plain.value().quality.warnings.empty());
  }

  TEST_CASE("many ranks: what each warns of is one line where it is shown, with the extremes") {
    std::vector<model::Run> runs;
    for (uint32_t rank = 0; rank < 48; ++rank) {
      runs.push_back(Rank(rank, rank < 2 ? 0 : (static_cast<int64_t>(rank) - 20) * 3 * kMs + kMs));
      runs.back().quality.warnings = {"the recorder has no name"};
    }
    const auto merged = model::MergeRanks(std::move(runs), &IsReduction);
    REQUIRE(merged.ok());
    const std::vector<std::string> shown = words::Condensed(merged.value().quality.warnings);
    REQUIRE(shown.size() == 2);
    CHECK(shown[0] == "the recorder has no name (and 47 more of this kind)");
    CHECK(shown[1].find("(and 45 more of this kind: -53000 to 82000") != std::string::npos);
  }

  TEST_CASE("clocks at the extremes of their range are merged within the limits") {
    constexpr int64_t kMin = trace::kMinTimeNs;
    constexpr int64_t kMax = trace::kMaxTimeNs;
    for (const int64_t there : {kMin, int64_t{0}, kMax}) {
      for (const int64_t realtime : {INT64_MIN, int64_t{0}, INT64_MAX}) {
        for (const int64_t offset : {-(int64_t{1} << 62), int64_t{0}, int64_t{1} << 62}) {
          model::Run first = Rank(0, 0);
          model::Run other = Rank(1, 0);
          for (trace::Kernel& kernel : first.rows.kernels) kernel.end_ns = kMax;
          for (size_t i = 0; i < other.rows.kernels.size(); ++i) {
            other.rows.kernels[i].end_ns = i % 2 == 0 ? there : kMin;
          }
          const auto found = CorrectionByCollectives(first, other, offset, &IsReduction);
          CHECK((!found || found->ns > INT64_MIN));
          first.info.start_ns = kMax;
          first.info.start_realtime_ns = realtime;
          other.info.start_ns = kMin;
          other.info.start_realtime_ns = -(realtime / 2);
          std::vector<model::Run> runs;
          runs.push_back(std::move(first));
          runs.push_back(std::move(other));
          const auto merged = model::MergeRanks(std::move(runs), &IsReduction);
          REQUIRE(merged.ok());
          for (const trace::Kernel& kernel : merged.value().rows.kernels) {
            CHECK(trace::IsTime(kernel.end_ns));
          }
        }
      }
    }
  }
}
