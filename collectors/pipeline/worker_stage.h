// A stage with threads of its own and a queue behind it: parallel maps and batches, and prefetch,
// which is one worker that hands on what it gets.
//
// Workers take turns at the input, under a lock. Where order is kept a job's ticket is drawn with
// its input, else when it is done; see ring.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analyzer/base/thread.h"
#include "collectors/pipeline/ring.h"
#include "collectors/pipeline/runner.h"

namespace stallscope::pipeline {

struct WorkerOptions {
  std::string name;  // of the threads
  StageId stage;
  QueueId queue;
  QueueId input_lock;  // names waits for one's turn
  int64_t parallelism = 1;
  uint64_t queue_limit = 1;
  uint64_t queue_most = 1;  // that the tuner may raise it to
  bool ordered = true;
};

class WorkerStage final : public ChainedStage {
 public:
  WorkerStage(StagePtr input, std::unique_ptr<const Runner> runner, WorkerOptions options,
              StageContext& context);
  ~WorkerStage() override;  // cancels the whole pipeline, and joins

  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

  // Any thread. Workers past the new number end their job first. If another worker's thread cannot
  // be started, the pipeline fails.
  void SetParallelism(int64_t parallelism);
  void SetQueueLimit(uint64_t limit) { ring_.SetLimit(limit); }
  uint64_t queue_limit() const { return ring_.limit(); }
  uint64_t queue_depth() const { return ring_.depth(); }
  uint64_t times_empty() const { return ring_.times_empty(); }
  uint64_t times_full() const { return ring_.times_full(); }
  // Time that workers spent on jobs, and jobs done, since the start.
  uint64_t busy_ticks() const { return busy_ticks_.load(std::memory_order_relaxed); }
  uint64_t jobs() const { return jobs_.load(std::memory_order_relaxed); }

 private:
  // What is in the queue. A job that was left out still uses its ticket.
  struct Outcome {
    enum class Kind : uint8_t { kElement, kLeftOut, kError, kEnd } kind = Kind::kEnd;
    Element element;
    std::unique_ptr<Error> error;
  };

  void Work(int64_t index);
  // Waits for this worker's turn and pulls a job. False where the worker must end.
  bool TakeJob(int64_t index, std::vector<Element>& job, uint64_t& ticket, Outcome& outcome);
  void Finish(uint64_t ticket, Outcome&& outcome);
  void RecordPop(const Element& element);

  const std::unique_ptr<const Runner> runner_;
  const WorkerOptions options_;
  Ring<Outcome> ring_;

  std::mutex input_mutex_;
  std::condition_variable turn_;
  std::atomic<int64_t> target_;
  // Not under the lock: a worker that has done its job must not wait for another one's turn to end.
  std::atomic<bool> ended_{false};  // the input has, or failed
  std::atomic<bool> end_pushed_{false};
  std::atomic<int64_t> at_work_{0};  // jobs pulled and not yet pushed
  ThreadGroup threads_;

  std::atomic<uint64_t> busy_ticks_{0};
  std::atomic<uint64_t> jobs_{0};
  bool at_end_ = false;  // the end was popped; Next()'s own
  Ticks released_ = 0;   // when the element popped last could leave; Next()'s own
};

}  // namespace stallscope::pipeline
