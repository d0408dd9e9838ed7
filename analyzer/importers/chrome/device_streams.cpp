#include "analyzer/importers/chrome/device_streams.h"

#include <limits>
#include <utility>

#include "analyzer/importers/chrome/decimal.h"
#include "analyzer/importers/chrome/json_text.h"

namespace stallscope::importers::chrome {
namespace {

uint64_t Number(const Event& event, size_t place) {
  const std::string_view text = event.text->ScalarAt(place).text;
  // Nearly always a few digits.
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || text.size() > 18) return WholeNumber(text).value_or(0);
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

}  // namespace

DeviceWork DeviceWorkOf(const Event& event) {
  DeviceWork work;
  ForEachArgument(event, [&](std::string_view key, size_t place) {
    switch (key.size()) {
      case 4:
        if (key == "size") work.bytes = Number(event, place);
        return;
      case 5:
        if (key == "bytes") work.bytes = Number(event, place);
        return;
      case 6:
        if (key == "device") work.device = event.text->ScalarAt(place).text;
        if (key == "stream") work.stream = event.text->ScalarAt(place).text;
        return;
      case 8:
        if (key == "graph id") work.graph = Number(event, place);
        return;
      case 9:
        if (key == "direction") work.direction = event.text->ScalarAt(place).text;
        return;
      case 11:
        if (key == "correlation") work.correlation = Number(event, place);
        return;
      default:
        return;
    }
  });
  if (work.device.empty()) work.device = event.process;
  if (work.stream.empty()) work.stream = event.thread;
  return work;
}

TrackId DeviceStreams::Of(const DeviceWork& work) {
  key_.assign(CutName(work.device));
  key_ += '\n';
  key_ += CutName(work.stream);
  uint32_t& track = tracks_.At(key_, 0);
  if (track != TextTable::kNew) return TrackId{track};
  const uint64_t device = WholeNumber(work.device).value_or(0);
  trace::TrackInfo info;
  info.kind = trace::TrackKind::kStream;
  info.device =
      static_cast<uint32_t>(std::min<uint64_t>(device, std::numeric_limits<uint32_t>::max()));
  const std::string stream = Unescaped(CutName(work.stream));
  const bool named = stream.rfind("stream", 0) == 0;
  info.name = "device " + std::to_string(info.device) + (named ? " " : " stream ") + stream;
  devices_.insert(info.device);
  const TrackId made = builder_.Track(std::move(info));
  track = made.value;
  return made;
}

}  // namespace stallscope::importers::chrome
