#include "collectors/pipeline/file_stream.h"

#include <utility>

#include "collectors/data/byte_source.h"
#include "collectors/recorder/track.h"

namespace stallscope::pipeline {

Status FileStream::Judge(Error error, uint64_t bytes) {
  StageContext& context = *shared_.context;
  if (context.token.cancelled()) return CancelledError();
  Error run_error = data::AsRunError(std::move(error));
  if (!context.skip_errors) return run_error;
  context.ledger.Skip(run_error, bytes);
  return {};
}

Result<bool> FileStream::Read(Element& element) {
  if (reader_ == nullptr) {
    STALLSCOPE_ASSIGN_OR_RETURN(reader_, OpenReader(shared_, file_));
    recorder::Recorder* const recorder = shared_.context->recorder;
    if (recorder != nullptr) path_ = recorder->DefineString(*shared_.files.paths[file_]);
  }
  return reader_->Next(element);
}

Result<std::optional<Element>> FileStream::Next() {
  StageContext& context = *shared_.context;
  while (!ended_) {
    if (context.token.cancelled()) return CancelledError();
    Element element;
    meter_.Begin(stage_);
    auto read = Read(element);
    if (!read.ok()) {
      const uint64_t lost = reader_ == nullptr ? 0 : reader_->lost_bytes();
      ended_ = reader_ == nullptr || !reader_->can_continue();
      STALLSCOPE_RETURN_IF_ERROR(
          Judge(std::move(read).error(), lost - std::exchange(lost_bytes_, lost)));
      context.Recycle(std::move(element));
      continue;
    }
    if (!read.value()) break;
    element.item = context.NewItem();
    element.id.file = shared_.first_file + static_cast<uint32_t>(file_);
    element.id.epoch = epoch_;
    element.file = shared_.files.paths[file_];
    element.completed = NowTicks();
    context.source_elements.fetch_add(1, std::memory_order_relaxed);
    if (recorder::Track* track = recorder::CurrentTrack(); track != nullptr) {
      meter_.End(stage_, element.item, element.value.bytes());
      track->Element({.item = element.item,
                      .record = element.id.record,
                      .offset = element.offset,
                      .bytes = element.value.bytes(),
                      .file = path_,
                      .epoch = epoch_});
    }
    return std::optional<Element>(std::move(element));
  }
  ended_ = true;
  reader_.reset();
  return std::optional<Element>();
}

}  // namespace stallscope::pipeline
