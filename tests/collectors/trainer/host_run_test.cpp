// The same data must give the same losses however it gets to the device and however it is launched.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/collectors/device/devices.h"
#include "tests/collectors/trainer/training.h"

namespace stallscope {
namespace {

using test::Must;
using test::SmallSpec;
using test::Train;

std::vector<double> Losses(const Spec& spec) {
  // The last batch is smaller: another shape in the same run.
  auto full = test::Images(6, 8, 12, 4);
  auto last = test::Images(1, 3, 12, 4);
  const auto trained = Train(spec, [&] {
    auto batch = full();
    return batch.value() ? std::move(batch) : last();
  });
  CHECK(Must(trained.result).last.steps == 7);
  return trained.losses;
}

// Of `count` batches of 8 samples as they are, or every two in one.
std::vector<double> LossesOfHalves(const Spec& spec, int count, bool joined) {
  const auto halves = test::Images(count, 8, 12, 4);
  const auto next = [&]() -> Result<std::optional<pipeline::Element>> {
    auto first = Must(halves());
    if (!joined || !first) return first;
    auto second = Must(halves());
    REQUIRE(second.has_value());
    pipeline::Element both;
    both.item = first->item;
    both.value.Reset(data::DType::kUint8, {16, 12, 12, 3});
    both.batch = std::make_unique<pipeline::BatchMembers>();
    uint8_t* pixels = both.value.data();
    for (const pipeline::Element* half : {&*first, &*second}) {
      pixels = std::copy_n(half->value.data(), half->value.bytes(), pixels);
      both.batch->ids.insert(both.batch->ids.end(), half->batch->ids.begin(),
                             half->batch->ids.end());
      both.batch->labels.insert(both.batch->labels.end(), half->batch->labels.begin(),
                                half->batch->labels.end());
    }
    return std::optional(std::move(both));
  };
  return Train(spec, next).losses;
}

TEST_SUITE("fast") {
  TEST_CASE("the way of launching and transferring does not change a bit") {
    for (const Precision precision : {Precision::kFp32, Precision::kFp16, Precision::kBf16}) {
      Spec spec = SmallSpec();
      spec.trainer.precision = precision;
      const auto plain = Losses(spec);
      REQUIRE(plain.size() == 7);
      spec.trainer.graph = GraphMode::kCaptured;
      CHECK(Losses(spec) == plain);
      spec.trainer.fuse = true;
      CHECK(Losses(spec) == plain);
      spec.trainer.graph = GraphMode::kEager;
      CHECK(Losses(spec) == plain);
      spec.transfer.overlap = true;
      CHECK(Losses(spec) == plain);
      spec.transfer.prefetch_to_device = 2;
      spec.transfer.streams = 3;
      spec.transfer.pinned = true;
      CHECK(Losses(spec) == plain);
      spec.trainer.graph = GraphMode::kCaptured;
      spec.transfer.dtype = TransferDtype::kFloat32;  // every uint8 is one
      CHECK(Losses(spec) == plain);
      spec.transfer.dtype = TransferDtype::kFloat16;
      CHECK(Losses(spec) == plain);
    }
  }

  TEST_CASE("precisions agree as far as they go") {
    Spec spec = SmallSpec();
    const auto full = Losses(spec);
    spec.trainer.precision = Precision::kTf32;
    CHECK(Losses(spec) == full);
    spec.trainer.precision = Precision::kFp16;
    const auto half = Losses(spec);
    CHECK(half != full);
    for (size_t i = 0; i < full.size(); ++i)
      CHECK(half[i] == doctest::Approx(full[i]).epsilon(0.02));
  }

  TEST_CASE("mirrored replicas learn what one learns") {
    for (const GraphMode graph : {GraphMode::kEager, GraphMode::kCaptured}) {
      Spec spec = SmallSpec();
      spec.trainer.graph = graph;
      const auto one = Losses(spec);
      for (const int64_t replicas : {2, 4}) {  // of the last batch's 3 samples one gets none
        spec.trainer.strategy = {StrategyKind::kMirrored, replicas};
        const auto several = Losses(spec);
        REQUIRE(several.size() == one.size());
        for (size_t i = 0; i < one.size(); ++i) {
          CHECK(several[i] == doctest::Approx(one[i]).epsilon(1e-4));
        }
      }
    }
  }

  TEST_CASE("gradients accumulated over two batches teach what a batch of both does") {
    for (const Precision precision : {Precision::kFp32, Precision::kFp16}) {
      for (const OptimizerKind optimizer : {OptimizerKind::kSgd, OptimizerKind::kAdam}) {
        Spec spec = SmallSpec();
        spec.trainer.precision = precision;
        spec.trainer.optimizer.kind = optimizer;
        if (optimizer == OptimizerKind::kAdam) spec.trainer.optimizer.learning_rate = 0.001;
        const auto whole = LossesOfHalves(spec, 12, true);
        REQUIRE(whole.size() == 6);
        spec.trainer.accumulate = 2;
        const auto halves = LossesOfHalves(spec, 12, false);
        REQUIRE(halves.size() == 12);
        const double within = precision == Precision::kFp32 ? 1e-3 : 2e-2;
        for (size_t i = 0; i < whole.size(); ++i) {
          CHECK((halves[2 * i] + halves[2 * i + 1]) / 2 ==
                doctest::Approx(whole[i]).epsilon(within));
        }
      }
    }
  }

  TEST_CASE("neither launching, fusing nor replicas change what accumulated gradients teach") {
    Spec spec = SmallSpec();
    spec.trainer.accumulate = 3;
    const auto plain = Losses(spec);
    spec.trainer.graph = GraphMode::kCaptured;
    CHECK(Losses(spec) == plain);
    spec.trainer.fuse = true;
    spec.transfer.overlap = true;
    CHECK(Losses(spec) == plain);
    for (const int64_t replicas : {2, 4}) {
      spec.trainer.strategy = {StrategyKind::kMirrored, replicas};
      const auto several = Losses(spec);
      REQUIRE(several.size() == plain.size());
      for (size_t i = 0; i < plain.size(); ++i) {
        CHECK(several[i] == doctest::Approx(plain[i]).epsilon(1e-4));
      }
    }
  }

  TEST_CASE("an update needs all its batches, and the run says which steps had none") {
    Spec spec = SmallSpec();
    spec.trainer.accumulate = 4;
    const auto unfinished = Must(Train(spec, test::Images(10, 8, 12, 4)).result);
    CHECK(unfinished.last.steps == 10);
    CHECK(unfinished.last.samples == 80);
    CHECK(unfinished.updates == 2);
    CHECK(unfinished.why ==
          "the data ended after 10 steps, the last 2 without an update, which takes 4 batches");
    const auto finished = Must(Train(spec, test::Images(8, 8, 12, 4)).result);
    CHECK(finished.updates == 2);
    CHECK(finished.why == "the data ended after 8 steps");
  }

  TEST_CASE("an overflow in one batch skips the update, and nothing of it is left in the next") {
    Spec spec = SmallSpec();
    spec.trainer.precision = Precision::kFp16;
    spec.trainer.loss_scale.initial = 1e9;
    spec.trainer.accumulate = 2;
    const auto result = Must(Train(spec, test::Images(50, 8, 12, 4)).result);
    CHECK(result.updates == 25);
    CHECK(result.skipped_steps > 5);
    CHECK(result.skipped_steps < 20);
    REQUIRE(result.last.loss.has_value());
    CHECK(std::isfinite(*result.last.loss));
  }

  TEST_CASE("a scale that overflows skips steps until it fits") {
    Spec spec = SmallSpec();
    spec.trainer.precision = Precision::kFp16;
    spec.trainer.loss_scale.initial = 1e9;
    const auto result = Must(Train(spec, test::Images(25, 8, 12, 4)).result);
    CHECK(result.skipped_steps > 5);
    CHECK(result.skipped_steps < 20);
    REQUIRE(result.last.loss.has_value());
    CHECK(std::isfinite(*result.last.loss));
  }

  TEST_CASE("a graph is captured for each shape and slot, not for each step") {
    Spec spec = SmallSpec();
    spec.trainer.graph = GraphMode::kCaptured;
    CHECK(Must(Train(spec, test::Images(10, 8, 12, 4)).result).captures == 1);
    CHECK(Must(Train(spec, test::Images(10, 8, 12, 4)).result).launches_per_step == 1);
    spec.transfer.overlap = true;
    CHECK(Must(Train(spec, test::Images(10, 8, 12, 4)).result).captures == 2);
  }

  TEST_CASE("a batch that a model cannot take is an error with a remedy") {
    Spec spec = SmallSpec();
    const auto why = [](const test::Trained& trained) {
      return trained.result.ok() ? "trained" : trained.result.error().Line();
    };
    CHECK(why(Train(spec, test::Bytes(1, 4, 100))).find("label 1000000 is out of range (4") !=
          std::string::npos);
    CHECK(why(Train(spec, test::Images(1, 4, 12, 9))).find("set trainer.model.classes to") !=
          std::string::npos);
    const auto flat = [](data::DType dtype, int64_t label) {
      return [=, done = false]() mutable -> Result<std::optional<pipeline::Element>> {
        pipeline::Element batch;
        batch.value.Reset(dtype, {2, 10});
        std::fill_n(batch.value.data(), batch.value.bytes(), uint8_t{0});
        batch.batch = std::make_unique<pipeline::BatchMembers>();
        batch.batch->ids.resize(2);
        batch.batch->labels = {0, label};
        if (std::exchange(done, true)) return std::optional<pipeline::Element>();
        return std::optional(std::move(batch));
      };
    };
    CHECK(why(Train(spec, flat(data::DType::kUint8, 0))).find("the mixer takes images") !=
          std::string::npos);
    CHECK(why(Train(spec, flat(data::DType::kFloat32, 0))).find("lose precision as uint8") !=
          std::string::npos);
    spec.trainer.model.kind = ModelKind::kMlp;
    CHECK(why(Train(spec, flat(data::DType::kUint8, 0))) == "trained");
    CHECK(why(Train(spec, flat(data::DType::kUint8, -1))).find("label -1") != std::string::npos);
  }

  TEST_CASE("lists of one length train the mlp, and another length is an error") {
    const auto lists = [](std::vector<int64_t> lengths) {
      return [lengths, next = size_t{0}]() mutable -> Result<std::optional<pipeline::Element>> {
        if (next == lengths.size()) return std::optional<pipeline::Element>();
        pipeline::Element batch;
        batch.value.Reset(data::DType::kInt32, {2, lengths[next++]});
        int32_t number = 0;
        for (int32_t& value : batch.value.Values<int32_t>()) value = ++number % 7;
        batch.batch = std::make_unique<pipeline::BatchMembers>();
        batch.batch->ids.resize(2);
        batch.batch->labels = {1, 2};
        return std::optional(std::move(batch));
      };
    };
    Spec spec = SmallSpec();
    spec.transfer.dtype = TransferDtype::kFloat32;
    spec.trainer.model.kind = ModelKind::kMlp;
    spec.trainer.optimizer = {OptimizerKind::kSgd, 0.001, 0};
    const auto trained = Train(spec, lists({12, 12, 12}));
    CHECK(Must(trained.result).last.steps == 3);
    CHECK(trained.losses.back() < trained.losses.front());
    const auto mixed = Train(spec, lists({12, 16}));
    REQUIRE_FALSE(mixed.result.ok());
    CHECK(mixed.result.error().kind == ErrorKind::kUsage);
    CHECK(mixed.result.error().Line().find("a sample of 16 does not fit") != std::string::npos);
  }

  TEST_CASE("maps on the device see the batch as the pipeline left it") {
    Spec spec = SmallSpec();
    const auto plain = Losses(spec);
    // An op that halves the image, and one that doubles it again: together none.
    const auto op = [](const char* text) { return pipeline::OpInstance{Must(ParseOp(text)), 0}; };
    const auto with_maps = [&](trainer::TrainerOptions& options) {
      options.device_maps = {{StageId::None(), "augment", {op("resize(6)"), op("resize(12)")}}};
      options.device_ops.form_after = [](const pipeline::OpInstance& of,
                                         const trainer::BatchForm& in) {
        trainer::BatchForm out = in;
        const int64_t side = of.call.Integer("size");
        out.sample = {side, side, 3};
        return Result<trainer::BatchForm>(out);
      };
      options.device_ops.run = [](const pipeline::OpInstance& of,
                                  const std::vector<pipeline::ElementId>& ids,
                                  const data::Tensor& in, data::Tensor& out) -> Status {
        const int64_t side = of.call.Integer("size");
        CHECK(in.dtype() == data::DType::kUint8);
        CHECK(static_cast<int64_t>(ids.size()) == in.shape()[0]);
        out.Reset(in.dtype(), {in.shape()[0], side, side, 3});
        std::fill_n(out.data(), out.bytes(), in.data()[0]);
        return {};
      };
    };
    for (const auto dtype : {TransferDtype::kUint8, TransferDtype::kFloat16}) {
      spec.transfer.dtype = dtype;
      const auto trained = Train(spec, test::Images(3, 8, 12, 4), nullptr, nullptr, with_maps);
      const auto result = Must(trained.result);
      CHECK(result.last.steps == 3);
      CHECK(trained.losses[0] != plain[0]);
    }
    const auto missing = Train(spec, test::Images(1, 8, 12, 4), nullptr, nullptr,
                               [&](trainer::TrainerOptions& options) {
                                 options.device_maps = {{StageId::None(), "m", {op("flip")}}};
                               });
    REQUIRE_FALSE(missing.result.ok());
    CHECK(missing.result.error().kind == ErrorKind::kRun);
  }
}

}  // namespace
}  // namespace stallscope
