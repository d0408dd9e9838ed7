// Ops on whole batches apart from a pipeline: what a device that computes on the CPU runs for a map
// with "on": "device".
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/pipeline/pipeline.h"

namespace stallscope::pipeline {

// Any thread, all calls.
class BatchOps {
 public:
  explicit BatchOps(uint64_t seed);
  ~BatchOps();
  BatchOps(const BatchOps&) = delete;
  BatchOps& operator=(const BatchOps&) = delete;

  // What a sample of that dtype and shape becomes.
  struct Form {
    data::DType dtype = data::DType::kUint8;
    data::Shape sample;
  };
  static Result<Form> FormAfter(const OpInstance& op, const Form& before);

  // `in` has a row for each id. `out` is set up here.
  Status Run(const OpInstance& op, const std::vector<ElementId>& ids, const data::Tensor& in,
             data::Tensor& out);

 private:
  struct Workers;
  std::unique_ptr<Workers> workers_;
};

}  // namespace stallscope::pipeline
