#include "collectors/device/cuda/issued_work.h"

#include <utility>

namespace stallscope::device::cuda {

uint64_t IssuedWork::Add(Issued issued) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (work_.size() == most_) {
    work_.pop_front();
    ++first_;
  }
  work_.push_back(std::move(issued));
  return first_ + work_.size() - 1;
}

std::optional<Issued> IssuedWork::Find(uint64_t number) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (number < first_ || number - first_ >= work_.size()) return std::nullopt;
  return work_[number - first_];
}

}  // namespace stallscope::device::cuda
