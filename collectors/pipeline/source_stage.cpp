#include "collectors/pipeline/source_stage.h"

#include <cstring>
#include <utility>

namespace stallscope::pipeline {

Status PayForElement(const SourceSpec& spec, StageContext& context) {
  if (spec.busy_us > 0) {
    const int64_t end = ThreadCpuNs() + static_cast<int64_t>(spec.busy_us * 1000);
    while (ThreadCpuNs() < end) {
      if (context.token.cancelled()) return CancelledError();
    }
  }
  if (spec.sleep_us > 0 && !context.token.SleepFor(static_cast<int64_t>(spec.sleep_us * 1000))) {
    return CancelledError();
  }
  return {};
}

InlineSource::InlineSource(std::shared_ptr<const ReaderShared> shared, SourceOptions options)
    : shared_(std::move(shared)), options_(std::move(options)) {
  Restart(0);
}

void InlineSource::Restart(uint32_t epoch) {
  epoch_ = epoch;
  next_file_ = 0;
  turn_ = 0;
  taken_ = 0;
  cycle_.clear();
  cycle_.resize(
      std::min(static_cast<size_t>(shared_->spec.cycle_length.value), shared_->files.paths.size()));
  for (auto& stream : cycle_) {
    stream = std::make_unique<FileStream>(*shared_, options_.stage, next_file_++, epoch_);
  }
}

Result<std::optional<Element>> InlineSource::Next() {
  size_t idle = 0;  // places in a row that had nothing
  while (idle < cycle_.size()) {
    auto& stream = cycle_[turn_];
    if (stream != nullptr && taken_ < shared_->spec.block_length) {
      STALLSCOPE_ASSIGN_OR_RETURN(auto element, stream->Next());
      if (element.has_value()) {
        ++taken_;
        STALLSCOPE_RETURN_IF_ERROR(PayForElement(shared_->spec, *shared_->context));
        return element;
      }
      stream.reset();
      if (next_file_ < shared_->files.paths.size()) {
        stream = std::make_unique<FileStream>(*shared_, options_.stage, next_file_++, epoch_);
        idle = 0;
      }
    }
    idle = stream == nullptr ? idle + 1 : 0;
    turn_ = (turn_ + 1) % cycle_.size();
    taken_ = 0;
  }
  return std::optional<Element>();
}

Result<std::optional<Element>> CountingSource::Next() {
  if (next_ == elements_) return std::optional<Element>();
  if (context_.token.cancelled()) return CancelledError();
  Element element;
  element.item = context_.NewItem();
  element.id = {0, epoch_, next_++};
  element.label = static_cast<int64_t>(element.id.record % 10);
  context_.source_elements.fetch_add(1, std::memory_order_relaxed);
  return std::optional<Element>(std::move(element));
}

void CountingSource::Restart(uint32_t epoch) {
  epoch_ = epoch;
  next_ = 0;
}

Result<std::optional<Element>> SyntheticRunner::Run(std::vector<Element>& job,
                                                    RunnerWorker& worker) const {
  Element element = std::move(job.front());
  if (worker.meters.empty()) worker.meters.resize(1);
  worker.meters[0].Begin();
  STALLSCOPE_RETURN_IF_ERROR(PayForElement(spec_, context_));
  STALLSCOPE_ASSIGN_OR_RETURN(element.value,
                              worker.ops.NewTensor(data::DType::kUint8, {spec_.bytes}));
  if (element.value.bytes() > 0) {
    std::memset(element.value.data(), static_cast<int>(element.id.record & 0xff),
                element.value.bytes());
  }
  element.completed = NowTicks();
  if (recorder::Track* track = recorder::CurrentTrack(); track != nullptr) {
    worker.meters[0].End(stage_, element.item, element.value.bytes());
    track->Element({.item = element.item,
                    .record = element.id.record,
                    .bytes = element.value.bytes(),
                    .epoch = element.id.epoch});
  }
  return std::optional<Element>(std::move(element));
}

}  // namespace stallscope::pipeline
