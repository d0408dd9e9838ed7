// The plan of the causal check, and the trace of a recording with it.
#include "collectors/capture/probe.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analyzer/spec/spec_json.h"
#include "analyzer/trace/reader.h"
#include "collectors/capture/capture.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/paths.h"

using namespace stallscope;
using capture::PlanProbe;
using capture::ProbePlan;

namespace {

constexpr int64_t kMs = 1'000'000;

std::vector<StageId> Stages(uint32_t count) {
  std::vector<StageId> stages;
  for (uint32_t i = 0; i < count; ++i) stages.push_back(StageId{i});
  return stages;
}

std::map<StageId, size_t> Counted(const ProbePlan& plan) {
  std::map<StageId, size_t> counts;
  for (const StageId stage : plan.windows) ++counts[stage];
  return counts;
}

// A stage that takes 2 ms per batch, before a device that takes 4 ms.
Spec ThreeSeconds(int64_t steps) {
  Spec spec = ReadSpec(R"~({"name": "probed", "seed": 3, "stages": [
      {"name": "read", "source": {"format": "synthetic", "elements": 100000, "bytes": 64}},
      {"name": "fetch", "map": {"ops": ["sleep(1000)"]}},
      {"name": "batch", "batch": {"size": 2, "drop_remainder": true}},
      {"name": "prefetch", "prefetch": {"buffer_size": 2}}],
    "trainer": {"device": "emulated", "emulated": {"compute_us_per_batch": 4000}}})~",
                       "test")
                  .value();
  spec.trainer.steps = steps;
  return spec;
}

test::RecordedTrace Recorded(const Spec& spec, bool probe) {
  const test::ScratchDir dir;
  capture::CaptureOptions options;
  options.output = dir / "r.sst";
  options.probe = probe;
  const auto done = capture::Capture(spec, options);
  REQUIRE_MESSAGE(done.ok(), (done.ok() ? "" : done.error().Line()));
  return test::ReadTrace(options.output);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("probe plan: each slowed window is between two undisturbed ones, each stage as often") {
    const ProbePlan plan = PlanProbe(Stages(3), 5'000 * kMs, 10 * kMs, 7);
    CHECK(plan.window_ns >= 100 * kMs);
    REQUIRE(plan.windows.size() == 49);
    for (size_t i = 0; i < plan.windows.size(); ++i) {
      CHECK(plan.windows[i].known() == (i % 2 == 1));
    }
    for (uint32_t i = 0; i < 3; ++i) CHECK(Counted(plan)[StageId{i}] == 8);
    CHECK(plan.window_ns * 49 <= 5'000 * kMs);
  }

  TEST_CASE("probe plan: every round has its own order, from the seed") {
    const ProbePlan plan = PlanProbe(Stages(4), 60'000 * kMs, kMs, 7);
    std::set<std::vector<StageId>> orders;
    for (size_t i = 0; i + 8 < plan.windows.size(); i += 8) {
      std::vector<StageId> round;
      for (size_t j = 1; j < 8; j += 2) round.push_back(plan.windows[i + j]);
      orders.insert(round);
      std::sort(round.begin(), round.end());
      CHECK(round == Stages(4));
    }
    CHECK(orders.size() > 3);
    CHECK(PlanProbe(Stages(4), 60'000 * kMs, kMs, 7).windows == plan.windows);
    CHECK(PlanProbe(Stages(4), 60'000 * kMs, kMs, 8).windows != plan.windows);
  }

  TEST_CASE("probe plan: windows have enough steps, and a bounded length") {
    CHECK(PlanProbe(Stages(2), 100'000 * kMs, 50 * kMs, 1).window_ns == 1'200 * kMs);
    CHECK(PlanProbe(Stages(2), 100'000 * kMs, kMs, 1).window_ns == 300 * kMs);
    CHECK(Counted(PlanProbe(Stages(2), 100'000 * kMs, kMs, 1))[StageId{1}] == 8);
  }

  TEST_CASE("probe plan: one round needs all of its windows") {
    CHECK(PlanProbe(Stages(2), 500 * kMs, kMs, 1).windows.size() == 5);
    CHECK(PlanProbe(Stages(2), 499 * kMs, kMs, 1).windows.empty());
    CHECK(PlanProbe({}, 5'000 * kMs, kMs, 1).windows.empty());
    CHECK(PlanProbe(Stages(1), 0, kMs, 1).windows.empty());
  }

  TEST_CASE("a recording that is too short has no windows, and says why") {
    const test::ScratchDir dir;
    capture::CaptureOptions options;
    options.output = dir / "r.sst";
    options.probe = true;
    const auto done = capture::Capture(ThreeSeconds(12), options);
    REQUIRE(done.ok());
    CHECK(test::ReadTrace(options.output).rows.probes.empty());
    REQUIRE(done.value().pipeline.notes.size() == 1);
    CHECK(done.value().pipeline.notes[0].find("record more steps") != std::string::npos);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a recording has windows of all active stages with the check, and none without it") {
    const test::RecordedTrace trace = Recorded(ThreeSeconds(600), true);
    CHECK(trace.rows.steps.size() == 600);
    REQUIRE(trace.rows.probes.size() >= 5);
    std::set<StageId> slowed;
    for (size_t i = 0; i < trace.rows.probes.size(); ++i) {
      const trace::Probe& window = trace.rows.probes[i];
      CHECK(window.stage.known() == (i % 2 == 1));
      CHECK(window.start_ns < window.end_ns);
      if (i > 0) CHECK(window.start_ns >= trace.rows.probes[i - 1].end_ns);
      if (!window.stage.known()) {
        CHECK(window.elements == 0);
        continue;
      }
      slowed.insert(window.stage);
    }
    CHECK(slowed.size() == 2);  // fetch and the trainer; the others hardly work
    CHECK(Recorded(ThreeSeconds(60), false).rows.probes.empty());
  }
}
