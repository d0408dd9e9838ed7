// Ops that move pixels about: resize, crop, random_resized_crop, flip.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "collectors/pipeline/ops/make.h"

namespace stallscope::pipeline {
namespace {

Status CheckIsImage(const Element& element, std::string_view op) {
  if (element.content == Content::kTensor && element.value.shape().rank() == 3) return {};
  return Error{ErrorKind::kRun,
               fmt::format("{} needs an image, not {} of {}", op,
                           element.content == Content::kTensor ? "a tensor" : "undecoded data",
                           element.value.shape().ToString()),
               "", "decode first"};
}

// As torchvision and tf.image draw it: ten tries for an area of 8% to 100% and a ratio of 3:4 to
// 4:3, then the middle.
data::Rect RandomRegion(int width, int height, Random random) {
  const double area = static_cast<double>(width) * height;
  const double low = std::log(3.0 / 4.0);
  const double high = std::log(4.0 / 3.0);
  for (int i = 0; i < 10; ++i) {
    const double target = area * random.Uniform(0.08, 1.0);
    const double ratio = std::exp(random.Uniform(low, high));
    const int w = static_cast<int>(std::lround(std::sqrt(target * ratio)));
    const int h = static_cast<int>(std::lround(std::sqrt(target / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const auto x = static_cast<int>(random.Below(static_cast<uint64_t>(width - w) + 1));
    const auto y = static_cast<int>(random.Below(static_cast<uint64_t>(height - h) + 1));
    return {x, y, w, h};
  }
  const int w = std::max(1, std::min(width, static_cast<int>(height * 4.0 / 3.0)));
  const int h = std::max(1, std::min(height, static_cast<int>(width * 4.0 / 3.0)));
  return {(width - w) / 2, (height - h) / 2, w, h};
}

class Resize final : public Op {
 public:
  explicit Resize(int side) : side_(side) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    STALLSCOPE_RETURN_IF_ERROR(CheckIsImage(element, "resize"));
    const data::Shape& shape = element.value.shape();
    STALLSCOPE_ASSIGN_OR_RETURN(data::Tensor square,
                                worker.NewTensor(data::DType::kUint8, {side_, side_, 3}));
    STALLSCOPE_RETURN_IF_ERROR(worker.resizer.Resize(
        element.value, {0, 0, static_cast<int>(shape[1]), static_cast<int>(shape[0])}, side_, side_,
        square));
    worker.Replace(element, std::move(square));
    return {};
  }

 private:
  const int side_;
};

// crop, and random_resized_crop
class CropOp final : public Op {
 public:
  explicit CropOp(CropPlan plan) : plan_(std::move(plan)) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    STALLSCOPE_RETURN_IF_ERROR(CheckIsImage(element, plan_.call.call.name()));
    const data::Shape& shape = element.value.shape();
    STALLSCOPE_ASSIGN_OR_RETURN(
        const data::Rect part, plan_.Of(element.id, worker.context.seed, static_cast<int>(shape[1]),
                                        static_cast<int>(shape[0])));
    const auto side = static_cast<int>(plan_.side());
    STALLSCOPE_ASSIGN_OR_RETURN(data::Tensor made,
                                worker.NewTensor(element.value.dtype(), {side, side, shape[2]}));
    STALLSCOPE_RETURN_IF_ERROR(plan_.resizes()
                                   ? worker.resizer.Resize(element.value, part, side, side, made)
                                   : data::Crop(element.value, part, made));
    worker.Replace(element, std::move(made));
    return {};
  }

  // The middle of each image, line by line. Regions that differ by image have no form for a batch.
  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    const data::Shape shape = batch.value.shape();
    if (plan_.resizes() || shape.rank() != 4) return Op::ApplyToBatch(batch, worker);
    STALLSCOPE_ASSIGN_OR_RETURN(const data::Rect part,
                                plan_.Of(batch.id, worker.context.seed, static_cast<int>(shape[2]),
                                         static_cast<int>(shape[1])));
    const int64_t side = plan_.side();
    auto made = worker.context.batches->Take(batch.value.dtype(), {shape[0], side, side, shape[3]});
    if (!made.has_value()) return Error{ErrorKind::kRun, "no memory for the batch", "", ""};
    const auto pixel = static_cast<size_t>(shape[3]) * data::SizeOf(batch.value.dtype());
    const auto line = static_cast<size_t>(side) * pixel;
    uint8_t* to = made->data();
    for (int64_t i = 0; i < shape[0]; ++i) {
      for (int64_t y = part.y; y < part.y + side; ++y, to += line) {
        const int64_t first = (i * shape[1] + y) * shape[2] + part.x;
        std::memcpy(to, batch.value.data() + static_cast<size_t>(first) * pixel, line);
      }
    }
    worker.context.batches->Give(std::move(batch.value));
    batch.value = std::move(*made);
    return {};
  }

 private:
  const CropPlan plan_;
};

class Flip final : public Op {
 public:
  explicit Flip(uint64_t salt) : salt_(salt) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    STALLSCOPE_RETURN_IF_ERROR(CheckIsImage(element, "flip"));
    if (Random(worker.context.seed, salt_, element.id).Uniform() < 0.5) return {};
    return data::Mirror(element.value);
  }

  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    for (size_t i = 0; i < batch.batch->ids.size(); ++i) {
      if (Random(worker.context.seed, salt_, batch.batch->ids[i]).Uniform() < 0.5) continue;
      STALLSCOPE_RETURN_IF_ERROR(data::Mirror(batch.value, static_cast<int64_t>(i)));
    }
    return {};
  }

 private:
  const uint64_t salt_;
};

}  // namespace

bool IsCrop(const OpInstance& call) {
  return call.call.name() == "crop" || call.call.name() == "random_resized_crop";
}

Result<data::Rect> CropPlan::Of(const ElementId& id, uint64_t seed, int width, int height) const {
  if (resizes()) return RandomRegion(width, height, Random(seed, call.salt, id));
  const auto cut = static_cast<int>(side());
  if (width < cut || height < cut) {
    return Error{ErrorKind::kRun,
                 fmt::format("an image of {}x{} is too small for crop({})", width, height, cut), "",
                 "crop less, or resize first"};
  }
  return data::Rect{(width - cut) / 2, (height - cut) / 2, cut, cut};
}

OpPtr MakeGeometryOp(const OpInstance& call) {
  const std::string_view name = call.call.name();
  if (name == "resize")
    return std::make_unique<Resize>(static_cast<int>(call.call.Integer("size")));
  if (IsCrop(call)) return std::make_unique<CropOp>(CropPlan{call});
  if (name == "flip") return std::make_unique<Flip>(call.salt);
  return nullptr;
}

}  // namespace stallscope::pipeline
