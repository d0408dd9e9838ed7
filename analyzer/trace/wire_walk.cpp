#include "analyzer/trace/wire_walk.h"

#include <algorithm>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/table_codec.h"
#include "analyzer/trace/varint.h"

namespace stallscope::trace {
namespace {

struct WireField {
  uint64_t number = 0;
  uint64_t type = 0;
  uint64_t value = 0;     // of kVarint
  std::string_view body;  // of kLength
};
constexpr uint64_t kVarint = 0;
constexpr uint64_t kFixed64 = 1;
constexpr uint64_t kLength = 2;
constexpr uint64_t kFixed32 = 5;

// A varint as protobuf reads it: at most `max_bytes` long. False if there is none.
bool ReadVarint(std::string_view& bytes, unsigned max_bytes, uint64_t& value) {
  value = 0;
  for (unsigned i = 0; i < max_bytes && i < bytes.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// Calls visit(field) for each field. False if the bytes are truncated or contain what we never
// write; the fields before that have been visited.
template <class Visit>
bool WalkFields(std::string_view bytes, Visit&& visit) {
  while (!bytes.empty()) {
    uint64_t tag;
    if (!ReadVarint(bytes, 5, tag)) return false;
    WireField field;
    field.number = static_cast<uint32_t>(tag) >> 3;  // protobuf drops the bits past 32 as well
    field.type = tag & 7;
    if (field.number == 0) return false;
    size_t length = 0;
    switch (field.type) {
      case kVarint:
        if (!ReadVarint(bytes, 10, field.value)) return false;
        break;
      case kFixed64:
        length = 8;
        break;
      case kLength: {
        uint64_t declared;
        if (!ReadVarint(bytes, 5, declared) || declared > bytes.size()) return false;
        length = static_cast<size_t>(declared);
        field.body = bytes.substr(0, length);
        break;
      }
      case kFixed32:
        length = 4;
        break;
      default:
        return false;
    }
    if (length > bytes.size()) return false;
    bytes.remove_prefix(length);
    visit(field);
  }
  return true;
}

// The messages of trace.proto that hold others, and those that do not.
enum class Part { kChunk, kDefinitions, kRun, kSeal, kLeaf, kNoMessage };

Part PartOf(Part holder, uint64_t number) {
  switch (holder) {
    case Part::kChunk:
      if (number == 7) return Part::kDefinitions;
      if (number == 32) return Part::kSeal;
      return number <= 9 || (number >= 16 && number <= 27) ? Part::kLeaf : Part::kNoMessage;
    case Part::kDefinitions:
      if (number == 1) return Part::kRun;
      return number <= 5 ? Part::kLeaf : Part::kNoMessage;
    case Part::kRun:
      return number == 9 || number == 10 ? Part::kLeaf : Part::kNoMessage;
    case Part::kSeal:
      return number == 2 ? Part::kLeaf : Part::kNoMessage;
    case Part::kLeaf:
    case Part::kNoMessage:
      break;
  }
  return Part::kNoMessage;
}

bool CountParts(std::string_view bytes, Part part, size_t& count) {
  bool good = true;
  const bool whole = WalkFields(bytes, [&](const WireField& field) {
    if (field.type != kLength) return;
    ++count;
    const Part inside = PartOf(part, field.number);
    if (inside != Part::kNoMessage) good = CountParts(field.body, inside, count) && good;
  });
  return whole && good;
}

// How many columns the table has: a row takes at least a byte in each.
size_t ColumnsOf(uint64_t table) {
  static const EventRows rows;
  size_t columns = 1;
  ForEachTable(rows, [&]<class Row>(int number, const std::vector<Row>&) {
    if (static_cast<uint64_t>(number) == table) columns = kColumnCount<Row>;
  });
  return columns;
}

// The number in this field of the message; 0 if there is none.
uint64_t NumberIn(std::string_view message, uint64_t number) {
  uint64_t value = 0;
  WalkFields(message, [&](const WireField& field) {
    if (field.number == number && field.type == kVarint) value = field.value;
  });
  return value;
}

}  // namespace

std::optional<size_t> CountMessages(std::string_view payload) {
  size_t count = 0;
  if (!CountParts(payload, Part::kChunk, count)) return std::nullopt;
  return count;
}

ChunkCounts CountChunk(std::string_view payload) {
  constexpr uint64_t kSpans = 9;
  constexpr uint64_t kSpanColumns = 4;  // that each span has a byte in
  ChunkCounts counts;
  WalkFields(payload, [&](const WireField& part) {
    if (part.type != kLength) return;
    const uint64_t size = part.body.size();
    if (part.number == kSpans) {
      const TrackId track{static_cast<uint32_t>(NumberIn(part.body, 1))};
      counts.spans.emplace_back(track, std::min(NumberIn(part.body, 2), size / kSpanColumns));
    } else if (part.number >= 16 && part.number <= 27) {
      counts.rows[static_cast<int>(part.number)] +=
          std::min(NumberIn(part.body, 1), size / ColumnsOf(part.number));
    }
  });
  return counts;
}

}  // namespace stallscope::trace
