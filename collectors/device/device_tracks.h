// Where a backend in a module of its own records what ran: the program's recorder behind an
// interface, because a module must not bring a second recorder.
//
// Tracks may be made by any thread; a track belongs to one thread at a time, like those of the
// recorder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "analyzer/base/clock.h"
#include "analyzer/base/ids.h"
#include "analyzer/trace/events.h"

namespace stallscope::device {

struct CopyRequest;

// When something was enqueued, and when it ran.
struct Times {
  Ticks enqueued = 0;
  Ticks start = 0;
  Ticks end = 0;
};

class DeviceTrack {
 public:
  virtual ~DeviceTrack() = default;
  virtual void Copy(const CopyRequest& request, trace::CopyMemory memory, uint64_t correlation,
                    const Times& times) = 0;
  // `graph`: 0 if it was launched by itself.
  virtual void Kernel(std::string_view name, ItemId batch, uint64_t correlation, uint64_t graph,
                      const Times& times) = 0;
  // Anything else with a name: a memset, a driver call.
  virtual void Span(trace::SpanActivity activity, std::string_view name, Ticks start,
                    Ticks end) = 0;
  // `count` records that never arrived.
  virtual void Lost(uint64_t count, Ticks from, Ticks to) = 0;
  virtual TrackId track() const = 0;
};

class DeviceTracks {
 public:
  virtual ~DeviceTracks() = default;
  virtual std::unique_ptr<DeviceTrack> New(const trace::TrackInfo& info) = 0;
  // For the report's trust line: what the user should know, and what the trace cannot show.
  virtual void Warn(const std::string& warning) = 0;
  virtual void Limit(const std::string& limit) = 0;
};

}  // namespace stallscope::device
