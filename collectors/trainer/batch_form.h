// What a batch looks like to a device, and what a model takes.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_BATCH_FORM_H_
#define STALLSCOPE_COLLECTORS_TRAINER_BATCH_FORM_H_

#include <cstdint>
#include <optional>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "collectors/data/tensor.h"
#include "collectors/device/launch.h"

namespace stallscope::trainer {

// Samples of one shape. `sample` has no batch dimension.
struct BatchForm {
  int64_t samples = 0;
  data::Shape sample;
  data::DType dtype = data::DType::kUint8;

  int64_t values() const { return samples * sample.Elements(); }
  bool operator==(const BatchForm&) const = default;
};

// A tensor whose first dimension counts `samples`; one that has no such dimension is one sample.
BatchForm FormOf(const data::Tensor& tensor, int64_t samples, bool batched);

// Nothing for types that no kernel reads.
std::optional<device::Type> DeviceType(data::DType dtype);
data::DType ToDType(TransferDtype dtype);

// What goes over the link for a batch of `from`. kUsage where that would lose values.
Result<data::DType> TransferType(data::DType from, TransferDtype to);

// Whether `model` can learn from it; kUsage with what to do.
Status CheckForm(const BatchForm& form, const ModelSpec& model);

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_BATCH_FORM_H_
