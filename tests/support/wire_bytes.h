// Payloads put together by hand, byte by byte: what our own writer would never write.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "analyzer/trace/varint.h"

namespace stallscope::test {

inline std::string Varint(uint64_t value) {
  std::string bytes;
  trace::AppendVarint(bytes, value);
  return bytes;
}

// A column of these values.
inline std::string Varints(std::initializer_list<uint64_t> values) {
  std::string bytes;
  for (uint64_t value : values) trace::AppendVarint(bytes, value);
  return bytes;
}

// A protobuf field with a number, and one with a length.
inline std::string NumberField(uint64_t field, uint64_t value) {
  return Varint(field << 3) + Varint(value);
}
inline std::string BytesField(uint64_t field, std::string_view body) {
  return Varint(field << 3 | 2) + Varint(body.size()) + std::string(body);
}

inline std::string Repeat(std::string_view piece, size_t times) {
  std::string all;
  all.reserve(piece.size() * times);
  for (size_t i = 0; i < times; ++i) all += piece;
  return all;
}

}  // namespace stallscope::test
