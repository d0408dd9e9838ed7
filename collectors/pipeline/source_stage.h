// Sources: files read in turn, by the thread that asks or by readers of their own; and generated
// elements.
//
// The order is that of tf.data's interleave: `cycle_length` files are open, `block_length` elements
// are taken from each in turn, and a file that ends is replaced by the next one in its place. With
// parallelism and order kept, readers work ahead and the order is the same. Without order, a file
// is skipped in its turn while it has nothing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "analyzer/base/thread.h"
#include "collectors/pipeline/file_stream.h"
#include "collectors/pipeline/tuner.h"

namespace stallscope::pipeline {

struct SourceOptions {
  std::string name;
  StageId stage;
  QueueId queue;  // of readers
};

class InlineSource final : public Stage {
 public:
  InlineSource(std::shared_ptr<const ReaderShared> shared, SourceOptions options);
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  const std::shared_ptr<const ReaderShared> shared_;
  const SourceOptions options_;
  uint32_t epoch_ = 0;
  size_t next_file_ = 0;
  std::vector<std::unique_ptr<FileStream>> cycle_;  // null: its file has ended and none is left
  size_t turn_ = 0;
  int64_t taken_ = 0;  // in this turn
};

class ParallelSource final : public Stage {
 public:
  ParallelSource(std::shared_ptr<const ReaderShared> shared, SourceOptions options);
  ~ParallelSource() override;  // cancels the whole pipeline, and joins
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;
  // Any thread, both. If another reader's thread cannot be started, the pipeline fails.
  void SetParallelism(int64_t parallelism);
  TunerLoad load() const;

 private:
  // A file that is read ahead.
  struct Lane {
    Lane(const ReaderShared& shared, StageId stage, size_t file, uint32_t epoch)
        : stream(shared, stage, file, epoch) {}
    FileStream stream;
    std::deque<Element> ready;
    std::unique_ptr<Error> error;  // behind what is ready
    bool taken = false;            // by a reader
    bool ended = false;
  };

  void Read(int64_t index);
  Lane* LaneToRead();
  void FillLane(Lane& lane, std::unique_lock<std::mutex>& lock);
  // The lane to take from next, null at the end. Waits for it.
  Result<Lane*> LaneToTake(std::unique_lock<std::mutex>& lock);
  void OpenAhead();
  std::unique_ptr<Lane> NextFile();
  Element TakeFrom(Lane& lane);

  const std::shared_ptr<const ReaderShared> shared_;
  const SourceOptions options_;
  const size_t cycle_length_;
  const size_t lane_capacity_;

  std::mutex mutex_;
  std::condition_variable work_;  // for readers that may read
  // For those past the target. Not work_: a notification for one reader could reach one that must
  // not read, and the lane that it was for would stall.
  std::condition_variable parked_;
  std::condition_variable ready_;  // for the one that takes
  std::atomic<int64_t> target_{0};
  uint32_t epoch_ = 0;
  size_t next_file_ = 0;
  std::vector<std::unique_ptr<Lane>> cycle_;
  std::deque<std::unique_ptr<Lane>> ahead_;  // files that will come into the cycle next
  size_t turn_ = 0;
  int64_t taken_ = 0;
  uint64_t depth_ = 0;
  TrackId last_reader_;
  std::atomic<uint64_t> busy_ticks_{0};
  std::atomic<uint64_t> times_empty_{0};
  ThreadGroup threads_;
};

// Elements that are only numbers; SyntheticRunner generates their content.
class CountingSource final : public Stage {
 public:
  // `file`: of the elements' ids.
  CountingSource(uint64_t elements, uint32_t file, StageContext& context)
      : elements_(elements), file_(file), context_(context) {}
  Result<std::optional<Element>> Next() override;
  void Restart(uint32_t epoch) override;

 private:
  const uint64_t elements_;
  const uint32_t file_;
  StageContext& context_;
  uint32_t epoch_ = 0;
  uint64_t next_ = 0;
};

class SyntheticRunner final : public Runner {
 public:
  SyntheticRunner(SourceSpec spec, StageId stage, StageContext& context)
      : spec_(std::move(spec)), stage_(stage), context_(context) {}
  Result<std::optional<Element>> Run(std::vector<Element>& job,
                                     RunnerWorker& worker) const override;

 private:
  const SourceSpec spec_;
  const StageId stage_;
  StageContext& context_;
};

// Burns CPU or waits as long as the spec says that an element costs.
Status PayForElement(const SourceSpec& spec, StageContext& context);

}  // namespace stallscope::pipeline
