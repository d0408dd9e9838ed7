// The trainer learns the generator's pictures, in every precision that it has.
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "collectors/data/generate.h"
#include "collectors/data/hdf5_images.h"
#include "tests/collectors/device/on_cuda.h"
#include "tests/collectors/trainer/training.h"
#include "tests/support/paths.h"

namespace stallscope {
namespace {

using test::Must;

constexpr int kImages = 480;
constexpr int kClasses = 6;
constexpr int kSide = 32;
constexpr int64_t kBatch = 24;

// The set in memory, repeated forever in batches with an order of its own.
class Pictures {
 public:
  Pictures() {
    const test::ScratchDir dir;
    data::GenerateOptions options;
    options.folder = dir / "set";
    options.format = data::DataFormat::kHdf5;
    options.images = kImages;
    options.width = options.height = kSide;
    options.classes = kClasses;
    options.shards = 1;
    const auto manifest = Must(data::Generate(options));
    auto reader = Must(data::Hdf5ImageReader::Open(options.folder + "/" + manifest.files[0].name));
    Must(reader.Read(0, kImages, images_, labels_));
  }

  Result<std::optional<pipeline::Element>> Next() {
    pipeline::Element batch;
    batch.item = ItemId{next_};
    batch.value.Reset(data::DType::kUint8, {kBatch, kSide, kSide, 3});
    batch.batch = std::make_unique<pipeline::BatchMembers>();
    for (int64_t i = 0; i < kBatch; ++i, ++next_) {
      const size_t at = next_ * 77 % kImages;  // 77 and 480 have no common divisor
      constexpr size_t kBytes = size_t{kSide} * kSide * 3;
      std::memcpy(batch.value.data() + static_cast<size_t>(i) * kBytes,
                  images_.data() + at * kBytes, kBytes);
      batch.batch->labels.push_back(labels_[at]);
      batch.batch->ids.push_back({0, 0, at});
    }
    return std::optional(std::move(batch));
  }

 private:
  data::Tensor images_;
  std::vector<int64_t> labels_;
  uint64_t next_ = 0;
};

double AccuracyOf(const Spec& spec) {
  Pictures pictures;
  const auto trained = test::Train(spec, [&] { return pictures.Next(); });
  return *Must(trained.result).last.accuracy;
}

Spec LearningSpec(device::Kind kind) {
  Spec spec = test::SmallSpec();
  if (kind == device::Kind::kCuda) spec.trainer.device = TrainerDevice::kCuda;
  spec.trainer.steps = 300;
  spec.trainer.model = {ModelKind::kMixer, 32, 2, 8, kClasses};
  spec.trainer.optimizer.kind = OptimizerKind::kAdam;
  spec.trainer.optimizer.learning_rate = 0.003;
  spec.trainer.graph = GraphMode::kCaptured;
  spec.trainer.fuse = true;
  return spec;
}

TEST_SUITE("fast") {
  COMPUTING_DEVICE_CASE("the mixer learns the generator's pictures") {
    CHECK(AccuracyOf(LearningSpec(on_each.kinds[0])) >= 0.95);
  }
}

TEST_SUITE("slow") {
  COMPUTING_DEVICE_CASE("it learns them with momentum and in float16 with a loss scale too") {
    Spec spec = LearningSpec(on_each.kinds[0]);
    spec.trainer.optimizer = {OptimizerKind::kSgd, 0.03, 0.9};
    spec.trainer.precision = Precision::kFp16;
    CHECK(AccuracyOf(spec) >= 0.95);
  }
}

}  // namespace
}  // namespace stallscope
