// Routes CUPTI's records to their tracks, under the names that a trace uses. Knows nothing of
// CUPTI's types, so that it can be tested without CUPTI. The sorter belongs to one thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectors/device/cuda/clock_alignment.h"
#include "collectors/device/device.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device::cuda {

// For a mangled name: our own kernels get the launch's name ("add_bias"), those of libraries the
// demangled name without its arguments.
std::string KernelName(const char* mangled);

// What was enqueued, until its records come: each piece has a number that CUPTI returns beside its
// own. Locks inside.
struct Issued {
  std::shared_ptr<DeviceTrack> track;  // of its stream
  ItemId batch;
  uint64_t graph = 0;
  Ticks enqueued = 0;
  trace::CopyMemory memory = trace::CopyMemory::kUnknown;  // of a copy
};

class IssuedWork {
 public:
  // Beyond `most` the oldest is forgotten, and its records have no batch: memory stays bounded if
  // records never come.
  explicit IssuedWork(size_t most = size_t{1} << 16) : most_(most) {}

  // Its number, which is never 0.
  uint64_t Add(Issued issued);
  std::optional<Issued> Find(uint64_t number) const;

 private:
  const size_t most_;
  mutable std::mutex mutex_;
  uint64_t first_ = 1;  // the number of the front
  std::deque<Issued> work_;
};

// A kernel, copy or memset. Times are the collector's clock, in nanoseconds.
struct DeviceRecord {
  enum class Kind : uint8_t { kKernel, kCopy, kMemset };
  Kind kind = Kind::kKernel;
  uint32_t correlation = 0;
  uint32_t device = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::string name;  // of a kernel
  uint64_t bytes = 0;
  trace::CopyDirection direction = trace::CopyDirection::kHostToDevice;
  trace::CopyMemory memory = trace::CopyMemory::kUnknown;
};

class RecordSorter {
 public:
  // All must outlive it.
  RecordSorter(DeviceTracks& tracks, const IssuedWork& work, const ClockAlignment& clock)
      : tracks_(tracks), work_(work), clock_(clock) {}

  // CUPTI's `correlation` belongs to the work of that number. Before or after its records.
  void Link(uint32_t correlation, uint64_t number);
  void Add(DeviceRecord record);
  // A host thread's call, or anything else that belongs on a track of its own.
  void AddSpan(const std::string& track, uint64_t thread, trace::SpanActivity activity,
               const std::string& name, int64_t start_ns, int64_t end_ns);
  // Writes the records whose work is known. With `all` also the rest, without a batch, to a track
  // of its own.
  void Write(bool all);
  // Records lost since the last call.
  void Lose(uint64_t count);
  uint64_t lost() const { return lost_; }

 private:
  struct Call {
    trace::SpanActivity activity;
    std::string name;
    Ticks start;
    Ticks end;
  };
  struct CallTrack {
    std::unique_ptr<DeviceTrack> track;
    std::vector<Call> waiting;
  };

  const uint64_t* NumberOf(uint32_t correlation) const;
  void WriteRecord(DeviceTrack& track, const DeviceRecord& record, uint64_t number,
                   const Issued& issued);
  DeviceTrack& OtherWork(uint32_t device);
  CallTrack& CallsOf(const std::string& track, uint64_t thread);

  DeviceTracks& tracks_;
  const IssuedWork& work_;
  const ClockAlignment& clock_;
  // Two generations, so that old ones are forgotten: every runtime call has a link.
  std::unordered_map<uint32_t, uint64_t> links_;
  std::unordered_map<uint32_t, uint64_t> older_links_;
  std::vector<DeviceRecord> waiting_;
  std::map<std::pair<std::string, uint64_t>, CallTrack> calls_;
  std::map<uint32_t, std::unique_ptr<DeviceTrack>> other_work_;
  Ticks last_lost_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace stallscope::device::cuda
