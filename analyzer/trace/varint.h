// Varints and zigzag, the wire form of every column. Header-only: the hot loop of reading and
// writing. Decoding never reads past the given end.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace stallscope::trace {

constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

// Writes a varint at `to`, where 10 bytes must be free, and returns the position after it.
inline char* PutVarint(char* to, uint64_t value) {
  if (value < 0x80) {
    *to = static_cast<char>(value);
    return to + 1;
  }
  if (value >> 56 == 0) [[likely]] {
    // Spreads the value over eight bytes of seven bits in three steps, without a branch on the
    // length, and stores all eight; those past the varint are overwritten by the next.
    const auto length = static_cast<unsigned>(std::bit_width(value) + 6) / 7;
    uint64_t word = ((value & 0x00fffffff0000000u) << 4) | (value & 0x000000000fffffffu);
    word = ((word & 0x0fffc0000fffc000u) << 2) | (word & 0x00003fff00003fffu);
    word = ((word & 0x3f803f803f803f80u) << 1) | (word & 0x007f007f007f007fu);
    word |= 0x8080808080808080u >> (64 - 8 * (length - 1));
    std::memcpy(to, &word, sizeof word);
    return to + length;
  }
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

// A column being written: grows by doubling, with one check per value.
class ColumnWriter {
 public:
  void Put(uint64_t value) {
    if (end_ - at_ < 10) [[unlikely]] {
      Grow();
    }
    at_ = PutVarint(at_, value);
  }
  void PutZeros(size_t count) {
    for (; count > 0; --count) Put(0);
  }
  size_t size() const { return static_cast<size_t>(at_ - begin_.get()); }
  // Hands over what was written and starts afresh.
  std::string Take() {
    std::string done(begin_.get(), size());
    at_ = begin_.get();
    return done;
  }

 private:
  void Grow() {
    const size_t used = size();
    const size_t capacity = std::max<size_t>(64, 2 * static_cast<size_t>(end_ - begin_.get()));
    std::unique_ptr<char[]> larger(new char[capacity]);
    if (used != 0) std::memcpy(larger.get(), begin_.get(), used);
    begin_ = std::move(larger);
    at_ = begin_.get() + used;
    end_ = begin_.get() + capacity;
  }
  std::unique_ptr<char[]> begin_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

// Walks one column. A column that is truncated or has a varint of more than 64 bits is not ok().
class ColumnReader {
 public:
  explicit ColumnReader(std::string_view column)
      : at_(column.data()), end_(column.data() + column.size()) {}

  uint64_t Next() {
    if (end_ - at_ >= 8) [[likely]] {
      uint64_t word;
      std::memcpy(&word, at_, 8);
      const uint64_t stops = ~word & kStopBits;
      if (stops != 0) [[likely]] {
        // All bits up to and including the first stop bit.
        const uint64_t mask = stops ^ (stops - 1);
        at_ += (std::countr_zero(stops) >> 3) + 1;
        return Compact(word & mask);
      }
    }
    return NextSlow();
  }

  // Calls take(i, value) for the next `count` values, faster than Next() would: it finds the ends
  // of all values in eight bytes at once instead of one after the other.
  template <class Take>
  void ForEach(size_t count, Take&& take) {
    size_t i = 0;
    while (count - i >= 8 && end_ - at_ >= 8) {
      uint64_t word;
      std::memcpy(&word, at_, 8);
      uint64_t stops = ~word & kStopBits;
      if (stops == kStopBits) {
        for (unsigned k = 0; k < 64; k += 8) take(i++, word >> k & 0x7f);
        at_ += 8;
        continue;
      }
      if (stops == 0) {
        take(i++, NextSlow());
        continue;
      }
      unsigned from = 0;
      while (stops != 0) {
        const auto to = static_cast<unsigned>(std::countr_zero(stops)) + 1;
        take(i++, Compact(word >> from & ~uint64_t{0} >> (64 - (to - from))));
        from = to;
        stops &= stops - 1;
      }
      at_ += from / 8;
    }
    for (; i < count; ++i) take(i, Next());
  }

  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == end_; }

 private:
  static constexpr uint64_t kStopBits = 0x8080808080808080u;

  // Pushes the seven payload bits of each byte together in three steps, without a branch on the
  // length.
  static uint64_t Compact(uint64_t word) {
    word &= 0x7f7f7f7f7f7f7f7fu;
    word = ((word & 0x7f007f007f007f00u) >> 1) | (word & 0x007f007f007f007fu);
    word = ((word & 0x3fff00003fff0000u) >> 2) | (word & 0x00003fff00003fffu);
    return ((word & 0x0fffffff00000000u) >> 4) | (word & 0x000000000fffffffu);
  }

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
