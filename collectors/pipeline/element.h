// One sample on its way through the pipeline, or a batch of them.
//
// Both are one type, so that a stage that only holds elements and passes them on (prefetch,
// shuffle, cache, repeat) need not know which it has. An element owns its bytes and is moved from
// stage to stage; whoever has it may change it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/base/ids.h"
#include "collectors/data/tensor.h"

namespace stallscope::pipeline {

// What an element is across runs, threads and rewrites: everything random about it is drawn from
// this and the seed.
struct ElementId {
  uint32_t file = 0;  // its place among the source's files
  uint32_t epoch = 0;
  uint64_t record = 0;  // its place in the file
  bool operator==(const ElementId&) const = default;
};

// How much of an element has been understood so far.
enum class Content : uint8_t {
  kRecord,   // a serialized tf.train.Example, or any other record of a TFRecord file
  kEncoded,  // an image file's bytes: JPEG or PNG
  kRow,      // a line of CSV
  kTensor,   // values
};

// What a batch has besides its tensor: one entry per sample, in the order of the tensor's rows.
struct BatchMembers {
  std::vector<ElementId> ids;
  std::vector<int64_t> labels;
  int64_t last = 0;  // the sample that came last
};

struct Element {
  ItemId item;   // in the trace
  ElementId id;  // of a batch that of its first sample
  Content content = Content::kTensor;
  // In a batch, the first dimension counts the samples. Undecoded content is its bytes: uint8 with
  // one dimension.
  data::Tensor value;
  int64_t label = 0;
  data::Tensor one_hot;  // float32; empty unless the op one_hot made it
  // Where it came from, for errors; shared by all elements of the file.
  std::shared_ptr<const std::string> file;
  uint64_t offset = 0;
  Ticks completed = 0;                  // when the last stage that worked on it was done
  std::unique_ptr<BatchMembers> batch;  // null for a single sample
  // What the other inputs gave, where sources are zipped: of a batch, batches of as many samples.
  // They have none of their own. The element's item stands for all of them.
  std::vector<Element> others;

  // The element of input `index`.
  Element& part(size_t index) { return index == 0 ? *this : others[index - 1]; }
  const Element& part(size_t index) const { return index == 0 ? *this : others[index - 1]; }
  size_t parts() const { return 1 + others.size(); }
  // Of the values of all parts.
  uint64_t bytes() const {
    uint64_t sum = value.bytes();
    for (const Element& other : others) sum += other.value.bytes();
    return sum;
  }
  int64_t samples() const { return batch ? static_cast<int64_t>(batch->ids.size()) : 1; }
};

}  // namespace stallscope::pipeline
