#include "analyzer/trace/wire_walk.h"

#include <algorithm>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/varint.h"

namespace stallscope::trace {
namespace {

struct WireField {
  uint64_t number = 0;
  uint64_t value = 0;     // of a varint
  std::string_view body;  // of what has a length
};

// Calls visit for each field until the bytes end or make no sense.
template <class Visit>
void WalkFields(std::string_view bytes, Visit&& visit) {
  size_t at = 0;
  const auto varint = [&](uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes[at++]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  while (at < bytes.size()) {
    uint64_t tag;
    if (!varint(tag)) return;
    WireField field;
    field.number = tag >> 3;
    size_t skip = 0;
    switch (tag & 7) {
      case 0:
        if (!varint(field.value)) return;
        break;
      case 1:
        skip = 8;
        break;
      case 2: {
        uint64_t length;
        if (!varint(length) || length > bytes.size() - at) return;
        field.body = bytes.substr(at, length);
        skip = length;
        break;
      }
      case 5:
        skip = 4;
        break;
      default:
        return;
    }
    if (skip > bytes.size() - at) return;
    at += skip;
    visit(field, (tag & 7) == 2);
  }
}

// The parts of a chunk that hold other messages or repeated strings; columns are not walked into.
bool HoldsParts(uint64_t chunk_field) {
  return (chunk_field >= 2 && chunk_field <= 7) || (chunk_field >= 16 && chunk_field <= 32);
}

size_t CountLengths(std::string_view bytes, int depth) {
  size_t count = 0;
  WalkFields(bytes, [&](const WireField& field, bool has_length) {
    if (!has_length) return;
    ++count;
    const bool inside = depth == 0 ? HoldsParts(field.number) : field.number <= 3;
    if (inside && depth < 2) count += CountLengths(field.body, depth + 1);
  });
  return count;
}

}  // namespace

size_t CountMessages(std::string_view payload) { return CountLengths(payload, 0); }

ChunkCounts CountChunk(std::string_view payload) {
  constexpr uint64_t kSpansField = 9;
  constexpr uint64_t kSpanColumns = 4;
  ChunkCounts counts;
  WalkFields(payload, [&](const WireField& part, bool has_length) {
    if (!has_length) return;
    if (part.number == kSpansField) {
      uint64_t track = 0;
      uint64_t count = 0;
      WalkFields(part.body, [&](const WireField& field, bool) {
        if (field.number == 1) track = field.value;
        if (field.number == 2) count = field.value;
      });
      counts.spans.emplace_back(TrackId{static_cast<uint32_t>(track)},
                                std::min<uint64_t>(count, part.body.size() / kSpanColumns));
    } else if (part.number >= 16 && part.number <= 27) {
      uint64_t count = 0;
      WalkFields(part.body, [&](const WireField& field, bool) {
        if (field.number == 1) count = field.value;
      });
      counts.rows[static_cast<int>(part.number)] += std::min<uint64_t>(count, part.body.size() / 3);
    }
  });
  return counts;
}

}  // namespace stallscope::trace
