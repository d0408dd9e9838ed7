// Kineto, PyTorch's profiler, in every dialect since 2021: what its events are by their categories,
// which of them are steps, fetches of a batch and compilations, and what the file says beside its
// events of devices, ranks and the clock. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/chrome/device.h"
#include "analyzer/importers/chrome/document.h"
#include "analyzer/importers/chrome/lanes.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {

enum class Kind : uint8_t {
  kOther,       // no category of PyTorch's
  kOperator,    // Operator, cpu_op
  kRuntime,     // Runtime, cuda_runtime, cuda_driver, hip_runtime, ...
  kFunction,    // python_function
  kAnnotation,  // user_annotation
  kDeviceNote,  // mirrors the host's annotations and waits on a stream: nothing runs
  kKernel,
  kCopy,
  kMemset,
  kProfiler  // the profiler about itself
};

Kind KindOf(std::string_view category);
trace::SpanActivity ActivityOf(Kind kind);

// An event that means more than that it was there, by its name and kind.
enum class Special : uint8_t { kNone, kStep, kLoader, kCompile };
Special SpecialOf(std::string_view name, Kind kind);

// What MTIA's streams wait for and signal among their work: nothing runs meanwhile.
bool IsStreamEvent(std::string_view kernel);

class Kineto {
 public:
  Kineto(RunBuilder& builder, Lanes& lanes) : builder_(builder), lanes_(lanes) {}

  // The members beside the events that are worth reading.
  static bool WantsMember(std::string_view key);
  void OnMember(std::string_view key, std::string_view value);

  void SawEvent() { seen_ = true; }
  void OnSpecial(const Event& event, Special special, uint32_t lane, int64_t start_ns,
                 int64_t end_ns);

  // Whether the file is PyTorch's.
  bool seen() const { return seen_; }
  // Adds the totals to the run, and gives the steps.
  std::vector<StepMark> Finish();
  // What the file says of the run and its devices; members may be any profiler's.
  void Describe(const DeviceRows& device);
  void AddLimits();

 private:
  struct DeviceProperties {
    std::string name;
    uint64_t memory_bytes = 0;
  };
  bool TakeDevices(std::string_view json);
  bool TakeRanks(std::string_view json);

  RunBuilder& builder_;
  Lanes& lanes_;
  std::vector<Occurrence> compilations_;  // of torch.compile
  std::vector<StepMark> marks_;
  std::string schema_version_;
  std::string driver_;
  std::optional<int64_t> base_time_ns_;  // what the events' times count from, since the epoch
  std::map<uint32_t, DeviceProperties> devices_;
  bool seen_ = false;
  bool loader_in_processes_ = false;
};

}  // namespace stallscope::importers::chrome
