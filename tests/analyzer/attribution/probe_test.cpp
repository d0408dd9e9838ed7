// The causal check's arithmetic, on runs whose rates are known.
#include "analyzer/attribution/probe.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using doctest::Approx;
using test::RunBuilder;

namespace {

constexpr StageId kRead{0};
constexpr StageId kDecode{1};

struct Stretch {
  StageId stage;
  int64_t step_ns = 0;  // in this window
  uint64_t work_ns = 400;
  uint64_t delay_ns = 100;  // a quarter
};

// Windows of 100 steps, one after the other, each with its own step time.
RunBuilder Paced(const std::vector<Stretch>& windows) {
  RunBuilder b;
  b.Stage("read", "source");
  b.Stage("decode");
  int64_t now = 0;
  uint64_t index = 0;
  for (const Stretch& window : windows) {
    const int64_t begin = now;
    for (int i = 0; i < 100; ++i) {
      b.Step({.index = index++,
              .requested = now,
              .received = now,
              .done = now + window.step_ns,
              .samples = 4});
      now += window.step_ns;
    }
    const bool slowed = window.stage.known();
    b.run.rows.probes.push_back({begin, now, window.stage, slowed ? 100u : 0u,
                                 slowed ? window.work_ns : 0, slowed ? window.delay_ns : 0});
  }
  return b;
}

std::vector<Sensitivity> Of(const std::vector<Stretch>& windows) {
  return SensitivitiesOf(Paced(windows).Take());
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("sensitivity: -1 if the steps slow down as much as the stage, 0 if they do not") {
    const auto found = Of({{{}, 1000},
                           {kDecode, 1250},
                           {{}, 1000},
                           {kRead, 1000},
                           {{}, 1000},
                           {kDecode, 1250},
                           {{}, 1000},
                           {kRead, 1000},
                           {{}, 1000}});
    REQUIRE(found.size() == 2);
    CHECK(found[0].stage == kRead);
    CHECK(found[0].mean == Approx(0));
    CHECK(found[1].stage == kDecode);
    CHECK(found[1].mean == Approx(-1));
    CHECK(found[1].low == Approx(-1));
    CHECK(found[1].high == Approx(-1));
    CHECK(found[1].windows == 2);
    CHECK(found[1].slowed_by == Approx(0.25));
    CHECK(found[1].bounded);
  }

  TEST_CASE("sensitivity: a stage that takes part of each step has that share") {
    // 400 of 1000 ns are the stage's: a quarter more of it is 1100.
    const auto found = Of({{{}, 1000}, {kDecode, 1100}, {{}, 1000}});
    REQUIRE(found.size() == 1);
    CHECK(found[0].mean == Approx(-std::log(1.1) / std::log(1.25)));
    CHECK_FALSE(found[0].bounded);
    CHECK(found[0].windows == 1);
  }

  TEST_CASE("sensitivity: the actual delay counts, not the intended one") {
    const auto found = Of({{{}, 1000}, {kDecode, 1250, 400, 200}, {{}, 1000}});
    REQUIRE(found.size() == 1);
    CHECK(found[0].slowed_by == Approx(0.5));
    CHECK(found[0].mean == Approx(-std::log(1.25) / std::log(1.5)));
  }

  TEST_CASE("sensitivity: both neighbors cancel a drift, windows that differ widen the interval") {
    const auto drift = Of({{{}, 900}, {kRead, 1000}, {{}, 1100}});
    CHECK(drift[0].mean == Approx(0).epsilon(0.06));
    const auto noisy = Of({{{}, 1000},
                           {kDecode, 1400},
                           {{}, 1000},
                           {kDecode, 1100},
                           {{}, 1000},
                           {kDecode, 1250},
                           {{}, 1000}});
    CHECK(noisy[0].low < -1.4);
    CHECK(noisy[0].high > -0.6);
    CHECK(noisy[0].low < noisy[0].mean);
  }

  TEST_CASE("sensitivity: windows without work, without steps or without a neighbor are left out") {
    CHECK(Of({{{}, 1000}, {kDecode, 1250, 0, 0}, {{}, 1000}}).empty());
    CHECK(Of({{kDecode, 1250}}).empty());
    CHECK(Of({{kDecode, 1250}, {kRead, 1000}, {kDecode, 1250}}).empty());
    CHECK(Of({{kDecode, 1250}, {{}, 1000}}).size() == 1);
    CHECK(Of({}).empty());
    RunBuilder outside = Paced({{{}, 1000}, {kDecode, 1250}, {{}, 1000}});
    for (trace::Probe& window : outside.run.rows.probes) {
      window.start_ns += 1'000'000;
      window.end_ns += 1'000'000;
    }
    CHECK(SensitivitiesOf(outside.Take()).empty());
  }

  TEST_CASE("probed range: all windows, if any stage was slowed") {
    const auto range = ProbedRange(Paced({{{}, 1000}, {kDecode, 1250}, {{}, 1000}}).Take());
    REQUIRE(range.has_value());
    CHECK(range->start_ns == 0);
    CHECK(range->end_ns == 325'000);
    CHECK_FALSE(ProbedRange(Paced({{{}, 1000}, {{}, 1000}}).Take()).has_value());
    CHECK_FALSE(ProbedRange(RunBuilder().Take()).has_value());
  }
}
