// Where the step loop gets batches that are on their way to the device, or there already. Inside
// this room.
//
// Next() and Release() belong to the trainer's thread. With prefetch a thread of its own asks for
// batches and loads them, as far ahead as there are slots.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_FEED_H_
#define STALLSCOPE_COLLECTORS_TRAINER_FEED_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "analyzer/base/thread.h"
#include "collectors/trainer/loader.h"
#include "collectors/trainer/trainer.h"

namespace stallscope::trainer {

class Feed {
 public:
  // `in_flight`: steps that may be on the device while the next batch is asked for.
  Feed(Devices& devices, const Spec& spec, const TrainerOptions& options, StageId stage,
       size_t in_flight);
  ~Feed();  // waits for a `next` that is under way
  Status Open();

  // Nothing: the data has ended.
  Result<std::optional<LoadedBatch>> Next();
  // The device is done with it.
  void Release(LoadedBatch&& batch);

 private:
  Result<std::optional<LoadedBatch>> Fetch(size_t slot);
  void Loop();
  bool WaitForSlot(size_t& slot);

  const Spec& spec_;
  const TrainerOptions& options_;
  const StageId stage_;
  const size_t prefetch_;
  QueueId queue_;
  Loader loader_;

  std::mutex mutex_;
  std::condition_variable ready_changed_;
  std::condition_variable slots_changed_;
  std::vector<size_t> free_slots_;
  std::deque<LoadedBatch> ready_;
  std::optional<Result<std::optional<LoadedBatch>>> end_;  // what the last fetch gave instead
  bool stop_ = false;
  ThreadGroup thread_;
};

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_FEED_H_
