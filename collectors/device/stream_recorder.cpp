#include "collectors/device/stream_recorder.h"

namespace stallscope::device {

StreamRecorder::StreamRecorder(recorder::Recorder* recorder, const std::string& name,
                               trace::TrackKind kind, uint32_t device)
    : recorder_(recorder) {
  if (recorder == nullptr) return;
  trace::TrackInfo info;
  info.name = name;
  info.kind = kind;
  info.device = device;
  track_ = recorder->NewTrack(info);
}

void StreamRecorder::Copy(const CopyRequest& request, trace::CopyMemory memory,
                          uint64_t correlation, const Times& times) {
  if (track_ == nullptr) return;
  trace::Copy row;
  row.enqueued_ns = static_cast<int64_t>(times.enqueued);
  row.start_ns = static_cast<int64_t>(times.start);
  row.end_ns = static_cast<int64_t>(times.end);
  row.batch = request.batch;
  row.bytes = request.bytes;
  row.correlation = correlation;
  row.direction = request.direction;
  row.memory = memory;
  track_->Copy(row);
}

void StreamRecorder::Kernel(std::string_view name, ItemId batch, uint64_t correlation,
                            uint64_t graph, const Times& times) {
  if (track_ == nullptr) return;
  auto known = names_.find(name);
  if (known == names_.end()) {
    known = names_.emplace(std::string(name), recorder_->DefineString(name)).first;
  }
  trace::Kernel row;
  row.enqueued_ns = static_cast<int64_t>(times.enqueued);
  row.start_ns = static_cast<int64_t>(times.start);
  row.end_ns = static_cast<int64_t>(times.end);
  row.batch = batch;
  row.correlation = correlation;
  row.graph = graph;
  row.name = known->second;
  track_->Kernel(row);
}

}  // namespace stallscope::device
