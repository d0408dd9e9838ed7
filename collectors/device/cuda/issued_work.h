// What was enqueued, until the records of it come: each piece has a number that CUPTI gives back
// beside its own. Locks inside.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_ISSUED_WORK_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_ISSUED_WORK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "collectors/device/device.h"
#include "collectors/device/device_tracks.h"

namespace stallscope::device::cuda {

struct Issued {
  std::shared_ptr<DeviceTrack> track;  // of its stream
  ItemId batch;
  uint64_t graph = 0;
  Ticks enqueued = 0;
  trace::CopyMemory memory = trace::CopyMemory::kUnknown;  // of a copy
};

class IssuedWork {
 public:
  // Of more than `most` the oldest is forgotten, and its records have no batch: memory stays
  // bounded where records never come.
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

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_ISSUED_WORK_H_
