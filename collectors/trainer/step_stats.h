// Statistics of a training run. Inside this room.
#pragma once

#include <cstdint>
#include <deque>

#include "collectors/trainer/trainer.h"

namespace stallscope::trainer {

class StepStats {
 public:
  struct Learned {
    double loss = 0;
    int64_t correct = 0;
    bool skipped = false;
  };

  // A step is done; times in nanoseconds. Null `learned`: the device computes nothing.
  void Add(int64_t samples, int64_t requested_ns, int64_t received_ns, int64_t done_ns,
           const Learned* learned);
  Progress progress() const;
  uint64_t skipped() const { return skipped_; }

 private:
  static constexpr size_t kWindow = 50;  // steps whose loss and accuracy count
  struct Recent {
    double loss;
    int64_t correct;
    int64_t samples;
  };

  uint64_t steps_ = 0;
  uint64_t samples_ = 0;
  uint64_t skipped_ = 0;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
  int64_t waited_ns_ = 0;
  std::deque<Recent> recent_;
};

}  // namespace stallscope::trainer
