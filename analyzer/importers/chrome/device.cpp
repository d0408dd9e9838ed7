#include "analyzer/importers/chrome/device.h"

#include <algorithm>
#include <limits>

#include "analyzer/importers/chrome/json.h"
#include "analyzer/importers/foreign/copies.h"

namespace stallscope::importers::chrome {
namespace {

uint64_t NumberAt(const Event& event, size_t place) {
  const std::string_view text = event.text->ScalarAt(place).text;
  // Nearly always a few digits.
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || text.size() > 18) return WholeNumber(text).value_or(0);
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

// The host's memory, of "Memcpy HtoD (Pageable -> Device)".
trace::CopyMemory MemoryIn(std::string_view name) {
  if (name.find("Pinned") != std::string_view::npos) return trace::CopyMemory::kPinned;
  if (name.find("Pageable") != std::string_view::npos) return trace::CopyMemory::kPageable;
  return trace::CopyMemory::kUnknown;
}

}  // namespace

DeviceRows::Work DeviceRows::WorkOf(const Event& event) {
  Work work;
  // By the length first: this is the hot path, and most arguments are of no interest.
  ForEachArgument(event, [&](std::string_view key, size_t place) {
    switch (key.size()) {
      case 4:
        if (key == "size") work.bytes = NumberAt(event, place);
        return;
      case 5:
        if (key == "bytes") work.bytes = NumberAt(event, place);
        return;
      case 6:
        if (key == "device") work.device = event.text->ScalarAt(place).text;
        if (key == "stream") work.stream = event.text->ScalarAt(place).text;
        return;
      case 7:
        if (key == "details") work.details = event.text->ScalarAt(place).text;
        return;
      case 8:
        if (key == "graph id") work.graph = NumberAt(event, place);
        return;
      case 9:
        if (key == "direction") work.direction = event.text->ScalarAt(place).text;
        return;
      case 11:
        if (key == "correlation") work.correlation = NumberAt(event, place);
        return;
      case 14:
        if (key == "memcpy_details") work.details = event.text->ScalarAt(place).text;
        return;
      default:
        return;
    }
  });
  if (work.device.empty()) work.device = event.process;
  if (work.stream.empty()) work.stream = event.thread;
  return work;
}

TrackId DeviceRows::StreamOf(const Work& work) {
  key_.assign(CutName(work.device));
  key_ += '\n';
  key_ += CutName(work.stream);
  uint32_t& track = tracks_.At(key_, 0);
  if (track != TextTable::kNew) return TrackId{track};
  const auto device = static_cast<uint32_t>(std::min<uint64_t>(
      WholeNumber(work.device).value_or(0), std::numeric_limits<uint32_t>::max()));
  const std::string stream = Unescaped(CutName(work.stream));
  devices_.insert(device);
  const char* const what = stream.starts_with("stream") ? " " : " stream ";
  const TrackId made =
      builder_.StreamTrack("device " + std::to_string(device) + what + stream, device);
  track = made.value;
  return made;
}

trace::StringId DeviceRows::TextOf(std::string_view name) {
  uint32_t& id = texts_.At(name, 0);
  if (id == TextTable::kNew) id = builder_.Intern(Unescaped(name)).value;
  return trace::StringId{id};
}

void DeviceRows::AddKernel(const Event& event, const Work& work, int64_t start_ns, int64_t end_ns) {
  auto kernel = DeviceRow<trace::Kernel>(StreamOf(work), work.correlation, start_ns, end_ns);
  kernel.graph = work.graph;
  kernel.name = TextOf(event.name);
  builder_.Add(kernel);
}

void DeviceRows::AddMemset(const Event& event, const Work& work, int64_t start_ns, int64_t end_ns) {
  const uint16_t span_class = builder_.Detail(trace::SpanActivity::kMemset, TextOf(event.name));
  builder_.AddSpan(StreamOf(work), span_class, start_ns, end_ns);
}

void DeviceRows::Add(const Event& event, DeviceKind kind, int64_t start_ns, int64_t end_ns) {
  any_ = true;
  const Work work = WorkOf(event);
  if (kind == DeviceKind::kMemset) return AddMemset(event, work, start_ns, end_ns);
  if (kind == DeviceKind::kKernel && work.direction.empty()) {
    return AddKernel(event, work, start_ns, end_ns);
  }
  const std::string_view name = work.direction.empty() ? event.name : work.direction;
  auto copy = DeviceRow<trace::Copy>(StreamOf(work), work.correlation, start_ns, end_ns);
  copy.bytes = work.bytes;
  copy.direction = NamedDirection(name).value_or(trace::CopyDirection::kDeviceToDevice);
  copy.memory = MemoryIn(name);
  builder_.Add(copy);
}

void DeviceRows::AddNamed(const Event& event, uint32_t device, std::string_view stream,
                          int64_t start_ns, int64_t end_ns) {
  any_ = true;
  const std::string number = std::to_string(device);
  Work work = WorkOf(event);
  work.device = number;
  work.stream = stream;
  const CopyDetails details = ReadCopyDetails(work.details);
  const auto direction = DirectionOf(event.name, details);
  if (!direction) {
    const bool memset = event.name.starts_with("Memset") || event.name.starts_with("MEMSET");
    return memset ? AddMemset(event, work, start_ns, end_ns)
                  : AddKernel(event, work, start_ns, end_ns);
  }
  auto copy = DeviceRow<trace::Copy>(StreamOf(work), work.correlation, start_ns, end_ns);
  copy.bytes = details.bytes;
  copy.direction = *direction;
  copy.memory = MemoryOf(*direction, details);
  builder_.Add(copy);
}

void DeviceRows::AddCall(const Event& event, int64_t start_ns) {
  const uint64_t correlation = WorkOf(event).correlation;
  if (correlation == 0) return;
  builder_.allowance().Charge(Launches::kCallBytes);
  launches_.Add(correlation, start_ns);
}

void DeviceRows::JoinLaunches() {
  launches_.Close();
  const auto join = [&](auto& row) {
    if (row.correlation == 0) return;
    // A call that claims to begin after the work did not launch it.
    const int64_t start_ns = launches_.StartOf(row.correlation);
    if (start_ns <= row.start_ns) row.enqueued_ns = start_ns;
  };
  for (trace::Kernel& kernel : builder_.kernels()) join(kernel);
  for (trace::Copy& copy : builder_.copies()) join(copy);
}

}  // namespace stallscope::importers::chrome
