#include "collectors/device/narrow_float.h"

#include <algorithm>
#include <cstring>

namespace stallscope::device {
namespace {

template <class Value, class Convert>
void Spread(const void* from, int64_t count, float* to, Convert&& convert) {
  const auto* values = static_cast<const Value*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = convert(values[i]);
}

template <class Value, class Convert>
void Pack(const float* from, int64_t count, void* to, Convert&& convert) {
  auto* values = static_cast<Value*>(to);
  for (int64_t i = 0; i < count; ++i) values[i] = convert(from[i]);
}

}  // namespace

void ToFloats(Type type, const void* from, int64_t count, float* to) {
  switch (type) {
    case Type::kUint8:
      return Spread<uint8_t>(from, count, to, [](uint8_t v) { return static_cast<float>(v); });
    case Type::kInt32:
      return Spread<int32_t>(from, count, to, [](int32_t v) { return static_cast<float>(v); });
    case Type::kFloat16:
      return Spread<uint16_t>(from, count, to, FromFloat16);
    case Type::kBfloat16:
      return Spread<uint16_t>(from, count, to, FromBfloat16);
    case Type::kFloat32:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
}

void FromFloats(Type type, const float* from, int64_t count, void* to) {
  switch (type) {
    case Type::kUint8:
      return Pack<uint8_t>(from, count, to, [](float v) {
        return static_cast<uint8_t>(std::clamp(v, 0.0f, 255.0f) + 0.5f);
      });
    case Type::kInt32:
      return Pack<int32_t>(from, count, to, [](float v) { return static_cast<int32_t>(v); });
    case Type::kFloat16:
      return Pack<uint16_t>(from, count, to, ToFloat16);
    case Type::kBfloat16:
      return Pack<uint16_t>(from, count, to, ToBfloat16);
    case Type::kFloat32:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
}

void Round(Type type, float* values, int64_t count) {
  if (type == Type::kFloat16) {
    for (int64_t i = 0; i < count; ++i) values[i] = FromFloat16(ToFloat16(values[i]));
  } else if (type == Type::kBfloat16) {
    for (int64_t i = 0; i < count; ++i) values[i] = FromBfloat16(ToBfloat16(values[i]));
  }
}

}  // namespace stallscope::device
