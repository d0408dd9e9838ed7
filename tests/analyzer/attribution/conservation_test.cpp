#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <utility>

#include "tests/analyzer/attribution/random_runs.h"
#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::Random;

namespace {

bool IsFraction(double value) { return value >= 0 && value <= 1; }

void CheckPartition(const Attribution& a) {
  const int64_t window = a.window.ns();
  int64_t sum = 0;
  for (const auto& total : a.breakdown) {
    if (!total.has_value()) continue;
    sum += total->ns;
    REQUIRE(total->ns >= 0);
    REQUIRE(IsFraction(total->fraction));
    REQUIRE(total->low <= total->fraction);
    REQUIRE(total->high >= total->fraction);
  }
  REQUIRE(sum == window);
  REQUIRE(!a.timelines.empty());
  int64_t idle = 0;
  for (const DeviceTimeline& timeline : a.timelines) {
    int64_t now = a.window.start_ns;
    for (const Slice& slice : timeline.slices) {
      REQUIRE(slice.start_ns == now);
      REQUIRE(slice.end_ns > now);
      now = slice.end_ns;
      if (slice.category > Category::kTransfer) idle += slice.end_ns - slice.start_ns;
    }
    REQUIRE(now == a.window.end_ns);
  }
  REQUIRE(a.idle.ns == idle);
  REQUIRE(a.idle.launch_ns + a.idle.input_ns + a.idle.sync_ns + a.idle.other_ns == idle);
  for (const StepShare& step : a.steps) {
    int64_t share = 0;
    for (const int64_t ns : step.ns) share += ns;
    REQUIRE(share == step.end_ns - step.start_ns);
  }
}

void CheckAllSteps(const model::Run& run) {
  const StepPartition all = PartitionSteps(run);
  REQUIRE(all.steps.size() == run.rows.steps.size());
  for (size_t i = 0; i < all.steps.size(); ++i) {
    const StepShare& step = all.steps[i];
    REQUIRE(step.index == run.rows.steps[i].index);
    int64_t share = 0;
    for (const int64_t ns : step.ns) share += ns;
    REQUIRE(share == step.end_ns - step.start_ns);
  }
}

void CheckBlame(const model::Run& run, const Attribution& a) {
  const auto& stall = a.breakdown[At(Category::kInputStall)];
  int64_t sum = 0;
  int64_t last = std::numeric_limits<int64_t>::max();
  std::set<std::pair<StageId, Cause>> seen;
  for (const Blame& blame : a.blame) {
    sum += blame.ns;
    REQUIRE(blame.ns > 0);
    REQUIRE(blame.ns <= last);
    last = blame.ns;
    REQUIRE(blame.fraction ==
            doctest::Approx(static_cast<double>(blame.ns) / static_cast<double>(a.window.ns())));
    REQUIRE((!blame.stage.known() || blame.stage.value < run.stages.size()));
    REQUIRE(seen.insert({blame.stage, blame.cause}).second);
  }
  REQUIRE(sum == (stall.has_value() ? stall->ns : 0));
  REQUIRE(a.stragglers.size() <= 1000);
  for (const Straggler& straggler : a.stragglers) {
    REQUIRE(straggler.element_ns <= straggler.stall_ns);
    REQUIRE(straggler.element.known());
  }
}

void CheckUse(const model::Run& run, const Attribution& a) {
  REQUIRE(a.stages.size() == run.stages.size());
  for (const StageUse& use : a.stages) {
    REQUIRE(use.workers >= 1);
    REQUIRE(use.busy_ns >= 0);
    REQUIRE(use.cpu_ns + use.blocked_ns + use.contention_ns + use.io_ns <= use.busy_ns);
    REQUIRE(use.contention_ns >= 0);
    for (const double value : {use.utilization, use.starved, use.blocked}) {
      REQUIRE(IsFraction(value));
    }
    if (use.capacity_samples_per_s.has_value()) REQUIRE(*use.capacity_samples_per_s > 0);
    if (!use.queue.has_value()) continue;
    REQUIRE(IsFraction(use.queue->empty.value_or(0)));
    REQUIRE(IsFraction(use.queue->full.value_or(0)));
  }
  for (const DeviceUse& device : a.devices) {
    REQUIRE(device.kernel_ns >= 0);
    REQUIRE(device.busy_ns >= device.kernel_ns);
  }
}

void CheckRandomRuns(uint64_t seed, int count) {
  for (int i = 0; i < count; ++i) {
    CAPTURE(i);
    Random random(seed + static_cast<uint64_t>(i));
    const bool sloppy = i % 4 == 0;
    const auto horizon = static_cast<int64_t>(50 + random.Below(2000));
    const model::Run run = test::RandomRun(random, {.horizon_ns = horizon, .sloppy = sloppy});
    const Attribution attribution = Attribute(run, 1);
    CheckPartition(attribution);
    CheckBlame(run, attribution);
    CheckUse(run, attribution);
    CheckAllSteps(run);
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the parts of 2,000 random runs add up to the nanosecond") {
    CheckRandomRuns(1'000'000, 2000);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("the parts of 10,000 random runs add up to the nanosecond") {
    CheckRandomRuns(2'000'000, 10'000);
  }
}
