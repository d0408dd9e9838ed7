#include "collectors/device/recorded_stream.h"

#include <algorithm>
#include <vector>

namespace stallscope::device {
namespace {

trace::TrackInfo InfoOf(const std::string& name, trace::TrackKind kind, uint32_t device) {
  trace::TrackInfo info;
  info.name = name;
  info.kind = kind;
  info.device = device;
  return info;
}

// Several devices of a run may report the same line.
void AddOnce(std::vector<std::string>& lines, const std::string& line) {
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
}

}  // namespace

StreamRecorder::StreamRecorder(recorder::Recorder* recorder, const trace::TrackInfo& info)
    : recorder_(recorder) {
  if (recorder != nullptr) track_ = recorder->NewTrack(info);
}

trace::StringId StreamRecorder::NameOf(std::string_view name) {
  auto known = names_.find(name);
  if (known == names_.end()) {
    known = names_.emplace(std::string(name), recorder_->DefineString(name)).first;
  }
  return known->second;
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
  trace::Kernel row;
  row.enqueued_ns = static_cast<int64_t>(times.enqueued);
  row.start_ns = static_cast<int64_t>(times.start);
  row.end_ns = static_cast<int64_t>(times.end);
  row.batch = batch;
  row.correlation = correlation;
  row.graph = graph;
  row.name = NameOf(name);
  track_->Kernel(row);
}

void StreamRecorder::Span(trace::SpanActivity activity, std::string_view name, Ticks start,
                          Ticks end) {
  if (track_ != nullptr) track_->Named(activity, NameOf(name), start, end);
}

void StreamRecorder::Lost(uint64_t count, Ticks from, Ticks to) {
  if (track_ != nullptr) track_->Lost(count, from, to);
}

std::unique_ptr<DeviceTrack> RecordedTracks::New(const trace::TrackInfo& info) {
  return std::make_unique<StreamRecorder>(&recorder_, info);
}

void RecordedTracks::Warn(const std::string& warning) {
  recorder_.UpdateRun([&](trace::RunInfo& run) { AddOnce(run.warnings, warning); });
}

void RecordedTracks::Limit(const std::string& limit) {
  recorder_.UpdateRun([&](trace::RunInfo& run) { AddOnce(run.limits, limit); });
}

RecordedStream::RecordedStream(const Options& options, const std::string& name,
                               trace::TrackKind kind)
    : recorder_(options.recorder, InfoOf(name, kind, options.index)) {}

Status RecordedStream::BeginCapture() {
  if (capturing_) return CaptureError("a capture inside a capture");
  capturing_ = true;
  return {};
}

Result<std::shared_ptr<const Graph>> RecordedStream::EndCapture() {
  if (!capturing_) return CaptureError("the end of a capture that was not begun");
  capturing_ = false;
  return std::shared_ptr<const Graph>(std::make_shared<LaunchGraph>(std::exchange(captured_, {})));
}

}  // namespace stallscope::device
