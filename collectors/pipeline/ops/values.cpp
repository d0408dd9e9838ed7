// Ops that change values: scale, normalize, cast, one_hot, color_jitter.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "collectors/data/tensor.h"
#include "collectors/pipeline/ops/make.h"

namespace stallscope::pipeline {
namespace {

Status CheckIsTensor(const Element& element, std::string_view op) {
  if (element.content == Content::kTensor) return {};
  return Error{ErrorKind::kRun, fmt::format("{} needs decoded values", op), "", "decode first"};
}

class Scale final : public Op {
 public:
  Scale(float by, float offset) : by_(by), offset_(offset) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    return Into(element, worker.context.elements);
  }
  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    return Into(batch, *worker.context.batches);
  }

 private:
  Status Into(Element& element, TensorPool& pool) const {
    STALLSCOPE_RETURN_IF_ERROR(CheckIsTensor(element, "scale"));
    if (element.value.dtype() != data::DType::kFloat32) {
      auto floats = pool.Take(data::DType::kFloat32, element.value.shape());
      if (!floats.has_value()) {
        return Error{ErrorKind::kRun, "no memory for the scaled values", "", ""};
      }
      STALLSCOPE_RETURN_IF_ERROR(data::Convert(element.value, data::DType::kFloat32, *floats));
      pool.Give(std::move(element.value));
      element.value = std::move(*floats);
    }
    for (float& value : element.value.Values<float>()) value = value * by_ + offset_;
    return {};
  }

  const float by_;
  const float offset_;
};

class NormalizeOp final : public Op {
 public:
  explicit NormalizeOp(const data::NormalizeBy& by) : by_(by) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    STALLSCOPE_RETURN_IF_ERROR(CheckIsTensor(element, "normalize"));
    STALLSCOPE_ASSIGN_OR_RETURN(data::Tensor normal,
                                worker.NewTensor(data::DType::kFloat32, element.value.shape()));
    STALLSCOPE_RETURN_IF_ERROR(data::Normalize(element.value, by_, normal));
    worker.Replace(element, std::move(normal));
    return {};
  }

  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    auto normal = worker.context.batches->Take(data::DType::kFloat32, batch.value.shape());
    if (!normal.has_value()) return Error{ErrorKind::kRun, "no memory for the batch", "", ""};
    STALLSCOPE_RETURN_IF_ERROR(data::Normalize(batch.value, by_, *normal));
    worker.context.batches->Give(std::move(batch.value));
    batch.value = std::move(*normal);
    return {};
  }

  Result<bool> ApplyInto(const Element& element, OpWorker&, ValuePlace& place) const override {
    const data::Shape& shape = element.value.shape();
    const bool floats = element.value.dtype() == data::DType::kFloat32;
    if (element.content != Content::kTensor || shape.rank() != 3 || shape[2] != 3 ||
        (!floats && element.value.dtype() != data::DType::kUint8)) {
      return false;
    }
    STALLSCOPE_ASSIGN_OR_RETURN(uint8_t* const at, place.Place(data::DType::kFloat32, shape));
    const auto count = static_cast<size_t>(shape.Elements());
    auto* to = reinterpret_cast<float*>(at);
    if (floats) {
      data::NormalizeValues(element.value.Values<float>().data(), count, by_, to);
    } else {
      data::NormalizeValues(element.value.data(), count, by_, to);
    }
    return true;
  }

 private:
  const data::NormalizeBy by_;
};

class Cast final : public Op {
 public:
  explicit Cast(data::DType dtype) : dtype_(dtype) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    return Into(element, worker.context.elements);
  }
  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    return Into(batch, *worker.context.batches);
  }
  Result<bool> ApplyInto(const Element& element, OpWorker&, ValuePlace& place) const override {
    if (element.content != Content::kTensor) return false;
    STALLSCOPE_ASSIGN_OR_RETURN(uint8_t* const at, place.Place(dtype_, element.value.shape()));
    if (data::ConvertValues(element.value.dtype(), element.value.data(), dtype_, at,
                            element.value.shape().Elements())) {
      return true;
    }
    data::Tensor unused;
    STALLSCOPE_RETURN_IF_ERROR(data::Convert(element.value, dtype_, unused));
    return false;
  }

 private:
  Status Into(Element& element, TensorPool& pool) const {
    STALLSCOPE_RETURN_IF_ERROR(CheckIsTensor(element, "cast"));
    if (element.value.dtype() == dtype_) return {};
    auto cast = pool.Take(dtype_, element.value.shape());
    if (!cast.has_value()) return Error{ErrorKind::kRun, "no memory for the cast values", "", ""};
    STALLSCOPE_RETURN_IF_ERROR(data::Convert(element.value, dtype_, *cast));
    pool.Give(std::move(element.value));
    element.value = std::move(*cast);
    return {};
  }

  const data::DType dtype_;
};

class OneHot final : public Op {
 public:
  explicit OneHot(int64_t classes) : classes_(classes) {}

  Status Apply(Element& element, OpWorker& worker) const override {
    STALLSCOPE_RETURN_IF_ERROR(Check(element.label));
    STALLSCOPE_ASSIGN_OR_RETURN(element.one_hot,
                                worker.NewTensor(data::DType::kFloat32, {classes_}));
    Fill(element.label, element.one_hot.data());
    return {};
  }

  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    STALLSCOPE_ASSIGN_OR_RETURN(
        batch.one_hot, worker.NewTensor(data::DType::kFloat32, {batch.samples(), classes_}));
    for (int64_t i = 0; i < batch.samples(); ++i) {
      const int64_t label = batch.batch->labels[static_cast<size_t>(i)];
      STALLSCOPE_RETURN_IF_ERROR(Check(label));
      Fill(label, batch.one_hot.data() + static_cast<size_t>(i * classes_) * sizeof(float));
    }
    return {};
  }

 private:
  Status Check(int64_t label) const {
    if (label >= 0 && label < classes_) return {};
    return Error{ErrorKind::kRun,
                 fmt::format("label {} is out of range ({} classes)", label, classes_), "",
                 "raise the number in one_hot, or fix the labels"};
  }
  void Fill(int64_t label, uint8_t* to) const {
    std::memset(to, 0, static_cast<size_t>(classes_) * sizeof(float));
    reinterpret_cast<float*>(to)[label] = 1;
  }

  const int64_t classes_;
};

// Brightness, then contrast, then saturation, each by a factor of 0.6 to 1.4, in fixed point: the
// same on every machine.
class ColorJitter final : public Op {
 public:
  explicit ColorJitter(uint64_t salt) : salt_(salt) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    const data::Shape& shape = element.value.shape();
    if (element.content != Content::kTensor || element.value.dtype() != data::DType::kUint8 ||
        shape.rank() != 3 || shape[2] != 3) {
      return Error{ErrorKind::kRun, "color_jitter needs an image of uint8", "",
                   "decode first, and normalize later"};
    }
    Jitter(element.value.data(), element.value.bytes() / 3,
           Random(worker.context.seed, salt_, element.id));
    return {};
  }

  Status ApplyToBatch(Element& batch, OpWorker& worker) const override {
    const data::Shape& shape = batch.value.shape();
    if (batch.value.dtype() != data::DType::kUint8 || shape.rank() != 4 || shape[3] != 3) {
      return Op::ApplyToBatch(batch, worker);
    }
    const auto pixels = static_cast<size_t>(shape[1] * shape[2]);
    for (size_t i = 0; i < batch.batch->ids.size(); ++i) {
      Jitter(batch.value.data() + i * pixels * 3, pixels,
             Random(worker.context.seed, salt_, batch.batch->ids[i]));
    }
    return {};
  }

 private:
  static void Jitter(uint8_t* data, size_t pixels, Random random) {
    const int brightness = Factor(random);
    const int contrast = Factor(random);
    const int saturation = Factor(random);
    std::array<uint8_t, 256> bright;
    for (int i = 0; i < 256; ++i) bright[static_cast<size_t>(i)] = Clamp(i * brightness / kOne);
    uint64_t sum = 0;
    for (size_t i = 0; i < pixels; ++i) {
      for (size_t c = 0; c < 3; ++c) data[i * 3 + c] = bright[data[i * 3 + c]];
      sum += static_cast<uint64_t>(Gray(data + i * 3));
    }
    const int mean = pixels == 0 ? 0 : static_cast<int>(sum / pixels);
    std::array<uint8_t, 256> contrasted;
    for (int i = 0; i < 256; ++i) {
      contrasted[static_cast<size_t>(i)] = Clamp(mean + (i - mean) * contrast / kOne);
    }
    for (size_t i = 0; i < pixels; ++i) {
      uint8_t* const pixel = data + i * 3;
      for (size_t c = 0; c < 3; ++c) pixel[c] = contrasted[pixel[c]];
      const int gray = Gray(pixel);
      for (size_t c = 0; c < 3; ++c) {
        pixel[c] = Clamp(gray + (pixel[c] - gray) * saturation / kOne);
      }
    }
  }

  static constexpr int kOne = 1024;
  static int Factor(Random& random) { return static_cast<int>(random.Uniform(0.6, 1.4) * kOne); }
  static uint8_t Clamp(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }
  static int Gray(const uint8_t* pixel) {
    return (pixel[0] * 77 + pixel[1] * 150 + pixel[2] * 29) >> 8;
  }

  const uint64_t salt_;
};

}  // namespace

data::NormalizeBy NormalizationOf(const OpCall& normalize) {
  data::NormalizeBy by = data::ImageNetNormalization();
  for (size_t c = 0; c < by.scale.size(); ++c) {
    const double scale = by.scale[c];
    by.scale[c] = static_cast<float>(scale * normalize.Number("by"));
    by.offset[c] = static_cast<float>(scale * normalize.Number("offset") + by.offset[c]);
  }
  return by;
}

OpPtr MakeValueOp(const OpInstance& call) {
  const std::string_view name = call.call.name();
  if (name == "scale") {
    return std::make_unique<Scale>(static_cast<float>(call.call.Number("by")),
                                   static_cast<float>(call.call.Number("offset")));
  }
  if (name == "normalize") return std::make_unique<NormalizeOp>(NormalizationOf(call.call));
  if (name == "cast") return std::make_unique<Cast>(*data::DTypeNamed(call.call.Word("dtype")));
  if (name == "one_hot") return std::make_unique<OneHot>(call.call.Integer("classes"));
  if (name == "color_jitter") return std::make_unique<ColorJitter>(call.salt);
  return nullptr;
}

}  // namespace stallscope::pipeline
