// What the devices in a trace file did: kernels and copies with the calls that launched them, and
// spans of memsets, on the devices' streams. One thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/importers/chrome/document.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/launches.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {

enum class DeviceKind : uint8_t { kKernel, kCopy, kMemset };

class DeviceRows {
 public:
  explicit DeviceRows(RunBuilder& builder)
      : builder_(builder), tracks_(builder.allowance()), texts_(builder.allowance()) {}

  // Work of PyTorch's; the event's category says which.
  void Add(const Event& event, DeviceKind kind, int64_t start_ns, int64_t end_ns);
  // Work of TensorFlow's on a stream; the event's name says which.
  void AddNamed(const Event& event, uint32_t device, std::string_view stream, int64_t start_ns,
                int64_t end_ns);
  // A call, which may have launched some of it.
  void AddCall(const Event& event, int64_t start_ns);
  // Finds when each row was launched. Call once, after adding everything.
  void JoinLaunches();

  bool any() const { return any_; }
  const std::set<uint32_t>& devices() const { return devices_; }

 private:
  // What the arguments of device work say.
  struct Work {
    std::string_view device;  // as the event has them; else its pid and tid
    std::string_view stream;
    std::string_view direction;  // of a copy that only this identifies: MTIA's
    std::string_view details;    // of a copy of TensorFlow's
    uint64_t correlation = 0;
    uint64_t bytes = 0;
    uint64_t graph = 0;
  };
  static Work WorkOf(const Event& event);
  void AddKernel(const Event& event, const Work& work, int64_t start_ns, int64_t end_ns);
  void AddMemset(const Event& event, const Work& work, int64_t start_ns, int64_t end_ns);
  TrackId StreamOf(const Work& work);
  trace::StringId TextOf(std::string_view name);

  RunBuilder& builder_;
  TextTable tracks_;
  TextTable texts_;
  std::set<uint32_t> devices_;
  Launches launches_;
  std::string key_;
  bool any_ = false;
};

}  // namespace stallscope::importers::chrome
