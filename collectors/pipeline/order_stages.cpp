#include "collectors/pipeline/order_stages.h"

#include <algorithm>

#include "collectors/pipeline/random.h"
#include "collectors/recorder/track.h"

namespace stallscope::pipeline {

Result<std::optional<Element>> ConcatenateStage::Next() {
  if (!input_ended_) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto element, input_->Next());
    if (element.has_value()) return element;
    input_ended_ = true;
  }
  return source_->Next();
}

void ConcatenateStage::Restart(uint32_t epoch) {
  input_ended_ = false;
  input_->Restart(epoch);
  source_->Restart(epoch);
}

ZipStage::ZipStage(std::vector<ZipInput> inputs, StageContext& context)
    : inputs_(std::move(inputs)), context_(context) {}

// Only what has ended may be restarted: its readers may be at work.
Status ZipStage::ReadToTheEnd() {
  for (const ZipInput& input : inputs_) {
    for (;;) {
      STALLSCOPE_ASSIGN_OR_RETURN(auto left, input.elements->Next());
      if (!left.has_value()) break;
      context_.Recycle(std::move(*left));
    }
  }
  return {};
}

Result<std::optional<Element>> ZipStage::Next() {
  if (restarts_) {
    if (begun_) STALLSCOPE_RETURN_IF_ERROR(ReadToTheEnd());
    for (const ZipInput& input : inputs_) input.elements->Restart(epoch_);
    restarts_ = ended_ = false;
  }
  if (ended_) return std::optional<Element>();
  begun_ = true;
  std::vector<Element> row;
  const ZipInput* shorter = nullptr;
  for (const ZipInput& input : inputs_) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto element, input.elements->Next());
    if (element.has_value()) {
      row.push_back(std::move(*element));
    } else if (shorter == nullptr) {
      shorter = &input;
    }
  }
  if (shorter == nullptr) return std::optional<Element>(Joined(std::move(row)));
  ended_ = true;
  if (!row.empty()) {
    context_.ledger.Note("'" + shorter->name +
                         "' ended before the sources zipped with it: the rest of their elements "
                         "is left out");
  }
  for (Element& element : row) context_.Recycle(std::move(element));
  return std::optional<Element>();
}

Element ZipStage::Joined(std::vector<Element> row) const {
  recorder::Track* const track = recorder::CurrentTrack();
  Element element = std::move(row.front());
  for (size_t i = 1; i < row.size(); ++i) {
    element.completed = std::max(element.completed, row[i].completed);
    if (track != nullptr) track->Lineage(inputs_[i].stage, row[i].item, element.item);
    element.others.push_back(std::move(row[i]));
  }
  return element;
}

// Not at once: reading to the end may take long, and may fail.
void ZipStage::Restart(uint32_t epoch) {
  epoch_ = epoch;
  restarts_ = true;
}

Result<std::optional<Element>> ShardStage::Next() {
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto element, input_->Next());
    if (!element.has_value() || seen_++ % spec_.count == spec_.index) return element;
    context_.Recycle(std::move(*element));
  }
}

void ShardStage::Restart(uint32_t epoch) {
  seen_ = 0;
  input_->Restart(epoch);
}

Result<std::optional<Element>> FilterStage::Next() {
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto element, input_->Next());
    if (!element.has_value()) return element;
    meter_.Begin(stage_);
    auto keeps = predicate_->Keeps(*element, worker_);
    meter_.End(stage_, element->item, 0);
    if (!keeps.ok()) {
      if (context_.token.cancelled()) return CancelledError();
      Error error = Located(std::move(keeps).error(), *element);
      if (!context_.skip_errors) return error;
      context_.ledger.Skip(error, element->value.bytes());
    } else if (keeps.value()) {
      return element;
    }
    context_.Recycle(std::move(*element));
  }
}

void FilterStage::Restart(uint32_t epoch) {
  predicate_->Restart();
  input_->Restart(epoch);
}

Result<std::optional<Element>> ShuffleStage::Next() {
  recorder::Track* const track = recorder::CurrentTrack();
  while (!ended_ && elements_.size() < static_cast<size_t>(spec_.buffer_size)) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto element, input_->Next());
    if (!element.has_value()) {
      ended_ = true;
      break;
    }
    elements_.push_back(std::move(*element));
    if (track != nullptr) {
      track->Push(buffer_, elements_.back().item, static_cast<uint32_t>(elements_.size()),
                  NowTicks());
    }
  }
  if (elements_.empty()) return std::optional<Element>();
  const uint64_t drawn = Random(context_.seed, salt_, epoch_, draws_++).Below(elements_.size());
  std::swap(elements_[drawn], elements_.back());
  Element element = std::move(elements_.back());
  elements_.pop_back();
  if (track != nullptr) {
    track->Pop(buffer_, element.item, static_cast<uint32_t>(elements_.size()), NowTicks());
  }
  return std::optional<Element>(std::move(element));
}

void ShuffleStage::Restart(uint32_t epoch) {
  epoch_ = epoch;
  draws_ = 0;
  ended_ = false;
  input_->Restart(epoch);
}

Result<std::optional<Element>> BucketByLengthStage::Next() {
  while (going_.empty()) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto element, input_->Next());
    if (!element.has_value()) {
      if (buckets_.empty()) return element;
      going_ = std::move(buckets_.extract(buckets_.begin()).mapped());
      break;
    }
    const data::Shape& shape = element->value.shape();
    const int64_t length = shape.rank() == 0 ? 1 : shape[0];
    const auto bucket = buckets_.try_emplace((length + spec_.width - 1) / spec_.width).first;
    bucket->second.push_back(std::move(*element));
    if (bucket->second.size() >= size_) going_ = std::move(buckets_.extract(bucket).mapped());
  }
  Element element = std::move(going_.front());
  going_.pop_front();
  return std::optional<Element>(std::move(element));
}

Result<std::optional<Element>> RepeatStage::Next() {
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto element, input_->Next());
    if (element.has_value()) {
      any_ = true;
      return element;
    }
    // An empty pass would be followed by others forever.
    if (!any_ || pass_ + 1 == spec_.count) return element;
    ++pass_;
    any_ = false;
    input_->Restart(first_epoch_ + static_cast<uint32_t>(pass_));
  }
}

// The passes of one repeat within another are epochs of their own.
void RepeatStage::Restart(uint32_t epoch) {
  pass_ = 0;
  any_ = false;
  first_epoch_ = epoch * static_cast<uint32_t>(std::max<int64_t>(spec_.count, 1));
  input_->Restart(first_epoch_);
}

}  // namespace stallscope::pipeline
