// Inside this room: steps through protobuf's wire format.
#ifndef STALLSCOPE_COLLECTORS_DATA_WIRE_H_
#define STALLSCOPE_COLLECTORS_DATA_WIRE_H_

#include <cstdint>
#include <cstring>

#include "collectors/data/buffer.h"

namespace stallscope::data {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;  // of kVarint
  ByteView bytes;       // of the other three
};

class WireWalk {
 public:
  explicit WireWalk(ByteView bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }

  // False where the bytes are damaged, or hold a group: nobody writes them any more.
  bool Next(WireField& field) {
    uint64_t tag;
    if (!Varint(tag) || tag > UINT32_MAX || tag >> 3 == 0) return false;
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    uint64_t length = 0;
    switch (field.type) {
      case WireType::kVarint:
        return Varint(field.varint);
      case WireType::kFixed64:
        length = 8;
        break;
      case WireType::kFixed32:
        length = 4;
        break;
      case WireType::kLength:
        if (!Varint(length)) return false;
        break;
      default:
        return false;
    }
    if (length > rest_.size()) return false;
    field.bytes = rest_.first(static_cast<size_t>(length));
    rest_ = rest_.subspan(static_cast<size_t>(length));
    return true;
  }

  // Ten bytes at most; what does not fit into 64 bits is cut off, as protobuf does it.
  bool Varint(uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < 10 && i < rest_.size(); ++i) {
      value |= static_cast<uint64_t>(rest_[i] & 0x7f) << (7 * i);
      if (rest_[i] < 0x80) {
        rest_ = rest_.subspan(i + 1);
        return true;
      }
    }
    return false;
  }

 private:
  ByteView rest_;
};

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_WIRE_H_
