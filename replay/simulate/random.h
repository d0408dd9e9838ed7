// Random numbers that are the same everywhere: integers only. One thread at a time.
#ifndef STALLSCOPE_REPLAY_SIMULATE_RANDOM_H_
#define STALLSCOPE_REPLAY_SIMULATE_RANDOM_H_

#include <cstdint>

namespace stallscope::replay {

// SplitMix64: one addition and a mix, and every seed is a good one.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 to bound - 1; bound is at most 2^32. Not quite even for bounds near that, which costs of at
  // most some 10^5 items never are.
  uint64_t Below(uint64_t bound) { return ((Next() >> 32) * bound) >> 32; }
  // 0 to 1, without 1.
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

}  // namespace stallscope::replay

#endif  // STALLSCOPE_REPLAY_SIMULATE_RANDOM_H_
