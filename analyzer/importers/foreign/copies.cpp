#include "analyzer/importers/foreign/copies.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace stallscope::importers {
namespace {

using trace::CopyDirection;
using trace::CopyMemory;

struct Way {
  std::string_view word;
  CopyDirection direction;
};
constexpr std::array<Way, 14> kWays = {{
    {"HtoD", CopyDirection::kHostToDevice},
    {"H2D", CopyDirection::kHostToDevice},
    {"HostToDevice", CopyDirection::kHostToDevice},
    {"HOST_TO_DEVICE", CopyDirection::kHostToDevice},
    {"DtoH", CopyDirection::kDeviceToHost},
    {"D2H", CopyDirection::kDeviceToHost},
    {"DeviceToHost", CopyDirection::kDeviceToHost},
    {"DEVICE_TO_HOST", CopyDirection::kDeviceToHost},
    {"DtoD", CopyDirection::kDeviceToDevice},
    {"D2D", CopyDirection::kDeviceToDevice},
    {"DeviceToDevice", CopyDirection::kDeviceToDevice},
    {"DEVICE_TO_DEVICE", CopyDirection::kDeviceToDevice},
    {"P2P", CopyDirection::kDeviceToDevice},
    {"PtoP", CopyDirection::kDeviceToDevice},
}};

bool Same(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

bool OnDevice(std::string_view kind) {
  return Same(kind, "device") || Same(kind, "device_static") || Same(kind, "array");
}

// Up to 2024 roctracer named copies differently from everything else.
bool IsCopy(std::string_view event) {
  return event.starts_with("Memcpy") || event.starts_with("memcpy") ||
         event.starts_with("MEMCPY") || event == "CopyHostToDevice" ||
         event == "CopyDeviceToHost" || event == "CopyDeviceToDevice";
}

}  // namespace

std::optional<CopyDirection> NamedDirection(std::string_view name) {
  for (const Way& way : kWays) {
    if (name.find(way.word) != std::string_view::npos) return way.direction;
  }
  return std::nullopt;
}

CopyDetails ReadCopyDetails(std::string_view text) {
  CopyDetails details;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    const size_t colon = word.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, colon);
    const std::string_view value = word.substr(colon + 1);
    if (key == "size") std::from_chars(value.data(), value.data() + value.size(), details.bytes);
    if (key == "kind_src") details.source = value;
    if (key == "kind_dst") details.destination = value;
    // One word for both ends: whichever is the host's.
    if (key == "kind") details.source = details.destination = value;
  }
  return details;
}

std::optional<CopyDirection> DirectionOf(std::string_view event, const CopyDetails& details) {
  if (!IsCopy(event)) return std::nullopt;
  if (const std::optional<CopyDirection> named = NamedDirection(event)) return named;
  const bool from = OnDevice(details.source);
  const bool to = OnDevice(details.destination);
  if (from && !to && !details.destination.empty()) return CopyDirection::kDeviceToHost;
  if (to && !from && !details.source.empty()) return CopyDirection::kHostToDevice;
  return CopyDirection::kDeviceToDevice;
}

CopyMemory MemoryOf(CopyDirection direction, const CopyDetails& details) {
  if (direction == CopyDirection::kDeviceToDevice) return CopyMemory::kUnknown;
  const std::string_view host =
      direction == CopyDirection::kHostToDevice ? details.source : details.destination;
  if (Same(host, "pinned")) return CopyMemory::kPinned;
  if (Same(host, "pageable")) return CopyMemory::kPageable;
  return CopyMemory::kUnknown;
}

}  // namespace stallscope::importers
