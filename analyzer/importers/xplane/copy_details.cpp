#include "analyzer/importers/xplane/copy_details.h"

#include <algorithm>
#include <charconv>

namespace stallscope::importers::xplane {
namespace {

using trace::CopyDirection;
using trace::CopyMemory;

bool Same(std::string_view text, std::string_view word) {
  return text.size() == word.size() &&
         std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
         });
}

bool OnDevice(std::string_view kind) {
  return Same(kind, "device") || Same(kind, "device_static") || Same(kind, "array");
}

}  // namespace

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
  // As roctracer named them, up to TensorFlow's and JAX's of 2024.
  if (event == "CopyHostToDevice") return CopyDirection::kHostToDevice;
  if (event == "CopyDeviceToHost") return CopyDirection::kDeviceToHost;
  if (event == "CopyDeviceToDevice") return CopyDirection::kDeviceToDevice;
  if (!event.starts_with("Memcpy") && !event.starts_with("memcpy")) return std::nullopt;
  const std::string_view way = event.substr(6);
  if (way.starts_with("H2D")) return CopyDirection::kHostToDevice;
  if (way.starts_with("D2H")) return CopyDirection::kDeviceToHost;
  if (way.starts_with("D2D") || way.starts_with("P2P")) return CopyDirection::kDeviceToDevice;
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

}  // namespace stallscope::importers::xplane
