// One pass over a job's data, as its loader tracks it: which worker each batch was requested from,
// which batches have arrived, and which one is next. Private to the room; one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace stallscope::replay {

class JobPass {
 public:
  // `ahead`: the most batches requested from a worker at a time.
  JobPass(uint32_t workers, uint32_t ahead, bool in_order);

  // `length`: in batches, unless the workers' shares end it sooner.
  void Begin(uint64_t length);

  // False once all batches were requested, or no worker has any left.
  bool MayAsk() const;
  // The worker to request the next batch from: each in turn; without order, none for more than its
  // share.
  uint32_t Ask();
  void Arrive(uint64_t batch, uint32_t worker);
  void EndShare(uint32_t worker) { workers_[worker].active = false; }

  // True if the batch whose turn it is has arrived, which makes it the next one's turn. Only if the
  // order is kept.
  bool TakeTurn();
  // True if no worker will send another batch, and no arrived batch waits for its turn.
  bool Exhausted() const;

  void HandOut() { ++handed_; }
  bool ended() const { return handed_ >= length_; }
  uint64_t asked() const { return asked_; }
  uint64_t handed() const { return handed_; }

 private:
  struct Worker {
    uint32_t holds = 0;  // batches requested from it and not yet handed out
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
  uint32_t next_ = 0;  // the next worker
  std::vector<uint32_t> worker_of_;
  std::vector<bool> arrived_;
};

}  // namespace stallscope::replay
