#include "analyzer/importers/chrome/device_rows.h"

#include <string>

#include "analyzer/importers/chrome/json_text.h"

namespace stallscope::importers::chrome {
namespace {}  // namespace

trace::StringId DeviceRows::TextOf(std::string_view name) {
  uint32_t& id = texts_.At(name, 0);
  if (id == TextTable::kNew) id = builder_.Intern(Unescaped(name)).value;
  return trace::StringId{id};
}

void DeviceRows::AddKernel(const Event& event, const DeviceWork& work, int64_t start_ns,
                           int64_t end_ns) {
  trace::Kernel kernel;
  kernel.start_ns = start_ns;
  kernel.end_ns = end_ns;
  kernel.correlation = work.correlation;
  kernel.graph = work.graph;
  kernel.track = streams_.Of(work);
  kernel.name = TextOf(event.name);
  builder_.Add(kernel);
}

void DeviceRows::AddMemset(const Event& event, const DeviceWork& work, int64_t start_ns,
                           int64_t end_ns) {
  const uint16_t span_class = builder_.Detail(trace::SpanActivity::kMemset, TextOf(event.name));
  builder_.AddSpan(streams_.Of(work), span_class, start_ns, end_ns);
}

void DeviceRows::Add(const Event& event, Kind kind, int64_t start_ns, int64_t end_ns) {
  any_ = true;
  const DeviceWork work = DeviceWorkOf(event);
  if (kind == Kind::kMemset) return AddMemset(event, work, start_ns, end_ns);
  if (kind == Kind::kKernel && work.direction.empty()) {
    return AddKernel(event, work, start_ns, end_ns);
  }
  const CopyKind what = CopyKindOf(work.direction.empty() ? event.name : work.direction);
  trace::Copy copy;
  copy.start_ns = start_ns;
  copy.end_ns = end_ns;
  copy.correlation = work.correlation;
  copy.bytes = work.bytes;
  copy.track = streams_.Of(work);
  copy.direction = what.direction;
  copy.memory = what.memory;
  builder_.Add(copy);
}

void DeviceRows::AddNamed(const Event& event, uint32_t device, std::string_view stream,
                          int64_t start_ns, int64_t end_ns) {
  any_ = true;
  const std::string number = std::to_string(device);
  DeviceWork work = DeviceWorkOf(event);
  work.device = number;
  work.stream = stream;
  if (event.name.starts_with("Memset") || event.name.starts_with("MEMSET")) {
    return AddMemset(event, work, start_ns, end_ns);
  }
  if (!event.name.starts_with("MEMCPY") && !event.name.starts_with("Memcpy")) {
    return AddKernel(event, work, start_ns, end_ns);
  }
  trace::Copy copy;
  copy.start_ns = start_ns;
  copy.end_ns = end_ns;
  copy.correlation = work.correlation;
  copy.track = streams_.Of(work);
  copy.direction = CopyKindOf(event.name).direction;
  ForEachArgument(event, [&](std::string_view key, size_t place) {
    if (key == "memcpy_details" || key == "details") {
      TakeCopyDetails(event.text->ScalarAt(place).text, copy);
    }
  });
  builder_.Add(copy);
}

void DeviceRows::AddCall(const Event& event, int64_t start_ns) {
  const uint64_t correlation = DeviceWorkOf(event).correlation;
  if (correlation == 0) return;
  builder_.allowance().Charge(Launches::kCallBytes);
  launches_.Add(correlation, start_ns);
}

void DeviceRows::JoinLaunches() {
  launches_.Close();
  const auto join = [&](auto& row) {
    if (row.correlation != 0) row.enqueued_ns = launches_.StartOf(row.correlation, row.start_ns);
  };
  for (trace::Kernel& kernel : builder_.kernels()) join(kernel);
  for (trace::Copy& copy : builder_.copies()) join(copy);
}

}  // namespace stallscope::importers::chrome
