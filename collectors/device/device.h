// An accelerator: memory of its own, streams that run what is enqueued in order, events between
// them. The trainer sees nothing else of a device, so that what it does is the same on each.
//
//   host      computes on the CPU, one thread per stream
//   emulated  takes the specified time, computes nothing and keeps no memory
//   cuda      a module of its own, loaded on demand
//
// The device owns its memory and must outlive its streams, blocks and graphs; a block must outlive
// the work that uses it. Calls of a device may come from any thread; a stream belongs to one thread
// at a time. Whatever runs is recorded on its stream's track.
//
// An error in enqueued work (a label out of range) makes the device fail: the next call that can
// report it does, and so does every later one; later work does not run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/ids.h"
#include "analyzer/base/result.h"
#include "analyzer/trace/events.h"
#include "collectors/device/launch.h"
#include "collectors/recorder/recorder.h"

namespace stallscope::device {

enum class Kind : uint8_t { kHost, kEmulated, kCuda };
std::string_view Name(Kind kind);  // "host"

// For matrix products, in operations per second; 0: unknown.
struct PeakRates {
  uint64_t fp32 = 0;
  uint64_t tf32 = 0;
  uint64_t narrow = 0;  // float16 and bfloat16
};

struct Capabilities {
  Kind kind = Kind::kHost;
  std::string name;            // an emulated device's says so
  uint64_t memory_bytes = 0;   // total
  bool computes = true;        // false: results are never written, copies move nothing
  bool dense = false;          // bias and activation are free after a product
  bool image_kernels = false;  // it has kRegions and kScaleChannels
  PeakRates peaks;
  std::string driver;  // its version, where it has one
};

class Device;

// Memory of a device; freed with the object.
class Block {
 public:
  Block() = default;
  Block(Device* owner, Address address, size_t bytes)
      : owner_(owner), address_(address), bytes_(bytes) {}
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept;
  ~Block();

  Address address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  Device* owner_ = nullptr;
  Address address_ = 0;
  size_t bytes_ = 0;
};

// A point in a stream's work. Any thread.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool Done() const = 0;
  // Blocks until everything before it is done; returns the error if the device failed.
  virtual Status Wait() = 0;
  // When that was; after Done() or Wait().
  virtual Ticks time() const = 0;
};

// Launches that are enqueued together; made by Stream::EndCapture. Immutable.
class Graph {
 public:
  virtual ~Graph() = default;
  virtual size_t launches() const = 0;
  virtual uint64_t id() const = 0;  // in the trace; never 0
};

struct CopyRequest {
  trace::CopyDirection direction = trace::CopyDirection::kHostToDevice;
  Address device = 0;         // the destination, or the source of kDeviceToHost
  void* host = nullptr;       // only read in kHostToDevice
  Address device_source = 0;  // of kDeviceToDevice
  size_t bytes = 0;
  ItemId batch;
};

class Stream {
 public:
  virtual ~Stream() = default;  // after everything that was enqueued

  // Returns once it is enqueued. Host memory must stay unchanged until the copy is done. A copy
  // from or to pageable memory blocks until it is done.
  virtual Status Copy(const CopyRequest& request) = 0;
  // Blocks while the stream's queue is full.
  virtual Status Run(const Launch& launch, ItemId batch) = 0;
  virtual Status Run(const std::shared_ptr<const Graph>& graph, ItemId batch) = 0;
  virtual Result<std::shared_ptr<Event>> Record() = 0;
  // Work enqueued from now on waits for the event, which may belong to another stream, or to
  // another device of the same kind.
  virtual Status Wait(const std::shared_ptr<Event>& event) = 0;
  virtual Status Synchronize() = 0;

  // Between the two, launches are collected instead of run, and nothing else may be enqueued.
  virtual Status BeginCapture() = 0;
  virtual Result<std::shared_ptr<const Graph>> EndCapture() = 0;

  virtual TrackId track() const = 0;  // in the trace; none where nothing is recorded
};

struct MemoryUse {
  uint64_t used = 0;
  uint64_t peak = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const Capabilities& capabilities() const = 0;

  // On a 64-byte boundary, not zeroed. kRun if there is not enough left.
  virtual Result<Block> Allocate(size_t bytes) = 0;
  virtual MemoryUse memory() const = 0;
  // Host memory that copies need no staging for, on a 64-byte boundary; null if there is none.
  virtual uint8_t* AllocatePinned(size_t bytes) noexcept = 0;
  virtual void FreePinned(uint8_t* block, size_t bytes) noexcept = 0;

  virtual Result<std::unique_ptr<Stream>> NewStream(const std::string& name,
                                                    trace::TrackKind kind) = 0;

 private:
  friend class Block;
  virtual void Free(Address address, size_t bytes) noexcept = 0;
};

// Inline: a module that returns blocks must not pull in MakeDevice() and all backends.
inline Block& Block::operator=(Block&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
inline Block::~Block() {
  if (owner_ != nullptr) owner_->Free(address_, bytes_);
}

// An emulated device's timing. Its link is equally fast in both directions; copies within the
// device take no time, because there is no figure for them.
struct EmulatedTiming {
  double compute_us_per_batch = 0;
  double compute_us_per_sample = 0;
  double gbps_pinned = 12;  // 10^9 bytes per second
  double gbps_pageable = 4;
  double latency_us = 10;
  double launch_us = 0;  // of the host, for a launch or a whole graph
  double op_gbps = 100;  // 10^9 bytes per second that an op of a map reads and writes
};

class DeviceClock;
class PinnedMemory;

struct Options {
  recorder::Recorder* recorder = nullptr;  // null: nothing is recorded
  uint32_t index = 0;                      // which of several, in the trace
  uint64_t memory_bytes = 0;               // 0: the machine's; emulated: no limit
  size_t queue_depth = 1024;               // launches that a stream queues
  std::string emulated_name;               // what it emulates; "emulated: " is prepended
  EmulatedTiming emulated;
  // Shared by the devices of a run: what one pins is pinned for all; null: its own.
  std::shared_ptr<PinnedMemory> pinned;
  DeviceClock* clock = nullptr;  // of an emulated device; null: the machine's
};

// kRun if this machine or build has no such device.
Result<std::unique_ptr<Device>> MakeDevice(Kind kind, const Options& options);

}  // namespace stallscope::device
