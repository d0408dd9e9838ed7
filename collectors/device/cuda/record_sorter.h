// Brings CUPTI's records to the tracks where they belong. Knows nothing of CUPTI's types, so that
// it is tested without. One thread at a time.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_RECORD_SORTER_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_RECORD_SORTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectors/device/cuda/clock_alignment.h"
#include "collectors/device/cuda/issued_work.h"
#include "collectors/device/device.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device::cuda {

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

  // What CUPTI calls `correlation` belongs to the work of that number. Before or after its records.
  void Link(uint32_t correlation, uint64_t number);
  void Add(DeviceRecord record);
  // A call that a host thread made, or anything else that belongs on a track of its own.
  void AddSpan(const std::string& track, uint64_t thread, trace::SpanActivity activity,
               const std::string& name, int64_t start_ns, int64_t end_ns);
  // Writes the records whose work is known. With `all` also the rest, which then has no batch and a
  // track of its own.
  void Write(bool all);
  // Records that were lost on their way, since the last call of this.
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
  // Two generations, so that what is old is forgotten: every call of the runtime has a link.
  std::unordered_map<uint32_t, uint64_t> links_;
  std::unordered_map<uint32_t, uint64_t> older_links_;
  std::vector<DeviceRecord> waiting_;
  std::map<std::pair<std::string, uint64_t>, CallTrack> calls_;
  std::map<uint32_t, std::unique_ptr<DeviceTrack>> other_work_;
  Ticks last_lost_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_RECORD_SORTER_H_
