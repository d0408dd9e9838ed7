// Random numbers that depend on the seed, a purpose and an element, and on nothing else: not on the
// thread, not on what was drawn before. A value; each use makes its own.
#pragma once

#include <cstdint>

#include "analyzer/base/splitmix.h"
#include "collectors/pipeline/element.h"

namespace stallscope::pipeline {

class Random {
 public:
  Random(uint64_t seed, uint64_t salt, uint64_t a, uint64_t b = 0)
      : state_(SplitMix(SplitMix(SplitMix(seed ^ SplitMix(salt)) ^ a) ^ b)) {}
  Random(uint64_t seed, uint64_t salt, const ElementId& id)
      : Random(seed, salt, (uint64_t{id.file} << 32) | id.epoch, id.record) {}

  uint64_t Next() { return SplitMix(state_ += kSplitMixStep); }
  // In [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  // In [0, bound), bound > 0. Biased by at most bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * bound) >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  uint64_t state_;
};

}  // namespace stallscope::pipeline
