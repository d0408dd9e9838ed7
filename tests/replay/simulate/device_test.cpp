// What the model of the trainer and its device does, against what can be worked out on paper.
#include <doctest/doctest.h>

#include <memory>

#include "replay/simulate/simulate.h"
#include "replay/workload/op_change.h"
#include "tests/replay/made_workload.h"

using stallscope::GraphMode;
using stallscope::TrainerDevice;
using stallscope::TransferSpec;
using stallscope::replay::Cost;
using stallscope::replay::Prediction;
using stallscope::replay::Simulate;
using stallscope::test::Batch;
using stallscope::test::MadeWorkload;
using stallscope::test::Map;
using stallscope::test::Prefetch;

namespace {

double StepMs(const MadeWorkload& made) { return 10 / Simulate(made.Make()).samples_per_s * 1e3; }

// 100,000 bytes a sample: a batch of 10 takes 1 ms from pinned memory, 2 ms from pageable.
double CopyingStepMs(TransferSpec transfer, double compute_us = 2000) {
  MadeWorkload made({Batch(10)}, compute_us);
  made.spec().transfer = transfer;
  made.recorded().trainer.sample_bytes = 100'000;
  made.spec().trainer.emulated.h2d_gbps_pinned = 1;
  made.spec().trainer.emulated.h2d_gbps_pageable = 0.5;
  return StepMs(made);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("without overlap a step is its copy and its kernels") {
    CHECK(CopyingStepMs({.pinned = true}) == doctest::Approx(3).epsilon(0.01));
  }

  TEST_CASE("from pageable memory the copy takes as long as that does") {
    CHECK(CopyingStepMs({.pinned = false}) == doctest::Approx(4).epsilon(0.01));
  }

  TEST_CASE("with overlap a step is the longer of the two") {
    CHECK(CopyingStepMs({.pinned = true, .overlap = true}) == doctest::Approx(2).epsilon(0.01));
    CHECK(CopyingStepMs({.pinned = true, .overlap = true}, 500) ==
          doctest::Approx(1).epsilon(0.01));
  }

  TEST_CASE("batches that are ready on the device need no copy in the step") {
    CHECK(CopyingStepMs({.pinned = true, .prefetch_to_device = 2}) ==
          doctest::Approx(2).epsilon(0.01));
  }

  TEST_CASE("the device's figures follow the batch") {
    MadeWorkload made({Batch(10)}, 1000);
    made.spec().trainer.emulated.compute_us_per_sample = 100;
    CHECK(StepMs(made) == doctest::Approx(2).epsilon(0.01));
  }

  TEST_CASE("eager launches cost the host each, a captured step one") {
    MadeWorkload made({Batch(10)}, 1000);
    made.recorded().trainer.kernels = 40;
    made.spec().trainer.emulated.launch_us = 50;
    CHECK(StepMs(made) == doctest::Approx(1).epsilon(0.06));
    auto workload = made.Make();
    workload.spec.trainer.graph = GraphMode::kEager;
    const double eager = 10 / Simulate(workload).samples_per_s * 1e3;
    CHECK(eager == doctest::Approx(2).epsilon(0.03));
  }

  TEST_CASE("kernels that are fused are launched as one") {
    MadeWorkload made({Batch(10)}, 100);
    made.recorded().trainer.kernels = made.recorded().trainer.launches = 40;
    made.recorded().trainer.neighbors = 0.25;
    made.spec().trainer.emulated.launch_us = 50;
    made.spec().trainer.graph = GraphMode::kEager;
    CHECK(StepMs(made) == doctest::Approx(2).epsilon(0.06));
    auto workload = made.Make();
    workload.spec.trainer.fuse = true;
    CHECK(10 / Simulate(workload).samples_per_s * 1e3 == doctest::Approx(1.5).epsilon(0.06));
  }

  TEST_CASE("ops of maps on the device, a narrow type and its conversion are a step's") {
    MadeWorkload made({Batch(10)}, 1000);
    made.spec().transfer.overlap = false;
    made.recorded().trainer.sample_bytes = 100'000;
    made.spec().trainer.emulated.h2d_gbps_pinned = 1;
    made.recorded().trainer.convert_ns = 500'000;
    CHECK(StepMs(made) == doctest::Approx(2.5).epsilon(0.01));
    auto workload = made.Make();
    stallscope::replay::OpChange ops;
    ops.link_bytes = 0.25;
    ops.convert.scale = 0;
    ops.device = {.scale = 0, .more_cpu_ns = 50'000};
    ops.device_launches = 2;
    workload.spec.trainer.emulated.launch_us = 100;
    workload.ops = std::make_shared<const stallscope::replay::OpChange>(ops);
    // 1 ms for the step, 0.25 for the copy, 0.5 for the ops; the launches run beside that.
    CHECK(10 / Simulate(workload).samples_per_s * 1e3 == doctest::Approx(1.75).epsilon(0.2));
  }

  TEST_CASE("a reduction takes its time once per update") {
    MadeWorkload made({Batch(10)}, 1000);
    made.recorded().trainer.reduce_ns = 2e6;
    CHECK(StepMs(made) == doctest::Approx(3).epsilon(0.01));
    auto workload = made.Make();
    workload.spec.trainer.accumulate = 4;
    CHECK(10 / Simulate(workload).samples_per_s * 1e3 == doctest::Approx(1.5).epsilon(0.01));
  }

  TEST_CASE("eager launches of an update are shared by its steps") {
    MadeWorkload made({Batch(10)}, 0);
    made.spec().trainer.graph = GraphMode::kEager;
    made.spec().trainer.emulated.launch_us = 100;
    made.recorded().trainer.kernels = made.recorded().trainer.launches = 20;
    made.recorded().trainer.update_kernels = 8;
    CHECK(StepMs(made) == doctest::Approx(2).epsilon(0.03));
    auto workload = made.Make();
    // 12 of the batch, an eighth of the update's 8, one to add to the sum, an eighth of one to
    // zero.
    workload.spec.trainer.accumulate = 8;
    CHECK(10 / Simulate(workload).samples_per_s * 1e3 == doctest::Approx(1.4125).epsilon(0.03));
    workload.spec.trainer.graph = GraphMode::kCaptured;
    CHECK(10 / Simulate(workload).samples_per_s * 1e3 == doctest::Approx(0.125).epsilon(0.3));
  }

  TEST_CASE("a recorded device's steps bear their share of the optimizer, and the sum's cost") {
    MadeWorkload made({Batch(10)}, 0);
    made.spec().trainer.device = TrainerDevice::kCuda;
    Cost compute;
    compute.cpu_ns = 3e6F;
    made.recorded().trainer.compute = {compute};
    made.recorded().trainer.update_ns = 1e6;
    CHECK(StepMs(made) == doctest::Approx(3).epsilon(0.01));
    auto workload = made.Make();
    workload.spec.trainer.accumulate = 4;
    // Three quarters of the optimizer less, 3.25 arenas of the 5 that SGD passes over more.
    CHECK(10 / Simulate(workload).samples_per_s * 1e3 == doctest::Approx(2.9).epsilon(0.01));
    made.spec().trainer.accumulate = 4;
    CHECK(StepMs(made) == doctest::Approx(3).epsilon(0.01));
  }

  TEST_CASE("a host that acts as the device shares its cores with the input") {
    for (const double cores : {1.0, 2.0}) {
      MadeWorkload made({Map("work"), Batch(10), Prefetch(2)}, 0, cores);
      made.Costs("work", 100);
      made.spec().trainer.device = TrainerDevice::kHost;
      Cost compute;
      compute.cpu_ns = 1e6F;
      made.recorded().trainer.compute = {compute};
      made.recorded().trainer.device_cores = 1;
      CAPTURE(cores);
      CHECK(StepMs(made) == doctest::Approx(cores < 2 ? 2 : 1 / 0.96).epsilon(0.03));
    }
  }

  TEST_CASE("the trainer's stall is what it waited for its batch") {
    MadeWorkload made({Map("work"), Batch(10)}, 1000);
    made.spec().transfer.overlap = false;
    const Prediction prediction = Simulate(made.Costs("work", 0, 100).Make());
    CHECK(prediction.input_stall == doctest::Approx(0.5).epsilon(0.02));
    CHECK(prediction.stages.back().stage == "trainer");
    CHECK(prediction.stages.back().utilization == doctest::Approx(0.5).epsilon(0.02));
  }
}
