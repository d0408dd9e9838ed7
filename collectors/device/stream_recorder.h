// Writes what a stream did to its track. Inside this room; belongs to whoever runs the stream.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_STREAM_RECORDER_H_
#define STALLSCOPE_COLLECTORS_DEVICE_STREAM_RECORDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "collectors/device/device.h"

namespace stallscope::device {

// When something was enqueued, and when it ran.
struct Times {
  Ticks enqueued = 0;
  Ticks start = 0;
  Ticks end = 0;
};

class StreamRecorder {
 public:
  // A null recorder records nothing.
  StreamRecorder(recorder::Recorder* recorder, const std::string& name, trace::TrackKind kind,
                 uint32_t device);

  void Copy(const CopyRequest& request, trace::CopyMemory memory, uint64_t correlation,
            const Times& times);
  // `graph`: 0 where it was launched by itself.
  void Kernel(std::string_view name, ItemId batch, uint64_t correlation, uint64_t graph,
              const Times& times);
  TrackId track() const { return track_ ? track_->id() : TrackId::None(); }

 private:
  recorder::Recorder* recorder_;
  std::shared_ptr<recorder::Track> track_;
  std::map<std::string, trace::StringId, std::less<>> names_;
};

}  // namespace stallscope::device

#endif  // STALLSCOPE_COLLECTORS_DEVICE_STREAM_RECORDER_H_
