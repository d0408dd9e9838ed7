// Random numbers that are the same on every machine and in every run: a failure can be repeated.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/base/splitmix.h"

namespace stallscope::test {

class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}

  uint64_t Next() { return bits_.Next(); }
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // Every length from 0 to `bits` bits is as likely as any other: small and huge numbers alike.
  uint64_t OfAnyLength(unsigned bits = 64) {
    const uint64_t length = Below(bits + 1);
    return length == 0 ? 0 : Next() >> (64 - length);
  }
  std::string Bytes(size_t count) {
    std::string bytes(count, '\0');
    for (char& byte : bytes) byte = static_cast<char>(Next());
    return bytes;
  }

 private:
  SplitMix64 bits_;
};

}  // namespace stallscope::test
