// What the model of the pipeline does, against what can be worked out on paper.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replay/simulate/simulate.h"
#include "replay/workload/op_change.h"
#include "tests/replay/made_workload.h"

using stallscope::CacheSpec;
using stallscope::FilterSpec;
using stallscope::OnError;
using stallscope::RepeatSpec;
using stallscope::ShardSpec;
using stallscope::SnapshotSpec;
using stallscope::SourceFormat;
using stallscope::replay::Cost;
using stallscope::replay::Prediction;
using stallscope::replay::Simulate;
using stallscope::test::Batch;
using stallscope::test::MadeWorkload;
using stallscope::test::Map;
using stallscope::test::Prefetch;
using stallscope::test::StageOf;

namespace {

// With a device that takes no time to speak of.
MadeWorkload Work(int64_t workers, bool ordered = true) {
  return MadeWorkload({Map("work", workers, ordered), Batch(10), Prefetch(2)}, 1);
}

double Rate(const MadeWorkload& made) { return Simulate(made.Make()).samples_per_s; }

// One in 64 takes so long; the others 1 ms.
std::vector<Cost> OneSlowIn64(float slow_ms) {
  std::vector<Cost> items(640);
  for (Cost& item : items) item.blocked_ns = 1e6F;
  for (size_t i = 0; i < items.size(); i += 64) items[i].blocked_ns = slow_ms * 1e6F;
  return items;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a map in the thread that asks is done one at a time") {
    CHECK(Rate(Work(1).Costs("work", 0, 1000)) == doctest::Approx(1000).epsilon(0.01));
  }

  TEST_CASE("n workers that sleep are n times as fast, even with fewer cores") {
    CHECK(Rate(Work(2).Costs("work", 0, 1000)) == doctest::Approx(2000).epsilon(0.02));
    CHECK(Rate(Work(8).Costs("work", 0, 1000)) == doctest::Approx(8000).epsilon(0.02));
  }

  TEST_CASE("workers that burn are no faster than the cores") {
    CHECK(Rate(Work(1).Costs("work", 1000)) == doctest::Approx(1000).epsilon(0.02));
    // Two busy cores are not quite twice as good as one.
    CHECK(Rate(Work(2).Costs("work", 1000)) == doctest::Approx(1920).epsilon(0.02));
    CHECK(Rate(Work(8).Costs("work", 1000)) == doctest::Approx(1920).epsilon(0.02));
  }

  TEST_CASE("order holds finished elements back behind a slow one, and without it nothing does") {
    const double free = Rate(Work(8, false).Items("work", OneSlowIn64(60)));
    const double held = Rate(Work(8, true).Items("work", OneSlowIn64(60)));
    // Without order 8 workers share 123 ms of sleep for 64 elements.
    CHECK(free == doctest::Approx(64 * 8 / 0.123).epsilon(0.1));
    // With it the others have no room soon, and the 60 ms are hidden by next to nothing.
    CHECK(held == doctest::Approx(64 / 0.067).epsilon(0.15));
  }

  TEST_CASE("stages before workers run in one of them at a time") {
    const double rate = Rate(Work(8).Costs("work", 0, 100).Costs("read", 0, 500));
    CHECK(rate == doctest::Approx(2000).epsilon(0.02));
  }

  TEST_CASE("a throttled disk has one rate, however many readers there are") {
    for (const int64_t readers : {1, 4}) {
      MadeWorkload made({StageOf("again", RepeatSpec{}), Batch(10)}, 1);
      made.source().format = SourceFormat::kRaw;
      made.source().files = {"x"};
      made.source().cycle_length.value = 8;
      made.source().parallelism.value = readers;
      made.source().throttle_bytes_per_s = 1'000'000;
      made.Costs("read", 10);
      made.recorded().stages["read"].bytes = 9984;  // and 16 around the record
      CAPTURE(readers);
      CHECK(Rate(made) == doctest::Approx(100).epsilon(0.03));
    }
  }

  TEST_CASE("readers have a file each, so that a cycle of one keeps all but one idle") {
    for (const int64_t cycle : {1, 4}) {
      MadeWorkload made({Batch(10)}, 1);
      made.source().format = SourceFormat::kRaw;
      made.source().files = {"x"};
      made.source().cycle_length.value = cycle;
      made.source().parallelism.value = 4;
      made.Costs("read", 0, 1000);
      CAPTURE(cycle);
      CHECK(Rate(made) == doctest::Approx(1000.0 * static_cast<double>(cycle)).epsilon(0.05));
    }
  }

  TEST_CASE("a new snapshot stands for all before it, and costs what reading it usually takes") {
    MadeWorkload made({Map("work"), StageOf("again", RepeatSpec{}), Batch(10)}, 1);
    made.Costs("work", 0, 1000);
    made.recorded().elements_per_epoch = 100;
    stallscope::replay::Workload workload = made.Make();
    auto& stages = workload.spec.stages;
    stages.insert(stages.begin() + 2, StageOf("kept", SnapshotSpec{"kept"}));
    stallscope::replay::OpChange change;
    change.stages["kept"] = {.scale = 0, .more_cpu_ns = 100'000};
    workload.ops = std::make_shared<const stallscope::replay::OpChange>(change);
    CHECK(Simulate(workload).samples_per_s == doctest::Approx(10'000).epsilon(0.02));
    // One without a cost is filled by the map first.
    workload.ops.reset();
    CHECK(Simulate(workload).stages[1].utilization > 0);
  }

  TEST_CASE("a cache skips the stages before it from the second pass on") {
    MadeWorkload made(
        {Map("work"), StageOf("cache", CacheSpec{}), StageOf("again", RepeatSpec{}), Batch(10)}, 1);
    made.Costs("work", 0, 1000).Costs("cache", 10);
    made.recorded().elements_per_epoch = 100;
    // 10 of 100 steps fill it: the analysis takes them for warm-up.
    CHECK(Rate(made) > 20'000);
    made.recorded().elements_per_epoch = 100'000'000;
    CHECK(Rate(made) == doctest::Approx(1000).epsilon(0.02));
  }

  TEST_CASE("a longer prefetch hides bursts, and gains nothing without them") {
    const auto with = [](int64_t buffer, float slow_ms) {
      MadeWorkload made({Map("work"), Batch(1), Prefetch(buffer)}, 2500);
      made.spec().trainer.steps = 2000;
      return Rate(made.Items("work", OneSlowIn64(slow_ms)));
    };
    CHECK(with(64, 64) > 1.1 * with(1, 64));
    CHECK(with(64, 1) == doctest::Approx(with(1, 1)).epsilon(0.01));
  }

  TEST_CASE("elements that a filter keeps bear the cost of those that it drops") {
    MadeWorkload made({Map("work"), StageOf("some", FilterSpec{"keep_one_in(4)"}), Batch(10)}, 1);
    made.Costs("work", 0, 1000);
    made.recorded().stages["some"].kept = 0.25;
    CHECK(Rate(made) == doctest::Approx(250).epsilon(0.1));
  }

  TEST_CASE("a shard keeps one element in n") {
    MadeWorkload made({StageOf("part", ShardSpec{4, 1}), Batch(10)}, 1);
    CHECK(Rate(made.Costs("read", 0, 1000)) == doctest::Approx(250).epsilon(0.02));
  }

  TEST_CASE("map_and_batch makes the batch's workers do the map") {
    MadeWorkload made({Map("work"), Batch(10, 4)}, 1);
    made.Costs("work", 0, 1000);
    CHECK(Rate(made) == doctest::Approx(1000).epsilon(0.02));
    made.spec().rewrites.map_and_batch = true;
    CHECK(Rate(made) == doctest::Approx(4000).epsilon(0.05));
  }

  TEST_CASE("with bad elements skipped, map_and_batch is refused and so is its gain") {
    MadeWorkload made({Map("work"), Batch(10, 4)}, 1);
    made.Costs("work", 0, 1000);
    made.source().on_error = OnError::kSkip;
    made.spec().rewrites.map_and_batch = true;
    CHECK(Rate(made) == doctest::Approx(1000).epsilon(0.02));
  }

  TEST_CASE("stages after the batch run once per batch") {
    MadeWorkload made({Batch(10), Map("whole"), Prefetch(2)}, 1);
    made.recorded().stages["whole"].of_batches = true;
    made.Costs("whole", 0, 10'000);
    CHECK(Rate(made) == doctest::Approx(1000).epsilon(0.02));
    auto larger = made.Make();
    std::get<stallscope::BatchSpec>(larger.spec.stages[1].kind).size = 40;
    CHECK(Simulate(larger).samples_per_s == doctest::Approx(1000).epsilon(0.02));
  }

  TEST_CASE("the bottleneck is the stage that works most, or the cores, or the trainer") {
    MadeWorkload sleeping = Work(2);
    sleeping.Costs("work", 0, 1000).Costs("read", 0, 100);
    CHECK(Simulate(sleeping.Make()).bottleneck == "work");
    CHECK(Simulate(Work(8).Costs("work", 1000).Make()).bottleneck == "cores");
    MadeWorkload idle = Work(1);
    idle.spec().trainer.emulated.compute_us_per_batch = 9000;
    CHECK(Simulate(idle.Costs("work", 1).Make()).bottleneck == "trainer");
  }

  TEST_CASE("work after a sleep costs what it did after idle times in the recording") {
    // One thread: 1 ms of sleep, then 1 ms of work, which is half as much again on a cold core.
    MadeWorkload made({Map("rest"), Map("work"), Batch(10), Prefetch(2)}, 10);
    made.Costs("rest", 0, 1000).Costs("work", 1000);
    CHECK(Simulate(made.Make()).samples_per_s == doctest::Approx(500).epsilon(0.01));
    made.recorded().stages["work"].idle = {1.5, true, 1};
    CHECK(Simulate(made.Make()).samples_per_s == doctest::Approx(400).epsilon(0.01));
    // A pause of 40 us cools nothing.
    made.Costs("rest", 0, 40);
    CHECK(Simulate(made.Make()).samples_per_s == doctest::Approx(1e6 / 1040).epsilon(0.01));
  }

  TEST_CASE("a recording without busy cores leaves a doubt of what a busy one would cost") {
    const auto half_width = [](bool shown) {
      MadeWorkload made({Map("work"), Batch(10), Prefetch(2)}, 10);
      made.Costs("work", 1000);
      made.recorded().stages["work"].idle = {1, shown, 1};
      const Prediction prediction = Simulate(made.Make());
      return prediction.high / prediction.samples_per_s - 1;
    };
    CHECK(half_width(false) > half_width(true) + 0.01);
  }

  TEST_CASE("other ops: their share of what was recorded, and an interval as wide as their error") {
    MadeWorkload made = Work(1).Costs("work", 1000);
    stallscope::replay::Workload workload = made.Make();
    const auto with = [&](double error) {
      stallscope::replay::OpChange ops;
      ops.stages["work"] = {.scale = 0.5, .more_cpu_ns = 100'000, .error = error};
      ops.assumed = true;
      workload.ops = std::make_shared<const stallscope::replay::OpChange>(ops);
      return Simulate(workload);
    };
    const Prediction sure = with(0);
    CHECK(sure.samples_per_s == doctest::Approx(1e6 / 600).epsilon(0.01));
    const Prediction open = with(0.5);
    CHECK(open.samples_per_s == doctest::Approx(sure.samples_per_s));
    CHECK(open.high / open.samples_per_s > 1.5);
    CHECK(sure.high / sure.samples_per_s < 1.3);
    // Where the device dominates, their cost does not matter.
    made.spec().trainer.emulated.compute_us_per_batch = 100'000;
    workload = made.Make();
    CHECK(with(0.5).high / with(0.5).samples_per_s < 1.1);
  }

  TEST_CASE("ops that work on whole batches cost a batch what its samples would") {
    MadeWorkload made({Map("work"), Batch(10), Prefetch(2)}, 1);
    std::get<stallscope::MapSpec>(made.spec().stages[1].kind).ops = {"resize(8)", "normalize"};
    made.Costs("work", 1000);
    stallscope::replay::Workload workload = made.Make();
    workload.spec.rewrites.vectorise = true;
    stallscope::replay::OpChange ops;
    ops.stages["work"] = {.scale = 0.25};
    ops.whole["work"] = {.scale = 0.5};
    workload.ops = std::make_shared<const stallscope::replay::OpChange>(ops);
    CHECK(Simulate(workload).samples_per_s == doctest::Approx(1e6 / 750).epsilon(0.02));
  }
}
