#include "collectors/data/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace stallscope::data {

uint16_t HalfFromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  uint32_t half = 0;
  if (magnitude >= 0x7f800000) {
    half = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;  // not a number, infinity
  } else if (magnitude >= 0x38800000) {
    // Normal: the exponent's bias goes from 127 to 15, and what rounds up past the last finite
    // value becomes infinity by itself.
    const uint32_t rounded = magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1);
    half = std::min<uint32_t>(rounded >> 13, 0x7c00);
  } else {
    // Subnormal: adding 0.5 leaves the value in the last bits of the sum, rounded by the hardware.
    const float sum = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.5F);
  }
  return static_cast<uint16_t>(sign | half);
}

float FloatFromHalf(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000U} << 16;
  const uint32_t magnitude = half & 0x7fffU;
  uint32_t bits = 0;
  if (magnitude >= 0x7c00) {
    bits = 0x7f800000 | (magnitude & 0x3ff) << 13;
  } else if (magnitude >= 0x400) {
    bits = (magnitude << 13) + 0x38000000;
  } else {
    bits = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24F);
  }
  return std::bit_cast<float>(sign | bits);
}

uint16_t BfloatFromFloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float FloatFromBfloat(uint16_t bfloat) { return std::bit_cast<float>(uint32_t{bfloat} << 16); }

namespace {

struct Uint8Type {
  using Stored = uint8_t;
  static float Load(uint8_t value) { return value; }
  static uint8_t Store(float value) {
    // A comparison with what is not a number is false: that becomes 0.
    return value > 0 ? static_cast<uint8_t>(std::min(std::nearbyint(value), 255.0F)) : uint8_t{0};
  }
};
struct HalfType {
  using Stored = uint16_t;
  static float Load(uint16_t value) { return FloatFromHalf(value); }
  static uint16_t Store(float value) { return HalfFromFloat(value); }
};
struct BfloatType {
  using Stored = uint16_t;
  static float Load(uint16_t value) { return FloatFromBfloat(value); }
  static uint16_t Store(float value) { return BfloatFromFloat(value); }
};
struct FloatType {
  using Stored = float;
  static float Load(float value) { return value; }
  static float Store(float value) { return value; }
};

// What can only be read: no op or link has a use for writing it.
template <class Value>
struct WideType {
  using Stored = Value;
  static float Load(Value value) { return static_cast<float>(value); }
};

template <class From, class To>
void Loop(const uint8_t* from, uint8_t* to, int64_t count) {
  const auto* source = reinterpret_cast<const typename From::Stored*>(from);
  auto* target = reinterpret_cast<typename To::Stored*>(to);
  for (int64_t i = 0; i < count; ++i) target[i] = To::Store(From::Load(source[i]));
}

// Calls visit with the type that stands for the dtype.
template <class Visit>
bool WithTarget(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kUint8:
      visit(Uint8Type());
      return true;
    case DType::kFloat16:
      visit(HalfType());
      return true;
    case DType::kBfloat16:
      visit(BfloatType());
      return true;
    case DType::kFloat32:
      visit(FloatType());
      return true;
    case DType::kInt32:
    case DType::kInt64:
    case DType::kFloat64:
      return false;
  }
  return false;
}

template <class Visit>
bool WithSource(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kInt32:
      visit(WideType<int32_t>());
      return true;
    case DType::kInt64:
      visit(WideType<int64_t>());
      return true;
    case DType::kFloat64:
      visit(WideType<double>());
      return true;
    default:
      return WithTarget(dtype, visit);
  }
}

}  // namespace

bool ConvertValues(DType from_dtype, const uint8_t* from, DType to_dtype, uint8_t* to,
                   int64_t count) {
  if (from_dtype == to_dtype) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * SizeOf(from_dtype));
    return true;
  }
  bool known = false;
  WithSource(from_dtype, [&](auto source) {
    known = WithTarget(
        to_dtype, [&](auto target) { Loop<decltype(source), decltype(target)>(from, to, count); });
  });
  return known;
}

Status Convert(const Tensor& from, DType dtype, Tensor& into) {
  if (!into.TryReset(dtype, from.shape())) {
    return Error{ErrorKind::kRun, "no memory for the converted values", "", ""};
  }
  if (!ConvertValues(from.dtype(), from.data(), dtype, into.data(), from.shape().Elements())) {
    return Error{ErrorKind::kRun,
                 fmt::format("{} cannot be cast to {}", Name(from.dtype()), Name(dtype)), "",
                 "to uint8, float16, bfloat16 and float32 it can"};
  }
  return {};
}

}  // namespace stallscope::data
