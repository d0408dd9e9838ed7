// What a GPU trains against what the host trains. Everything here needs one.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "collectors/trainer/model.h"
#include "collectors/trainer/plan.h"
#include "tests/collectors/device/on_cuda.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/collectors/trainer/one_pass.h"
#include "tests/collectors/trainer/training.h"
#include "tests/support/paths.h"

namespace stallscope {
namespace {

using namespace trainer;
using test::Must;

std::vector<double> Losses(Spec spec, TrainerDevice device, int batches = 6) {
  spec.trainer.device = device;
  auto full = test::Images(batches, 8, 12, 4);
  auto last = test::Images(1, 3, 12, 4);
  const auto trained = test::Train(spec, [&] {
    auto batch = full();
    return batch.value() ? std::move(batch) : last();
  });
  CHECK(Must(trained.result).last.steps == static_cast<uint64_t>(batches) + 1);
  return trained.losses;
}

void CheckNear(const std::vector<double>& a, const std::vector<double>& b, double epsilon) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CHECK(a[i] == doctest::Approx(b[i]).epsilon(epsilon));
  }
}

// Of each parameter's gradient: the norm of the difference against the norm.
void CompareWithHost(Precision precision, bool fuse, double within) {
  TrainerSpec trainer;
  trainer.precision = precision;
  trainer.model = {ModelKind::kMixer, 32, 2, 4, 8};
  const BatchForm form{16, {16, 16, 3}, data::DType::kFloat32};
  Plan plan = BuildPlan(trainer, form, form.samples, false);
  RemoveDuplicates(plan);
  Plan on_cuda = plan;
  if (fuse) {
    FuseElementwise(plan);
    FuseDense(on_cuda);
    FuseElementwise(on_cuda);
  }
  const device::Type type = ComputeType(precision);
  const auto weights = InitialWeights(plan, 3);
  test::OnePass host(plan, form, device::Kind::kHost, type);
  test::OnePass cuda(on_cuda, form, device::Kind::kCuda, type);
  CHECK(cuda.Loss(weights) == doctest::Approx(host.Loss(weights)).epsilon(within));
  const auto theirs = host.Gradients();
  const auto ours = cuda.Gradients();
  for (const Parameter& parameter : plan.parameters) {
    double norm = 0;
    double off = 0;
    for (int64_t i = 0; i < parameter.elements; ++i) {
      const auto at = static_cast<size_t>(parameter.offset + i);
      const auto a = static_cast<double>(theirs[at]);
      const double b = static_cast<double>(ours[at]) - a;
      norm += a * a;
      off += b * b;
    }
    CAPTURE(parameter.name);
    REQUIRE(norm > 0);
    CHECK(std::sqrt(off / norm) <= within);
  }
}

TEST_SUITE("fast") {
  TEST_CASE("a step's gradients are those of the host, by the norm of each tensor, on cuda") {
    if (!test::HasCuda()) return;
    for (const bool fuse : {false, true}) {
      CAPTURE(fuse);
      CompareWithHost(Precision::kFp32, fuse, 1e-4);
      CompareWithHost(Precision::kFp16, fuse, 1e-2);
      CompareWithHost(Precision::kBf16, fuse, 1e-2);
    }
  }

  TEST_CASE("losses are those of the host, however a step is launched and fed, on cuda") {
    if (!test::HasCuda()) return;
    for (const Precision precision : {Precision::kFp32, Precision::kFp16, Precision::kBf16}) {
      const double within = precision == Precision::kFp32 ? 1e-3 : 3e-2;
      Spec spec = test::SmallSpec();
      spec.trainer.precision = precision;
      const auto host = Losses(spec, TrainerDevice::kHost);
      const auto check = [&] { CheckNear(Losses(spec, TrainerDevice::kCuda), host, within); };
      check();
      spec.trainer.graph = GraphMode::kCaptured;
      check();
      spec.trainer.fuse = true;
      check();
      spec.transfer.overlap = true;
      spec.transfer.prefetch_to_device = 2;
      spec.transfer.streams = 3;
      spec.transfer.pinned = true;
      check();
      spec.trainer.graph = GraphMode::kEager;
      spec.transfer.dtype = TransferDtype::kFloat16;
      check();
    }
  }

  TEST_CASE("a captured step is the eager one, bit by bit, on cuda") {
    if (!test::HasCuda()) return;
    Spec spec = test::SmallSpec();
    spec.trainer.fuse = true;
    const auto eager = Losses(spec, TrainerDevice::kCuda);
    spec.trainer.graph = GraphMode::kCaptured;
    CHECK(Losses(spec, TrainerDevice::kCuda) == eager);
  }

  TEST_CASE("replicas learn what one learns, also where they share a GPU, on cuda") {
    if (!test::HasCuda()) return;
    Spec spec = test::SmallSpec();
    const auto one = Losses(spec, TrainerDevice::kCuda);
    for (const GraphMode graph : {GraphMode::kEager, GraphMode::kCaptured}) {
      spec.trainer.graph = graph;
      spec.trainer.strategy = {StrategyKind::kMirrored, 2};
      CheckNear(Losses(spec, TrainerDevice::kCuda), one, 1e-3);
    }
  }

  TEST_CASE("tf32 is nearly fp32, on cuda") {
    if (!test::HasCuda()) return;
    Spec spec = test::SmallSpec();
    const auto host = Losses(spec, TrainerDevice::kHost);
    spec.trainer.precision = Precision::kTf32;
    CheckNear(Losses(spec, TrainerDevice::kCuda), host, 1e-2);
  }

  TEST_CASE("a scale that overflows skips steps until it fits, on cuda") {
    if (!test::HasCuda()) return;
    Spec spec = test::SmallSpec();
    spec.trainer.device = TrainerDevice::kCuda;
    spec.trainer.precision = Precision::kFp16;
    spec.trainer.loss_scale.initial = 1e9;
    const auto result = Must(test::Train(spec, test::Images(25, 8, 12, 4)).result);
    CHECK(result.skipped_steps > 5);
    CHECK(result.skipped_steps < 20);
    REQUIRE(result.last.loss.has_value());
    CHECK(std::isfinite(*result.last.loss));
  }

  TEST_CASE("a model that does not fit says how much was asked for, and leaves nothing, on cuda") {
    if (!test::HasCuda()) return;
    const auto on = test::MakeTestDevice(device::Kind::kCuda);
    const auto all = on->capabilities().memory_bytes;
    std::vector<device::Block> blocks;
    for (uint64_t size = all; size > all / 64;) {
      auto block = on->Allocate(size);
      if (block.ok()) {
        blocks.push_back(std::move(block).value());
        continue;
      }
      CHECK(block.error().Line().find("out of device memory: " + std::to_string(size)) !=
            std::string::npos);
      size /= 2;
    }
    blocks.clear();
    CHECK(on->memory().used == 0);
    CHECK(on->Allocate(all / 4).ok());
  }

  TEST_CASE("a trained run's trace has its kernels and copies with their batches, on cuda") {
    if (!test::HasCuda()) return;
    const test::ScratchDir dir;
    Spec spec = test::SmallSpec();
    spec.trainer.device = TrainerDevice::kCuda;
    spec.trainer.graph = GraphMode::kCaptured;
    spec.trainer.fuse = true;
    {
      const auto recorder = Must(recorder::Recorder::Start(dir / "run.sst", {}));
      Must(test::Train(spec, test::Images(10, 8, 12, 4), recorder.get()).result);
      CHECK(recorder->Stop().first_error.empty());
    }
    const auto trace = test::ReadTrace(dir / "run.sst");
    CHECK(trace.rows.steps.size() == 10);
    size_t with_batch = 0;
    for (const auto& kernel : trace.rows.kernels) {
      CHECK(kernel.enqueued_ns <= kernel.start_ns);
      CHECK(kernel.start_ns <= kernel.end_ns);
      with_batch += kernel.batch.known();
    }
    CHECK(with_batch >= 10);
    size_t to_device = 0;
    for (const auto& copy : trace.rows.copies) {
      to_device += copy.batch.known() && copy.direction == trace::CopyDirection::kHostToDevice;
    }
    CHECK(to_device == 20);  // the images and the labels of each batch
  }
}

}  // namespace
}  // namespace stallscope
