// What a trainer got, as one number: equal digests mean equal data in equal order.
//
// XXH3-128, chained over the batches where order is kept. Where it is not, the sum of the samples'
// hashes modulo 2^128, which no order changes. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "collectors/pipeline/element.h"

namespace stallscope::pipeline {

class Digest {
 public:
  explicit Digest(bool ordered) : ordered_(ordered) {}

  void Add(const Element& batch);
  std::string Hex() const;  // 32 digits

 private:
  void AddSamples(const Element& batch);

  const bool ordered_;
  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

}  // namespace stallscope::pipeline
