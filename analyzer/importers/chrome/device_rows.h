// Makes rows of what the devices in a trace file did: kernels and copies with the calls that
// launched them, and spans of memsets. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DEVICE_ROWS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DEVICE_ROWS_H_

#include <cstdint>
#include <set>
#include <string_view>

#include "analyzer/importers/chrome/device_streams.h"
#include "analyzer/importers/chrome/event.h"
#include "analyzer/importers/chrome/kind.h"
#include "analyzer/importers/chrome/launches.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {

class DeviceRows {
 public:
  explicit DeviceRows(RunBuilder& builder)
      : builder_(builder), streams_(builder), texts_(builder.allowance()) {}

  // Work of PyTorch's: `kind` is kKernel, kCopy or kMemset.
  void Add(const Event& event, Kind kind, int64_t start_ns, int64_t end_ns);
  // Work of TensorFlow's on a stream; which it is the event's name says.
  void AddNamed(const Event& event, uint32_t device, std::string_view stream, int64_t start_ns,
                int64_t end_ns);
  // A call, which may have launched some of it.
  void AddCall(const Event& event, int64_t start_ns);
  // Finds for each row when it was launched. Call once, when all are added.
  void JoinLaunches();

  bool any() const { return any_; }
  const std::set<uint32_t>& devices() const { return streams_.devices(); }

 private:
  void AddKernel(const Event& event, const DeviceWork& work, int64_t start_ns, int64_t end_ns);
  void AddMemset(const Event& event, const DeviceWork& work, int64_t start_ns, int64_t end_ns);
  trace::StringId TextOf(std::string_view name);

  RunBuilder& builder_;
  DeviceStreams streams_;
  Launches launches_;
  TextTable texts_;
  bool any_ = false;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DEVICE_ROWS_H_
