// The streams of the devices in a trace file. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DEVICE_STREAMS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DEVICE_STREAMS_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "analyzer/importers/chrome/event.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {

// What the arguments of device work say.
struct DeviceWork {
  std::string_view device;  // as the event has them; else its pid and tid
  std::string_view stream;
  std::string_view direction;  // of a copy that is called so in no other way: MTIA's
  uint64_t correlation = 0;
  uint64_t bytes = 0;
  uint64_t graph = 0;
};
DeviceWork DeviceWorkOf(const Event& event);

class DeviceStreams {
 public:
  explicit DeviceStreams(RunBuilder& builder) : builder_(builder), tracks_(builder.allowance()) {}

  TrackId Of(const DeviceWork& work);
  const std::set<uint32_t>& devices() const { return devices_; }

 private:
  RunBuilder& builder_;
  TextTable tracks_;
  std::set<uint32_t> devices_;
  std::string key_;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_DEVICE_STREAMS_H_
