// Walks the fields of one protobuf message in memory, without a schema and without copying.
//
// The library's own parser would build an object for each of tens of millions of events and stats,
// most of which are not needed. Never reads past the message; a message that is truncated or not a
// message is not ok(). Header-only because it is hot. One thread at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace stallscope::importers::xplane {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Reads a varint at `at`. Null if it is truncated or longer than ten bytes.
inline const char* ReadVarint(const char* at, const char* end, uint64_t& value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    result |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      value = result;
      return at;
    }
  }
  return nullptr;
}

class WireReader {
 public:
  explicit WireReader(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  // False at the end, and if the rest is not a message.
  bool Next() {
    if (at_ == end_) return false;
    uint64_t tag = 0;
    const char* at = Varint(at_, tag);
    if (at == nullptr || tag >> 3 == 0 || tag >> 32 != 0) return Fail();
    field_ = static_cast<uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        type_ = WireType::kVarint;
        at = Varint(at, number_);
        break;
      case 1:
        type_ = WireType::kFixed64;
        at = Fixed<uint64_t>(at);
        break;
      case 2: {
        type_ = WireType::kBytes;
        uint64_t length = 0;
        at = Varint(at, length);
        if (at == nullptr || length > static_cast<uint64_t>(end_ - at)) return Fail();
        bytes_ = {at, static_cast<size_t>(length)};
        at += length;
        break;
      }
      case 5:
        type_ = WireType::kFixed32;
        at = Fixed<uint32_t>(at);
        break;
      default:  // groups, which are obsolete
        return Fail();
    }
    if (at == nullptr) return Fail();
    at_ = at;
    return true;
  }

  bool ok() const { return ok_; }
  uint32_t field() const { return field_; }
  WireType type() const { return type_; }
  // The field that Next() reached. If its type is not the requested one: 0 or nothing, as if it
  // were absent.
  uint64_t Number() const { return type_ == WireType::kBytes ? 0 : number_; }
  int64_t Signed() const { return static_cast<int64_t>(Number()); }
  std::string_view Bytes() const { return type_ == WireType::kBytes ? bytes_ : std::string_view(); }

 private:
  const char* Varint(const char* at, uint64_t& value) const {
    if (at < end_ && static_cast<unsigned char>(*at) < 0x80) [[likely]] {
      value = static_cast<unsigned char>(*at);
      return at + 1;
    }
    return ReadVarint(at, end_, value);
  }
  template <class Word>
  const char* Fixed(const char* at) {
    if (end_ - at < static_cast<std::ptrdiff_t>(sizeof(Word))) return nullptr;
    Word word;
    std::memcpy(&word, at, sizeof word);
    number_ = word;
    return at + sizeof word;
  }
  bool Fail() {
    ok_ = false;
    at_ = end_;
    return false;
  }

  const char* at_;
  const char* end_;
  uint64_t number_ = 0;
  std::string_view bytes_;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool ok_ = true;
};

}  // namespace stallscope::importers::xplane
