#include "replay/simulate/simulate.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "analyzer/base/splitmix.h"
#include "tests/replay/made_workload.h"

using stallscope::ShuffleSpec;
using stallscope::SplitMix64;
using stallscope::replay::Cost;
using stallscope::replay::Prediction;
using stallscope::replay::Simulate;
using stallscope::replay::SimulateOptions;
using stallscope::replay::Workload;
using stallscope::test::Batch;
using stallscope::test::MadeWorkload;
using stallscope::test::Map;
using stallscope::test::Prefetch;
using stallscope::test::StageOf;

namespace {

// Costs that vary, so that a seed matters.
MadeWorkload Varied() {
  MadeWorkload made({Map("work", 4), StageOf("shuffle", ShuffleSpec{50}), Batch(8), Prefetch(2)},
                    300);
  SplitMix64 random(3);
  std::vector<Cost> items(500);
  for (Cost& item : items) {
    item.cpu_ns = static_cast<float>(50'000 + random.Below(200'000));
    item.blocked_ns = static_cast<float>(random.Below(100'000));
  }
  made.Items("work", std::move(items)).Costs("batch", 5).Costs("read", 3);
  return made;
}

bool SameBits(const Prediction& a, const Prediction& b) {
  return a.samples_per_s == b.samples_per_s && a.low == b.low && a.high == b.high &&
         a.input_stall == b.input_stall && a.events == b.events && a.bottleneck == b.bottleneck;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the same workload gives the same bits, in any thread") {
    const Workload workload = Varied().Make();
    const Prediction once = Simulate(workload);
    std::vector<Prediction> others(4);
    std::vector<std::thread> threads;
    for (Prediction& other : others) {
      threads.emplace_back([&other, &workload] { other = Simulate(workload); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Prediction& other : others) CHECK(SameBits(once, other));
  }

  TEST_CASE("another seed draws other costs, of the same distribution") {
    const Workload workload = Varied().Make();
    SimulateOptions options;
    const Prediction one = Simulate(workload, options);
    options.seed = 77;
    const Prediction other = Simulate(workload, options);
    CHECK(one.samples_per_s != other.samples_per_s);
    CHECK(one.samples_per_s == doctest::Approx(other.samples_per_s).epsilon(0.05));
  }

  TEST_CASE("the interval holds the prediction, and grows with what is uncertain") {
    Workload workload = Varied().Make();
    const Prediction sure = Simulate(workload);
    CHECK(sure.low < sure.samples_per_s);
    CHECK(sure.samples_per_s < sure.high);
    workload.doubt = 0.6;
    const Prediction unsure = Simulate(workload);
    CHECK(unsure.samples_per_s == sure.samples_per_s);
    CHECK(unsure.high > 1.2 * sure.high);
    CHECK(unsure.low < sure.low);
  }

  TEST_CASE("few batches are simulated where few are asked for") {
    SimulateOptions options;
    options.resamples = 1;
    options.batches = 32;
    const Prediction few = Simulate(Varied().Make(), options);
    options.batches = 320;
    const Prediction many = Simulate(Varied().Make(), options);
    CHECK(many.events > 5 * few.events);
  }

  TEST_CASE("memory is what was resident, plus what larger buffers hold") {
    MadeWorkload made = Varied();
    made.recorded().peak_rss_bytes = 500'000'000;
    Workload workload = made.Make();
    CHECK(Simulate(workload).memory_bytes == 500'000'000);
    std::get<ShuffleSpec>(workload.spec.stages[2].kind).buffer_size = 1050;
    CHECK(Simulate(workload).memory_bytes == 500'000'000 + 1000 * 1024);  // bytes of the source
    made.recorded().peak_rss_bytes = 0;
    CHECK(Simulate(made.Make()).memory_bytes == 0);
  }

  TEST_CASE("utilization is of the workers, and in the spec's order") {
    const Prediction prediction = Simulate(Varied().Make());
    REQUIRE(prediction.stages.size() == 6);
    CHECK(prediction.stages[1].stage == "work");
    CHECK(prediction.stages[1].workers == 4);
    for (const auto& stage : prediction.stages) {
      CHECK(stage.utilization >= 0);
      CHECK(stage.utilization <= 1);
    }
  }
}
