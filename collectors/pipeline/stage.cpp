#include "collectors/pipeline/stage.h"

#include <algorithm>

#include "analyzer/base/thread.h"

namespace stallscope::pipeline {

void Ledger::Skip(const Error& error, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (skipped_++ == 0) first_ = error.Line();
  skipped_bytes_ += bytes;
}

void Ledger::Note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

uint64_t Ledger::skipped() const {
  const std::lock_guard lock(mutex_);
  return skipped_;
}

uint64_t Ledger::skipped_bytes() const {
  const std::lock_guard lock(mutex_);
  return skipped_bytes_;
}

std::string Ledger::first_skipped() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

std::vector<std::string> Ledger::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

void StageContext::Recycle(Element&& element) noexcept {
  (element.batch != nullptr ? *batches : elements).Give(std::move(element.value));
  elements.Give(std::move(element.one_hot));
  for (Element& other : element.others) Recycle(std::move(other));
}

void StageContext::Fail(Error error, const std::string& who) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_.has_value()) {
      failure_ = std::move(error);
      // Perhaps there is no memory for the name.
      static_cast<void>(Guarded([&]() -> Status {
        if (failure_->where.empty()) failure_->where = who;
        return {};
      }));
    }
  }
  token.Cancel();
}

std::optional<Error> StageContext::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace stallscope::pipeline
