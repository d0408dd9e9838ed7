#include "replay/simulate/job_pass.h"

#include <algorithm>

namespace stallscope::replay {

JobPass::JobPass(uint32_t workers, uint32_t ahead, bool in_order)
    : ahead_(ahead), in_order_(in_order), workers_(workers) {}

void JobPass::Begin(uint64_t length) {
  length_ = length;
  asked_ = handed_ = turn_ = 0;
  next_ = 0;
  worker_of_.clear();
  arrived_.clear();
  std::fill(workers_.begin(), workers_.end(), Worker{});
}

bool JobPass::AnyActive() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.active; });
}

bool JobPass::MayAsk() const { return asked_ < length_ && AnyActive(); }

uint32_t JobPass::Ask() {
  const auto count = static_cast<uint32_t>(workers_.size());
  for (uint32_t looked = 0; looked < count; ++looked) {
    const Worker& next = workers_[next_];
    if (next.active && (in_order_ || next.holds < ahead_)) break;
    next_ = (next_ + 1) % count;
  }
  const uint32_t worker = next_;
  ++workers_[worker].holds;
  worker_of_.push_back(worker);
  arrived_.push_back(false);
  ++asked_;
  next_ = (next_ + 1) % count;
  return worker;
}

void JobPass::Arrive(uint64_t batch, uint32_t worker) {
  arrived_[batch] = true;
  --workers_[worker].holds;
}

bool JobPass::TakeTurn() {
  if (!in_order_) return false;
  // A worker at the end of its share does not send the batch requested from it.
  while (turn_ < asked_ && !arrived_[turn_] && !workers_[worker_of_[turn_]].active) ++turn_;
  if (turn_ >= asked_ || !arrived_[turn_]) return false;
  ++turn_;
  return true;
}

bool JobPass::Exhausted() const { return !AnyActive() && (!in_order_ || turn_ >= asked_); }

}  // namespace stallscope::replay
