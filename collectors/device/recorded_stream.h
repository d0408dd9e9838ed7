// What the streams of both backends of this room share: their track of the recorder, and captures.
// Belongs to whoever runs the stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectors/device/device.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device {

// Writes what a stream did to its track.
class StreamRecorder final : public DeviceTrack {
 public:
  // A null recorder records nothing.
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
  // Not inline: the CUDA module must not get the recorder with it (CMakeLists.txt).
  std::unique_ptr<DeviceTrack> New(const trace::TrackInfo& info) override;
  void Warn(const std::string& warning) override;
  void Limit(const std::string& limit) override;

 private:
  recorder::Recorder& recorder_;
};

// A graph is the list of its launches.
class LaunchGraph : public Graph {
 public:
  explicit LaunchGraph(std::vector<Launch> launches)
      : launches_(std::move(launches)), id_(next_id_.fetch_add(1) + 1) {}
  size_t launches() const override { return launches_.size(); }
  uint64_t id() const override { return id_; }
  const std::vector<Launch>& list() const { return launches_; }

 private:
  inline static std::atomic<uint64_t> next_id_{0};
  const std::vector<Launch> launches_;
  const uint64_t id_;
};

class RecordedStream : public Stream {
 public:
  Status BeginCapture() override;
  Result<std::shared_ptr<const Graph>> EndCapture() override;
  TrackId track() const override { return recorder_.track(); }

 protected:
  RecordedStream(const Options& options, const std::string& name, trace::TrackKind kind);

  StreamRecorder recorder_;
  bool capturing_ = false;
  std::vector<Launch> captured_;
};

}  // namespace stallscope::device
