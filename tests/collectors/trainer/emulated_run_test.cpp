// The step loop on an emulated device; a clock that moves only when somebody waits makes its times
// exact.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "tests/collectors/device/devices.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/collectors/trainer/training.h"
#include "tests/support/paths.h"

namespace stallscope {
namespace {

using test::Must;
using test::Train;
using trainer::Ended;

// Copies of 10,000 bytes take 5 us, steps of 10 samples 100 us.
Spec EmulatedSpecOf() {
  Spec spec = test::SmallSpec();
  spec.trainer.device = TrainerDevice::kEmulated;
  spec.trainer.emulated.compute_us_per_batch = 20;
  spec.trainer.emulated.compute_us_per_sample = 8;
  spec.trainer.emulated.h2d_gbps_pageable = 2.5;
  spec.trainer.emulated.h2d_gbps_pinned = 2.5;
  spec.trainer.emulated.h2d_latency_us = 1;
  return spec;
}

Ticks TimeOf(const Spec& spec, int batches) {
  test::TestClock clock;
  const Ticks start = clock.Now();
  const auto trained = Train(spec, test::Bytes(batches, 10, 1000), nullptr, &clock);
  CHECK(Must(trained.result).last.steps == static_cast<uint64_t>(batches));
  return clock.Now() - start;
}

TEST_SUITE("fast") {
  TEST_CASE("an emulated run takes any batch, needs no labels, and ends with its data") {
    test::TestClock clock;
    const auto trained = Train(EmulatedSpecOf(), test::Bytes(7, 10, 1000), nullptr, &clock);
    const auto result = Must(trained.result);
    CHECK(result.ended == Ended::kData);
    CHECK(result.why == "the data ended after 7 steps");
    CHECK(result.last.steps == 7);
    CHECK(result.last.samples == 70);
    CHECK_FALSE(result.last.loss.has_value());
    CHECK_FALSE(result.last.accuracy.has_value());
    CHECK(result.flops_per_step > 0);
    CHECK(result.model_bytes > 0);
  }

  TEST_CASE("each input of a batch is copied, split among the replicas") {
    const auto pairs = [] {
      auto images = test::Bytes(3, 10, 1000);
      auto texts = test::Bytes(3, 10, 40);
      return [images, texts]() -> Result<std::optional<pipeline::Element>> {
        auto image = images();
        auto text = texts();
        if (image.value()) image.value()->others.push_back(std::move(*text.value()));
        return image;
      };
    };
    for (const int64_t replicas : {1, 2}) {
      const test::ScratchDir dir;
      const auto recorder = Must(recorder::Recorder::Start(dir / "run.sst", {}));
      Spec spec = EmulatedSpecOf();
      if (replicas > 1) spec.trainer.strategy = {StrategyKind::kMirrored, replicas};
      CHECK(Must(Train(spec, pairs(), recorder.get()).result).last.steps == 3);
      recorder->Stop();
      const auto trace = test::ReadTrace(dir / "run.sst");
      std::multiset<uint64_t> bytes;
      for (const trace::Copy& copy : trace.rows.copies) bytes.insert(copy.bytes);
      const auto all = static_cast<uint64_t>(replicas);
      CHECK(bytes.size() == 6 * all);
      CHECK(bytes.count(10'000 / all) == 3 * all);
      CHECK(bytes.count(400 / all) == 3 * all);
    }
  }

  TEST_CASE("a step takes its copy and its time, whatever the model and however it is launched") {
    Spec spec = EmulatedSpecOf();
    CHECK(TimeOf(spec, 10) == 10 * 105'000);
    spec.trainer.model.depth = 7;
    spec.trainer.fuse = true;
    CHECK(TimeOf(spec, 10) == 10 * 105'000);
    spec.trainer.graph = GraphMode::kCaptured;
    CHECK(TimeOf(spec, 10) == 10 * 105'000);
    spec.trainer.precision = Precision::kFp16;
    CHECK(TimeOf(spec, 10) == 10 * 105'000);
  }

  TEST_CASE("an emulated step takes its time with and without an update") {
    Spec spec = EmulatedSpecOf();
    spec.trainer.accumulate = 4;
    CHECK(TimeOf(spec, 10) == 10 * 105'000);
    spec.trainer.graph = GraphMode::kCaptured;
    CHECK(TimeOf(spec, 10) == 10 * 105'000);
  }

  TEST_CASE("optimizer and reduction run once per update, and nothing else does") {
    const auto kernels = [](int64_t accumulate) {
      const test::ScratchDir dir;
      const auto recorder = Must(recorder::Recorder::Start(dir / "run.sst", {}));
      Spec spec = EmulatedSpecOf();
      spec.trainer.strategy = {StrategyKind::kMirrored, 2};
      spec.trainer.accumulate = accumulate;
      Must(Train(spec, test::Bytes(6, 10, 100), recorder.get()).result);
      recorder->Stop();
      const auto trace = test::ReadTrace(dir / "run.sst");
      CHECK(trace.rows.steps.size() == 6);
      std::multiset<std::string> names;
      for (const auto& kernel : trace.rows.kernels) {
        names.insert(trace.strings.at(kernel.name.value));
      }
      return names;
    };
    const auto each = kernels(1);
    CHECK(each.count("sgd") == 12);
    CHECK(each.count("all_reduce") == 12);
    const auto third = kernels(3);
    CHECK(third.count("sgd") == 4);
    CHECK(third.count("all_reduce") == 4);
    CHECK(third.count("zero") == 4);
    CHECK(third.count("add") == each.count("add") + 12);
    CHECK(third.count("gemm") == each.count("gemm"));
  }

  TEST_CASE("with overlap and pinned memory only the first copy shows") {
    Spec spec = EmulatedSpecOf();
    spec.transfer.overlap = true;
    // A pageable copy keeps the host, which still issues the next step in time.
    CHECK(TimeOf(spec, 10) == 5'000 + 10 * 100'000);
    spec.trainer.emulated.compute_us_per_batch = 0;
    spec.trainer.emulated.compute_us_per_sample = 0;
    CHECK(TimeOf(spec, 10) == 10 * 5'000);
  }

  TEST_CASE("launches cost what they are, a captured step one") {
    Spec spec = EmulatedSpecOf();
    spec.trainer.emulated.compute_us_per_batch = 0;
    spec.trainer.emulated.compute_us_per_sample = 0;
    spec.trainer.emulated.launch_us = 10;
    const auto launches = [&] {
      test::TestClock clock;
      return Must(Train(spec, test::Bytes(1, 10, 1000), nullptr, &clock).result).launches_per_step;
    };
    const auto eager = launches();
    CHECK(eager > 30);
    CHECK(TimeOf(spec, 3) == 3 * (5'000 + 10'000 * eager));
    spec.trainer.fuse = true;
    CHECK(launches() < eager);
    spec.trainer.graph = GraphMode::kCaptured;
    CHECK(launches() == 1);
    CHECK(TimeOf(spec, 3) == 3 * (5'000 + 10'000));
  }

  TEST_CASE("a run ends after its steps, on request, or with its pipeline's error") {
    Spec spec = EmulatedSpecOf();
    spec.trainer.steps = 4;
    for (const int64_t prefetch : {0, 3}) {
      spec.transfer.prefetch_to_device = prefetch;
      test::TestClock clock;
      const auto result = Must(Train(spec, test::Bytes(100, 10, 10), nullptr, &clock).result);
      CHECK(result.ended == Ended::kSteps);
      CHECK(result.last.steps == 4);
      CHECK(Must(Train(spec, test::Bytes(2, 10, 10), nullptr, &clock).result).ended ==
            Ended::kData);

      const auto broken = Train(
          spec,
          [source = test::Bytes(2, 10, 10)]() -> Result<std::optional<pipeline::Element>> {
            auto batch = source();
            if (batch.value()) return batch;
            return Error{ErrorKind::kRun, "a torn record", "a.tfrecord", ""};
          },
          nullptr, &clock);
      REQUIRE_FALSE(broken.result.ok());
      CHECK(broken.result.error().Line() == "a.tfrecord: a torn record");
    }
  }

  TEST_CASE("another thread may stop a run, whose last steps are finished") {
    Spec spec = EmulatedSpecOf();
    spec.transfer.overlap = true;
    test::TestClock clock;
    const auto devices = Must(trainer::Devices::Make(spec.trainer, nullptr, &clock));
    trainer::Trainer* running = nullptr;
    trainer::TrainerOptions options;
    options.next = test::Bytes(1000, 10, 10);
    options.on_progress = [&](const trainer::Progress& progress) {
      if (progress.steps == 3) running->RequestStop();
    };
    const auto made = Must(trainer::Trainer::Make(spec, *devices, options));
    running = made.get();
    const auto result = Must(made->Run());
    CHECK(result.ended == Ended::kStopped);
    CHECK(result.last.steps == 4);  // one was under way
    CHECK(result.why == "stopped after 4 steps");
  }

  TEST_CASE("a step's device memory is half in a narrow type, and must fit") {
    Spec spec = EmulatedSpecOf();
    spec.trainer.emulated.activation_bytes = 1'000'000;
    const auto peak = [&](Precision precision) {
      spec.trainer.precision = precision;
      test::TestClock clock;
      return Must(Train(spec, test::Bytes(2, 10, 10), nullptr, &clock).result).device_peak_bytes;
    };
    const uint64_t wide = peak(Precision::kFp32);
    CHECK(wide >= 10'000'000);
    CHECK(wide - peak(Precision::kBf16) == 5'000'000);
    spec.trainer.emulated.memory_bytes = 8'000'000;
    CHECK(peak(Precision::kFp16) < 8'000'000);
    spec.trainer.precision = Precision::kTf32;
    const auto full = Train(spec, test::Bytes(2, 10, 10));
    REQUIRE_FALSE(full.result.ok());
    CHECK(full.result.error().kind == ErrorKind::kRun);
  }

  TEST_CASE("strategies that need several processes are refused") {
    Spec spec = EmulatedSpecOf();
    for (const auto kind : {StrategyKind::kMultiWorker, StrategyKind::kParameterServer}) {
      spec.trainer.strategy.kind = kind;
      const auto trained = Train(spec, test::Bytes(1, 1, 1));
      REQUIRE_FALSE(trained.result.ok());
      CHECK(trained.result.error().kind == ErrorKind::kUsage);
      CHECK(trained.result.error().Line().find("needs several processes") != std::string::npos);
    }
  }

  TEST_CASE("pinned batches are pinned for every replica, pageable ones for none") {
    Spec spec = EmulatedSpecOf();
    spec.trainer.strategy = {StrategyKind::kMirrored, 3};
    spec.trainer.emulated.h2d_gbps_pinned = 10;
    for (const bool pinned : {true, false}) {
      const test::ScratchDir dir;
      const auto recorder = Must(recorder::Recorder::Start(dir / "run.sst", {}));
      test::TestClock clock;
      const auto devices = Must(trainer::Devices::Make(spec.trainer, recorder.get(), &clock));
      trainer::TrainerOptions options;
      options.recorder = recorder.get();
      options.next = test::Bytes(2, 12, 1000, pinned ? devices->pinned() : nullptr);
      options.recycle = [](pipeline::Element&&) {};
      Must(Must(trainer::Trainer::Make(spec, *devices, options))->Run());
      recorder->Stop();
      const auto trace = test::ReadTrace(dir / "run.sst");
      CHECK(trace.rows.copies.size() == 6);
      for (const trace::Copy& copy : trace.rows.copies) {
        CHECK(copy.memory == (pinned ? trace::CopyMemory::kPinned : trace::CopyMemory::kPageable));
        CHECK(copy.bytes == 4000);
      }
    }
  }

  TEST_CASE("steps, copies, kernels and waits are in the trace, with the reduction of replicas") {
    const test::ScratchDir dir;
    const auto recorder = Must(recorder::Recorder::Start(dir / "run.sst", {}));
    Spec spec = EmulatedSpecOf();
    spec.trainer.emulated.compute_us_per_batch = 300;
    spec.trainer.strategy = {StrategyKind::kMirrored, 2};
    spec.transfer.prefetch_to_device = 2;
    Must(Train(spec, test::Bytes(5, 10, 100), recorder.get()).result);
    CHECK(recorder->Stop().dropped == 0);
    const auto trace = test::ReadTrace(dir / "run.sst");
    REQUIRE(trace.rows.steps.size() == 5);
    uint64_t index = 0;
    for (const trace::Step& step : trace.rows.steps) {
      CHECK(step.index == index++);
      CHECK(step.samples == 10);
      CHECK(step.batch == ItemId{step.index});
      CHECK(step.requested_ns <= step.received_ns);
      CHECK(step.received_ns <= step.issued_ns);
    }
    CHECK(trace.rows.copies.size() == 10);  // a batch's two halves
    std::multiset<std::string> names;
    for (const auto& kernel : trace.rows.kernels) names.insert(trace.strings.at(kernel.name.value));
    CHECK(names.count("all_reduce") == 10);
    CHECK(names.count("gemm") > 50);
    bool waited = false;
    for (const auto& [track, spans] : trace.spans) {
      for (const auto& span : spans) {
        waited = waited || (span.span_class.kind == trace::SpanKind::kWait &&
                            span.span_class.cause == trace::WaitCause::kDevice);
      }
    }
    CHECK(waited);
    size_t pops = 0;
    for (const auto& event : trace.rows.queue_events) pops += event.op == trace::QueueOp::kPop;
    CHECK(pops == 5);
  }
}

}  // namespace
}  // namespace stallscope
