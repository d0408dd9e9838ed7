#include "collectors/trainer/step_stats.h"

#include <algorithm>

namespace stallscope::trainer {

void StepStats::Add(int64_t samples, int64_t requested_ns, int64_t received_ns, int64_t done_ns,
                    const Learned* learned) {
  if (steps_ == 0) first_ns_ = requested_ns;
  ++steps_;
  samples_ += static_cast<uint64_t>(samples);
  // With overlap the previous step may still be on the device: only its idle time is a stall.
  waited_ns_ += std::max<int64_t>(0, received_ns - std::max(requested_ns, last_ns_));
  last_ns_ = std::max(last_ns_, done_ns);
  if (learned == nullptr) return;
  skipped_ += learned->skipped ? 1 : 0;
  recent_.push_back({learned->loss, learned->correct, samples});
  if (recent_.size() > kWindow) recent_.pop_front();
}

Progress StepStats::progress() const {
  Progress now;
  now.steps = steps_;
  now.samples = samples_;
  if (const auto wall = static_cast<double>(last_ns_ - first_ns_); wall > 0) {
    now.samples_per_s = static_cast<double>(samples_) / wall * 1e9;
    now.input_stall = static_cast<double>(waited_ns_) / wall;
  }
  if (recent_.empty()) return now;
  double correct = 0;
  double samples = 0;
  for (const Recent& step : recent_) {
    correct += static_cast<double>(step.correct);
    samples += static_cast<double>(step.samples);
  }
  now.loss = recent_.back().loss;
  now.accuracy = correct / std::max(1.0, samples);
  return now;
}

}  // namespace stallscope::trainer
