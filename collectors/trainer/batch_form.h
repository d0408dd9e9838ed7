// What a batch looks like to a device, what a model takes, and what the device's maps do to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"
#include "collectors/data/tensor.h"
#include "collectors/device/launch.h"
#include "collectors/pipeline/device_plan.h"
#include "collectors/pipeline/pipeline.h"

namespace stallscope::trainer {

// Samples of one shape. `sample` has no batch dimension.
struct BatchForm {
  int64_t samples = 0;
  data::Shape sample;
  data::DType dtype = data::DType::kUint8;

  int64_t values() const { return samples * sample.Elements(); }
  bool operator==(const BatchForm&) const = default;
};

// A tensor whose first dimension counts `samples`; unless `batched` it is one sample.
BatchForm FormOf(const data::Tensor& tensor, int64_t samples, bool batched);

// Nothing for types that kernels cannot read.
std::optional<device::Type> DeviceType(data::DType dtype);
data::DType ToDType(TransferDtype dtype);

// What goes over the link for a batch of `from`. kUsage if that would lose values.
Result<data::DType> TransferType(data::DType from, TransferDtype to);

// kUsage with a remedy if `model` cannot learn from it.
Status CheckForm(const BatchForm& form, const ModelSpec& model);

// The ops of a map with "on": "device". They are in the pipeline's room; whoever links both passes
// them to the trainer.
struct DeviceOps {
  // What a batch looks like after the op; its samples stay.
  std::function<Result<BatchForm>(const pipeline::OpInstance& op, const BatchForm& in)> form_after;
  // Runs the op on samples of that form, with their `ids`; sets up `out`. Called by the device's
  // threads, one per replica at a time.
  std::function<Status(const pipeline::OpInstance& op, const std::vector<pipeline::ElementId>& ids,
                       const data::Tensor& in, data::Tensor& out)>
      run;
  // How a device with image kernels can run the op without the host; nothing if it cannot. May be
  // empty.
  std::function<Result<std::optional<pipeline::DevicePlan>>(
      const pipeline::OpInstance& op, const std::vector<pipeline::ElementId>& ids,
      const BatchForm& in)>
      plan;
};

}  // namespace stallscope::trainer
