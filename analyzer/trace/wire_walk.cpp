#include "analyzer/trace/wire_walk.h"

#include <algorithm>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/table_codec.h"
#include "analyzer/trace/varint.h"

namespace stallscope::trace {
namespace {

struct WireField {
  uint64_t number = 0;
  uint64_t value = 0;     // of a varint
  std::string_view body;  // of what has a length
};

// A varint as protobuf reads it: at most `max_bytes` long. False where there is none.
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

// Calls visit(field, has_length) for each field. False where the bytes break off or hold what we
// never write; what came before has been visited.
template <class Visit>
bool WalkFields(std::string_view bytes, Visit&& visit) {
  while (!bytes.empty()) {
    uint64_t tag;
    if (!ReadVarint(bytes, 5, tag)) return false;
    WireField field;
    field.number = static_cast<uint32_t>(tag) >> 3;  // protobuf drops the bits past 32 as well
    if (field.number == 0) return false;
    size_t length = 0;
    switch (tag & 7) {
      case 0:
        if (!ReadVarint(bytes, 10, field.value)) return false;
        break;
      case 1:
        length = 8;
        break;
      case 2: {
        uint64_t declared;
        if (!ReadVarint(bytes, 5, declared) || declared > bytes.size()) return false;
        length = static_cast<size_t>(declared);
        field.body = bytes.substr(0, length);
        break;
      }
      case 5:
        length = 4;
        break;
      default:
        return false;
    }
    if (length > bytes.size()) return false;
    bytes.remove_prefix(length);
    visit(field, (tag & 7) == 2);
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
  const bool whole = WalkFields(bytes, [&](const WireField& field, bool has_length) {
    if (!has_length) return;
    ++count;
    const Part inside = PartOf(part, field.number);
    if (inside != Part::kNoMessage) good = CountParts(field.body, inside, count) && good;
  });
  return whole && good;
}

// How many columns the table has: a row takes a byte in each.
size_t ColumnsOf(uint64_t table) {
  static const EventRows rows;
  size_t columns = 1;
  ForEachTable(rows, [&]<class Row>(int number, const std::vector<Row>&) {
    if (static_cast<uint64_t>(number) == table) columns = kColumnCount<Row>;
  });
  return columns;
}

}  // namespace

std::optional<size_t> CountMessages(std::string_view payload) {
  size_t count = 0;
  if (!CountParts(payload, Part::kChunk, count)) return std::nullopt;
  return count;
}

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
      counts.rows[static_cast<int>(part.number)] +=
          std::min<uint64_t>(count, part.body.size() / ColumnsOf(part.number));
    }
  });
  return counts;
}

}  // namespace stallscope::trace
