// float16 and bfloat16 by bits, rounded to nearest even: the same bits that a GPU's conversion
// gives, on any CPU. Any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace stallscope {

inline uint16_t ToBfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);  // NaN
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline float FromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t ToFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t rest = bits & 0x7fffffffu;
  if (rest >= 0x47800000u) {  // 65536 and more, infinity, NaN
    return static_cast<uint16_t>(sign | 0x7c00u | (rest > 0x7f800000u ? 0x200u : 0u));
  }
  if (rest < 0x38800000u) {
    // Below 2^-14: adding 0.5 lets the FPU round at the place where the subnormals end.
    const float shifted = std::bit_cast<float>(rest) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  // From here a value that rounds up to 65536 becomes infinity by itself.
  const uint32_t rounded = rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u);
  return static_cast<uint16_t>(sign | rounded >> 13);
}
inline float FromFloat16(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t rest = (half & 0x7fffu) << 13;
  if (rest >= 0x0f800000u) return std::bit_cast<float>(sign | (rest + 0x70000000u));
  // 2^112 puts the exponent right and makes subnormals normal.
  const float scaled = std::bit_cast<float>(rest) * std::bit_cast<float>(0x77800000u);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

}  // namespace stallscope
