// What the ops of a map with "on": "device" do to a batch. The pipeline's room has the ops; whoever
// links both gives the trainer these two.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_DEVICE_OPS_H_
#define STALLSCOPE_COLLECTORS_TRAINER_DEVICE_OPS_H_

#include <functional>
#include <optional>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/tensor.h"
#include "collectors/pipeline/device_plan.h"
#include "collectors/pipeline/pipeline.h"
#include "collectors/trainer/batch_form.h"

namespace stallscope::trainer {

struct DeviceOps {
  // What a batch looks like after the op; its samples stay.
  std::function<Result<BatchForm>(const pipeline::OpInstance& op, const BatchForm& in)> form_after;
  // The op on samples of that form, `ids` one for each; `out` is not set up yet. Called by the
  // device's threads, one for each replica at a time.
  std::function<Status(const pipeline::OpInstance& op, const std::vector<pipeline::ElementId>& ids,
                       const data::Tensor& in, data::Tensor& out)>
      run;
  // How a device that has kernels for images can do the op without the host; nothing where it
  // cannot. May be empty.
  std::function<Result<std::optional<pipeline::DevicePlan>>(
      const pipeline::OpInstance& op, const std::vector<pipeline::ElementId>& ids,
      const BatchForm& in)>
      plan;
};

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_DEVICE_OPS_H_
