#include "collectors/pipeline/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <span>
#include <vector>

namespace stallscope::pipeline {
namespace {

// Collects what is hashed as words, so that no padding of a struct is.
class Words {
 public:
  void Add(uint64_t word) { words_.push_back(word); }
  void Add(const ElementId& id) {
    Add(id.file);
    Add(id.record);
    Add(id.epoch);
  }
  void Add(std::span<const int64_t> dims) {
    Add(dims.size());
    for (const int64_t dim : dims) Add(static_cast<uint64_t>(dim));
  }
  void AddHashOf(const uint8_t* bytes, size_t size) {
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    Add(hash.low64);
    Add(hash.high64);
  }
  XXH128_hash_t Hash() const { return XXH3_128bits(words_.data(), words_.size() * 8); }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace

void Digest::Add(const Element& batch) {
  if (!ordered_) return AddSamples(batch);
  Words words;
  words.Add(low_);
  words.Add(high_);
  words.Add(static_cast<uint64_t>(batch.samples()));
  if (batch.batch != nullptr) {
    for (const ElementId& id : batch.batch->ids) words.Add(id);
    for (const int64_t label : batch.batch->labels) words.Add(static_cast<uint64_t>(label));
  } else {
    words.Add(batch.id);
    words.Add(static_cast<uint64_t>(batch.label));
  }
  words.Add(static_cast<uint64_t>(batch.value.dtype()));
  words.Add(batch.value.shape().dims());
  words.AddHashOf(batch.value.data(), batch.value.bytes());
  words.AddHashOf(batch.one_hot.data(), batch.one_hot.bytes());
  const XXH128_hash_t hash = words.Hash();
  low_ = hash.low64;
  high_ = hash.high64;
}

void Digest::AddSamples(const Element& batch) {
  const auto samples = static_cast<size_t>(batch.samples());
  const size_t bytes = batch.value.bytes() / samples;
  const size_t one_hot_bytes = batch.one_hot.bytes() / samples;
  for (size_t i = 0; i < samples; ++i) {
    Words words;
    words.Add(batch.batch != nullptr ? batch.batch->ids[i] : batch.id);
    words.Add(static_cast<uint64_t>(batch.batch != nullptr ? batch.batch->labels[i] : batch.label));
    words.Add(static_cast<uint64_t>(batch.value.dtype()));
    words.Add(batch.batch != nullptr ? batch.value.shape().dims().subspan(1)
                                     : batch.value.shape().dims());
    words.AddHashOf(batch.value.data() + i * bytes, bytes);
    words.AddHashOf(batch.one_hot.data() + i * one_hot_bytes, one_hot_bytes);
    const XXH128_hash_t hash = words.Hash();
    low_ += hash.low64;
    high_ += hash.high64 + (low_ < hash.low64 ? 1 : 0);
  }
}

std::string Digest::Hex() const { return fmt::format("{:016x}{:016x}", high_, low_); }

}  // namespace stallscope::pipeline
