// Stages that work in the thread that asks: a runner without workers, and those that only decide
// what comes when (concatenated and zipped sources, shard, filter, shuffle, bucket by length,
// repeat).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectors/pipeline/op.h"
#include "collectors/pipeline/runner.h"

namespace stallscope::pipeline {

// A runner that works in the thread that asks: parallelism 1, as a map of tf.data without
// num_parallel_calls.
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

// All elements of its input, then those of another source.
class ConcatenateStage final : public ChainedStage {
 public:
  ConcatenateStage(StagePtr input, StagePtr source, StageContext& context)
      : ChainedStage(std::move(input), context), source_(std::move(source)) {}
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  const StagePtr source_;
  bool input_ended_ = false;
};

// One of several inputs that are read at once.
struct ZipInput {
  StagePtr elements;
  std::string name;  // of the source that begins it
  StageId stage;     // of its last source
};

// The first element of each input as one, then the second of each, until the shortest ends. The
// next pass begins with the others' rest being read and dropped.
class ZipStage final : public Stage {
 public:
  ZipStage(std::vector<ZipInput> inputs, StageContext& context);
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  Status ReadToTheEnd();
  Element Joined(std::vector<Element> row) const;

  const std::vector<ZipInput> inputs_;
  StageContext& context_;
  uint32_t epoch_ = 0;
  bool begun_ = false;  // an input may not be at its begin
  bool restarts_ = false;
  bool ended_ = false;
};

// Every count-th element, from the index-th on.
class ShardStage final : public ChainedStage {
 public:
  ShardStage(StagePtr input, ShardSpec spec, StageContext& context)
      : ChainedStage(std::move(input), context), spec_(spec) {}
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  const ShardSpec spec_;
  int64_t seen_ = 0;
};

class FilterStage final : public ChainedStage {
 public:
  FilterStage(StagePtr input, std::unique_ptr<Predicate> predicate, StageId stage,
              StageContext& context)
      : ChainedStage(std::move(input), context),
        predicate_(std::move(predicate)),
        stage_(stage),
        worker_(context),
        meter_(context.slow_down) {}
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  const std::unique_ptr<Predicate> predicate_;
  const StageId stage_;
  OpWorker worker_;
  WorkMeter meter_;
};

// Keeps `buffer_size` elements and returns a random one. Each epoch has a different order; the same
// seed gives the same orders.
class ShuffleStage final : public ChainedStage {
 public:
  ShuffleStage(StagePtr input, ShuffleSpec spec, uint64_t salt, QueueId buffer,
               StageContext& context)
      : ChainedStage(std::move(input), context), spec_(spec), salt_(salt), buffer_(buffer) {}
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  const ShuffleSpec spec_;
  const uint64_t salt_;
  const QueueId buffer_;
  std::vector<Element> elements_;
  uint32_t epoch_ = 0;
  uint64_t draws_ = 0;
  bool ended_ = false;
};

// Returns `size` samples of one bucket after each other, as soon as it has so many; at the end of
// the epoch what is left, from the shortest to the longest. Of values that are no list, the first
// dimension is the length.
class BucketByLengthStage final : public ChainedStage {
 public:
  BucketByLengthStage(StagePtr input, BucketByLengthSpec spec, size_t size, StageContext& context)
      : ChainedStage(std::move(input), context), spec_(spec), size_(size) {}
  Result<std::optional<Element>> Next() override;

 private:
  const BucketByLengthSpec spec_;
  const size_t size_;
  std::map<int64_t, std::deque<Element>> buckets_;
  std::deque<Element> going_;  // the samples of the bucket that is being returned
};

class RepeatStage final : public ChainedStage {
 public:
  RepeatStage(StagePtr input, RepeatSpec spec, StageContext& context)
      : ChainedStage(std::move(input), context), spec_(spec) {}
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  const RepeatSpec spec_;
  int64_t pass_ = 0;
  uint32_t first_epoch_ = 0;
  bool any_ = false;  // this pass gave an element
};

}  // namespace stallscope::pipeline
