// Device tracks that keep what is written to them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectors/device/device.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::test {

struct KeptRow {
  std::string track;
  std::string what;
  ItemId batch;
  uint64_t correlation;
  uint64_t graph;
  device::Times times;
};

// One thread at a time.
class KeptTracks : public device::DeviceTracks {
 public:
  std::unique_ptr<device::DeviceTrack> New(const trace::TrackInfo& info) override {
    infos.push_back(info);
    return std::make_unique<Track>(*this, info.name);
  }
  void Warn(const std::string& warning) override { warnings.push_back(warning); }
  void Limit(const std::string& limit) override { limits.push_back(limit); }

  std::vector<trace::TrackInfo> infos;
  std::vector<KeptRow> rows;
  std::vector<std::string> warnings;
  std::vector<std::string> limits;
  uint64_t lost = 0;

 private:
  class Track : public device::DeviceTrack {
   public:
    Track(KeptTracks& kept, std::string name) : kept_(kept), name_(std::move(name)) {}
    void Copy(const device::CopyRequest& request, trace::CopyMemory memory, uint64_t correlation,
              const device::Times& times) override {
      const bool pinned = memory == trace::CopyMemory::kPinned;
      kept_.rows.push_back({name_, "copy " + std::to_string(request.bytes) + (pinned ? " p" : ""),
                            request.batch, correlation, 0, times});
    }
    void Kernel(std::string_view name, ItemId batch, uint64_t correlation, uint64_t graph,
                const device::Times& times) override {
      kept_.rows.push_back({name_, std::string(name), batch, correlation, graph, times});
    }
    void Span(trace::SpanActivity activity, std::string_view name, Ticks start,
              Ticks end) override {
      kept_.rows.push_back({name_,
                            std::to_string(static_cast<int>(activity)) + " " + std::string(name),
                            ItemId::None(),
                            0,
                            0,
                            {0, start, end}});
    }
    void Lost(uint64_t count, Ticks, Ticks) override { kept_.lost += count; }
    TrackId track() const override { return TrackId::None(); }

   private:
    KeptTracks& kept_;
    const std::string name_;
  };
};

}  // namespace stallscope::test
