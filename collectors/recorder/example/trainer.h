// Logistic regression by gradient descent: something that really computes on each batch.
#ifndef EXAMPLE_TRAINER_H_
#define EXAMPLE_TRAINER_H_

#include <vector>

#include "collectors/recorder/track.h"

namespace example {

// A tokenized block.
struct Sample {
  stallscope::ItemId id;
  std::vector<float> features;
  float label = 0;
};

class Trainer {
 public:
  Trainer();
  // One step of gradient descent; gives the batch's mean loss.
  double Step(const std::vector<Sample>& batch);

 private:
  std::vector<float> weights_;
  std::vector<float> gradient_;
};

}  // namespace example

#endif  // EXAMPLE_TRAINER_H_
