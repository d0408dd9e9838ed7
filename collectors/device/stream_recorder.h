// Writes what a stream did to its track of the recorder. Inside this room; belongs to whoever runs
// the stream.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_STREAM_RECORDER_H_
#define STALLSCOPE_COLLECTORS_DEVICE_STREAM_RECORDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "collectors/device/device.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device {

class StreamRecorder final : public DeviceTrack {
 public:
  // A null recorder records nothing.
  StreamRecorder(recorder::Recorder* recorder, const std::string& name, trace::TrackKind kind,
                 uint32_t device);
  StreamRecorder(recorder::Recorder* recorder, const trace::TrackInfo& info);

  void Copy(const CopyRequest& request, trace::CopyMemory memory, uint64_t correlation,
            const Times& times) override;
  void Kernel(std::string_view name, ItemId batch, uint64_t correlation, uint64_t graph,
              const Times& times) override;
  void Span(trace::SpanActivity activity, std::string_view name, Ticks start, Ticks end) override;
  void Lost(uint64_t count, Ticks from, Ticks to) override;
  TrackId track() const override { return track_ ? track_->id() : TrackId::None(); }

 private:
  trace::StringId NameOf(std::string_view name);

  recorder::Recorder* recorder_;
  std::shared_ptr<recorder::Track> track_;
  std::map<std::string, trace::StringId, std::less<>> names_;
};

// Tracks of a recorder, which must outlive it and them.
class RecordedTracks final : public DeviceTracks {
 public:
  explicit RecordedTracks(recorder::Recorder& recorder) : recorder_(recorder) {}
  std::unique_ptr<DeviceTrack> New(const trace::TrackInfo& info) override {
    return std::make_unique<StreamRecorder>(&recorder_, info);
  }
  void Warn(const std::string& warning) override;
  void Limit(const std::string& limit) override;

 private:
  recorder::Recorder& recorder_;
};

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_STREAM_RECORDER_H_
