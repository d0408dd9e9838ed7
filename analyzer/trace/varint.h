// Varints and zigzag, the wire form of every column. Header-only: this is the hot loop of reading
// and writing. Decoding never reads past the end it is given.
#ifndef STALLSCOPE_ANALYZER_TRACE_VARINT_H_
#define STALLSCOPE_ANALYZER_TRACE_VARINT_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace stallscope::trace {

constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Writes at most 10 bytes at `to` and returns the place behind them.
inline char* PutVarint(char* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

inline void AppendVarint(std::string& column, uint64_t value) {
  if (value < 0x80) {
    column.push_back(static_cast<char>(value));
    return;
  }
  char buffer[10];
  column.append(buffer, static_cast<size_t>(PutVarint(buffer, value) - buffer));
}

// Walks one column. A column that is cut off or holds a varint of more than 64 bits is not ok().
class ColumnReader {
 public:
  explicit ColumnReader(std::string_view column)
      : at_(column.data()), end_(column.data() + column.size()) {}

  uint64_t Next() {
    if (end_ - at_ >= 8) [[likely]] {
      uint64_t word;
      std::memcpy(&word, at_, 8);
      const uint64_t stops = ~word & 0x8080808080808080u;
      if (stops != 0) [[likely]] {
        // All bits up to and including the first stop bit; the seven payload bits of each byte are
        // then pushed together in three steps, without a branch on the length.
        const uint64_t mask = stops ^ (stops - 1);
        at_ += (std::countr_zero(stops) >> 3) + 1;
        word &= mask & 0x7f7f7f7f7f7f7f7fu;
        word = ((word & 0x7f007f007f007f00u) >> 1) | (word & 0x007f007f007f007fu);
        word = ((word & 0x3fff00003fff0000u) >> 2) | (word & 0x00003fff00003fffu);
        return ((word & 0x0fffffff00000000u) >> 4) | (word & 0x000000000fffffffu);
      }
    }
    return NextSlow();
  }

  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == end_; }

 private:
  uint64_t NextSlow() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at_ == end_) break;
      const uint64_t byte = static_cast<uint8_t>(*at_++);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    at_ = end_;
    return 0;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace stallscope::trace

#endif  // STALLSCOPE_ANALYZER_TRACE_VARINT_H_
