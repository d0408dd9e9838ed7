// One pass over a job's data, as its loader keeps it: which worker each batch was asked of, which
// batches have arrived, and whose turn it is. Private to the room; one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace stallscope::replay {

class JobPass {
 public:
  // `ahead`: the most batches that a worker is asked for at a time.
  JobPass(uint32_t workers, uint32_t ahead, bool in_order);

  // `length`: batches, if each worker's share does not end it sooner.
  void Begin(uint64_t length);

  // False once all were asked for, or no worker has any left.
  bool MayAsk() const;
  // The worker that the next batch is asked of: each in turn, and out of order none for more than
  // its share.
  uint32_t Ask();
  void Arrive(uint64_t batch, uint32_t worker);
  void EndShare(uint32_t worker) { workers_[worker].active = false; }

  // True if the batch whose turn it is has arrived: then it is the next one's turn. Where order is
  // kept, only.
  bool TakeTurn();
  // True if no worker will send another batch, and none that has arrived waits for its turn.
  bool Exhausted() const;

  void HandOut() { ++handed_; }
  bool ended() const { return handed_ >= length_; }
  uint64_t asked() const { return asked_; }
  uint64_t handed() const { return handed_; }

 private:
  struct Worker {
    uint32_t holds = 0;  // batches that it was asked for and that were not handed out
    bool active = true;
  };

  bool AnyActive() const;

  const uint32_t ahead_;
  const bool in_order_;
  std::vector<Worker> workers_;
  uint64_t length_ = 0;
  uint64_t asked_ = 0;
  uint64_t handed_ = 0;
  uint64_t turn_ = 0;
  uint32_t next_ = 0;  // worker
  std::vector<uint32_t> worker_of_;
  std::vector<bool> arrived_;
};

}  // namespace stallscope::replay
