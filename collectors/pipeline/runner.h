// What a stage does to elements, regardless of which thread does it: inline in the thread that asks
// (InlineStage, order_stages.h), or in workers of its own (worker_stage.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/clock.h"
#include "collectors/pipeline/batch_assembler.h"
#include "collectors/pipeline/op.h"

namespace stallscope::pipeline {

// Ops of one stage of the spec. A fused map has several, and each is recorded under its own name.
struct MapPart {
  StageId stage;
  std::string name;
  std::vector<OpPtr> ops;
  size_t input = 0;  // the part of the element that the ops change
};

// Writes a span of work, with CPU time where that pays: its two clocks cost 1.3 us, so always for
// work of 100 us and more, else one time in 64. Then delays the thread, if its stage is slowed. One
// thread.
class WorkMeter {
 public:
  explicit WorkMeter(SlowDown* slow_down) : slow_down_(slow_down) {}  // null: never slowed
  void Begin(StageId stage);
  void End(StageId stage, ItemId item, uint64_t bytes);

 private:
  void Pay(StageId stage);

  SlowDown* slow_down_;
  SlowDown::Mode mode_ = SlowDown::Mode::kOff;
  SlowDown::Debt debt_;
  double cpu_share_ = 1;  // of the last measured work
  bool measures_ = false;
  bool always_ = false;
  uint32_t count_ = 0;
  int64_t cpu_ns_ = 0;
  int64_t wall_ns_ = 0;
  Ticks start_ = 0;
};

// One worker's own.
struct RunnerWorker {
  explicit RunnerWorker(StageContext& context) : ops(context) {}
  OpWorker ops;
  std::vector<WorkMeter> meters;  // a part each
  void NeedMeters(size_t parts) {
    if (meters.size() < parts) meters.resize(parts, WorkMeter(ops.context.slow_down));
  }
  std::string shape_text;  // of the last batch, already defined in the recorder
  trace::StringId shape;
};

// Never changes: any number of workers use it at once.
class Runner {
 public:
  virtual ~Runner() = default;
  // How many elements one piece of work takes, and whether the rest at the end is one too.
  virtual int64_t JobSize() const { return 1; }
  virtual bool KeepsRest() const { return true; }
  // Whether the element can go into one job with those.
  virtual Status Fits(const std::vector<Element>&, const Element&) const { return {}; }
  // Consumes the job. Nothing: the element was bad and is to be left out.
  virtual Result<std::optional<Element>> Run(std::vector<Element>& job,
                                             RunnerWorker& worker) const = 0;
};

// Passes elements through: prefetch.
class IdentityRunner final : public Runner {
 public:
  Result<std::optional<Element>> Run(std::vector<Element>& job, RunnerWorker&) const override {
    return std::optional<Element>(std::move(job.front()));
  }
};

class MapRunner final : public Runner {
 public:
  MapRunner(std::vector<MapPart> parts, StageContext& context)
      : parts_(std::move(parts)), context_(context) {}
  Result<std::optional<Element>> Run(std::vector<Element>& job,
                                     RunnerWorker& worker) const override;

 private:
  const std::vector<MapPart> parts_;
  StageContext& context_;
};

// Of each batch, the share of its values that only pad it.
inline constexpr const char* kPaddingCounter = "padding";

struct BatchOptions {
  StageId stage;
  std::string name;
  int64_t size = 1;
  bool drop_rest = false;
  bool pad = false;
  CounterId padding = {};  // kPaddingCounter; none if nothing is padded or recorded
};

// Puts samples together, after doing a map's work on each if the two were fused.
class BatchRunner final : public Runner {
 public:
  BatchRunner(BatchOptions options, std::vector<MapPart> parts, StageContext& context)
      : options_(options), parts_(std::move(parts)), context_(context) {}
  int64_t JobSize() const override { return options_.size; }
  bool KeepsRest() const override { return !options_.drop_rest; }
  Status Fits(const std::vector<Element>& job, const Element& next) const override;
  Result<std::optional<Element>> Run(std::vector<Element>& job,
                                     RunnerWorker& worker) const override;

 private:
  Status AddSample(Element& sample, BatchAssembler& assembler, RunnerWorker& worker) const;
  void Record(const Element& batch, const std::vector<ItemId>& samples, RunnerWorker& worker) const;

  const BatchOptions options_;
  const std::vector<MapPart> parts_;
  StageContext& context_;
};

// Pulls the next job's elements, at most JobSize() of them; an empty job is the end.
Status PullJob(Stage& input, const Runner& runner, StageContext& context,
               std::vector<Element>& job);

}  // namespace stallscope::pipeline
