#include "collectors/pipeline/stage.h"

#include <algorithm>

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

void StageContext::Recycle(Element&& element) {
  (element.batch != nullptr ? *batches : elements).Give(std::move(element.value));
  elements.Give(std::move(element.one_hot));
}

}  // namespace stallscope::pipeline
