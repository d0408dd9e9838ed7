// A stage that works in the thread that asks: parallelism 1, as a map of tf.data without
// num_parallel_calls.
#ifndef STALLSCOPE_COLLECTORS_PIPELINE_INLINE_STAGE_H_
#define STALLSCOPE_COLLECTORS_PIPELINE_INLINE_STAGE_H_

#include <memory>
#include <utility>
#include <vector>

#include "collectors/pipeline/runner.h"

namespace stallscope::pipeline {

class InlineStage final : public ChainedStage {
 public:
  InlineStage(StagePtr input, std::unique_ptr<const Runner> runner, StageContext& context)
      : ChainedStage(std::move(input), context), runner_(std::move(runner)), worker_(context) {}

  Result<std::optional<Element>> Next() override {
    for (;;) {
      STALLSCOPE_RETURN_IF_ERROR(PullJob(*input_, *runner_, context_, job_));
      if (job_.empty()) return std::optional<Element>();
      STALLSCOPE_ASSIGN_OR_RETURN(std::optional<Element> done, runner_->Run(job_, worker_));
      if (done.has_value()) return done;
    }
  }

 private:
  const std::unique_ptr<const Runner> runner_;
  RunnerWorker worker_;
  std::vector<Element> job_;
};

}  // namespace stallscope::pipeline

#endif  // STALLSCOPE_COLLECTORS_PIPELINE_INLINE_STAGE_H_
