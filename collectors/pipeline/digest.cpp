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

// One part of a batch, or of an element.
void AddPart(const Element& part, Words& words) {
  if (part.batch != nullptr) {
    for (const ElementId& id : part.batch->ids) words.Add(id);
    for (const int64_t label : part.batch->labels) words.Add(static_cast<uint64_t>(label));
  } else {
    words.Add(part.id);
    words.Add(static_cast<uint64_t>(part.label));
  }
  words.Add(static_cast<uint64_t>(part.value.dtype()));
  words.Add(part.value.shape().dims());
  words.AddHashOf(part.value.data(), part.value.bytes());
  words.AddHashOf(part.one_hot.data(), part.one_hot.bytes());
}

// One sample of it.
void AddSample(const Element& part, size_t sample, Words& words) {
  const auto samples = static_cast<size_t>(part.samples());
  const size_t bytes = part.value.bytes() / samples;
  const size_t one_hot_bytes = part.one_hot.bytes() / samples;
  words.Add(part.batch != nullptr ? part.batch->ids[sample] : part.id);
  words.Add(static_cast<uint64_t>(part.batch != nullptr ? part.batch->labels[sample] : part.label));
  words.Add(static_cast<uint64_t>(part.value.dtype()));
  words.Add(part.batch != nullptr ? part.value.shape().dims().subspan(1)
                                  : part.value.shape().dims());
  words.AddHashOf(part.value.data() + sample * bytes, bytes);
  words.AddHashOf(part.one_hot.data() + sample * one_hot_bytes, one_hot_bytes);
}

}  // namespace

void Digest::Add(const Element& batch) {
  if (!ordered_) return AddSamples(batch);
  Words words;
  words.Add(low_);
  words.Add(high_);
  words.Add(static_cast<uint64_t>(batch.samples()));
  for (size_t i = 0; i < batch.parts(); ++i) AddPart(batch.part(i), words);
  const XXH128_hash_t hash = words.Hash();
  low_ = hash.low64;
  high_ = hash.high64;
}

void Digest::AddSamples(const Element& batch) {
  for (size_t i = 0; i < static_cast<size_t>(batch.samples()); ++i) {
    Words words;
    for (size_t part = 0; part < batch.parts(); ++part) AddSample(batch.part(part), i, words);
    const XXH128_hash_t hash = words.Hash();
    low_ += hash.low64;
    high_ += hash.high64 + (low_ < hash.low64 ? 1 : 0);
  }
}

std::string Digest::Hex() const { return fmt::format("{:016x}{:016x}", high_, low_); }

}  // namespace stallscope::pipeline
