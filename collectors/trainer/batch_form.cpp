#include "collectors/trainer/batch_form.h"

#include <fmt/format.h>

namespace stallscope::trainer {

using data::DType;

BatchForm FormOf(const data::Tensor& tensor, int64_t samples, bool batched) {
  BatchForm form;
  form.samples = samples;
  form.dtype = tensor.dtype();
  form.sample = batched && tensor.shape().rank() > 0
                    ? data::Shape::Of(tensor.shape().dims().subspan(1))
                    : tensor.shape();
  return form;
}

std::optional<device::Type> DeviceType(DType dtype) {
  switch (dtype) {
    case DType::kUint8:
      return device::Type::kUint8;
    case DType::kInt32:
      return device::Type::kInt32;
    case DType::kFloat16:
      return device::Type::kFloat16;
    case DType::kBfloat16:
      return device::Type::kBfloat16;
    case DType::kFloat32:
      return device::Type::kFloat32;
    case DType::kInt64:
    case DType::kFloat64:
      break;
  }
  return std::nullopt;
}

DType ToDType(TransferDtype dtype) {
  switch (dtype) {
    case TransferDtype::kUint8:
      return DType::kUint8;
    case TransferDtype::kFloat16:
      return DType::kFloat16;
    case TransferDtype::kFloat32:
      break;
  }
  return DType::kFloat32;
}

Result<DType> TransferType(DType from, TransferDtype to) {
  if (to == TransferDtype::kUint8 && from != DType::kUint8) {
    return Error{ErrorKind::kUsage,
                 fmt::format("the batch is {} and would lose precision as uint8", Name(from)),
                 "transfer.dtype",
                 "move normalize and cast into a map with \"on\": \"device\", or set "
                 "transfer.dtype to float32"};
  }
  // float16 has the whole numbers up to 2048.
  if (to == TransferDtype::kFloat16 && (from == DType::kInt32 || from == DType::kInt64)) {
    return Error{ErrorKind::kUsage,
                 fmt::format("the batch is {} and would lose precision as float16", Name(from)),
                 "transfer.dtype", "set transfer.dtype to float32"};
  }
  return ToDType(to);
}

Status CheckForm(const BatchForm& form, const ModelSpec& model) {
  if (model.kind == ModelKind::kMlp) return {};
  const data::Shape& s = form.sample;
  if (s.rank() != 3 || s[2] != 3) {
    return Error{ErrorKind::kUsage,
                 fmt::format("the mixer takes images (height x width x 3), and a sample of this "
                             "batch is {} of {}",
                             s.ToString(), Name(form.dtype)),
                 "trainer.model.kind", "decode and resize the images, or use the model 'mlp'"};
  }
  if (s[0] < model.patch || s[1] < model.patch) {
    return Error{ErrorKind::kUsage,
                 fmt::format("images of {}x{} are smaller than a patch of {}x{}", s[0], s[1],
                             model.patch, model.patch),
                 "trainer.model.patch", "make the patch smaller or the images larger"};
  }
  return {};
}

}  // namespace stallscope::trainer
