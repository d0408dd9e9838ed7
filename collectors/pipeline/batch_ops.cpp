#include "collectors/pipeline/batch_ops.h"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <utility>

#include "collectors/pipeline/op.h"

namespace stallscope::pipeline {

struct BatchOps::Workers {
  StageContext context;
  std::mutex mutex;
  std::vector<std::unique_ptr<OpWorker>> idle;

  std::unique_ptr<OpWorker> Take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<OpWorker>(context);
    auto worker = std::move(idle.back());
    idle.pop_back();
    return worker;
  }
  void Give(std::unique_ptr<OpWorker> worker) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
  }
};

BatchOps::BatchOps(uint64_t seed) : workers_(std::make_unique<Workers>()) {
  workers_->context.seed = seed;
  workers_->context.batches = std::make_unique<TensorPool>();
}

BatchOps::~BatchOps() = default;

Result<BatchOps::Form> BatchOps::FormAfter(const OpInstance& op, const Form& before) {
  const std::string_view name = op.call.name();
  Form after = before;
  if (name == "resize" || name == "crop" || name == "random_resized_crop") {
    if (before.sample.rank() != 3) {
      return Error{ErrorKind::kUsage,
                   fmt::format("{} on the device needs images, and samples are {}", name,
                               before.sample.ToString()),
                   op.call.Text(), "decode them on the host first"};
    }
    const int64_t side = op.call.Integer("size");
    after.sample = {side, side, before.sample[2]};
  }
  if (name == "normalize") after.dtype = data::DType::kFloat32;
  if (name == "cast") after.dtype = *data::DTypeNamed(op.call.Word("dtype"));
  return after;
}

Status BatchOps::Run(const OpInstance& op, const std::vector<ElementId>& ids,
                     const data::Tensor& in, data::Tensor& out) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::vector<OpPtr> ops, MakeOps({&op, 1}, {}));
  Element batch;
  batch.content = Content::kTensor;
  batch.value = in;
  batch.batch = std::make_unique<BatchMembers>();
  batch.batch->ids = ids;
  batch.batch->labels.resize(ids.size());
  auto worker = workers_->Take();
  Status status;
  for (const OpPtr& one : ops) {
    if (status.ok()) status = one->ApplyToBatch(batch, *worker);
  }
  workers_->Give(std::move(worker));
  STALLSCOPE_RETURN_IF_ERROR(status);
  out.Reset(batch.value.dtype(), batch.value.shape());
  if (out.bytes() > 0) std::memcpy(out.data(), batch.value.data(), out.bytes());
  workers_->context.Recycle(std::move(batch));
  return {};
}

}  // namespace stallscope::pipeline
