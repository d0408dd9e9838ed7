// SplitMix64: random numbers that are the same on every machine, from an addition and a mix. Every
// seed is a good one. The distributions of <random> differ between libraries, so callers derive
// theirs from these bits. A value type: each use has its own.
#pragma once

#include <cstdint>

namespace stallscope {

inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15u;

// The number that follows the state `x`: also a hash of it.
constexpr uint64_t SplitMix(uint64_t x) {
  x += kSplitMixStep;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class SplitMix64 {
 public:
  explicit constexpr SplitMix64(uint64_t seed) : state_(seed) {}

  constexpr uint64_t Next() {
    const uint64_t number = SplitMix(state_);
    state_ += kSplitMixStep;
    return number;
  }
  // 0 to bound - 1; bound is at most 2^32. Uneven by less than bound / 2^32.
  constexpr uint64_t Below(uint64_t bound) { return ((Next() >> 32) * bound) >> 32; }
  // 0 to 1, without 1.
  constexpr double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

}  // namespace stallscope
