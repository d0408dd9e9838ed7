// One step of a map or a filter, prepared from its call in the spec.
//
// An Op never changes: any number of workers use it at once. What a worker needs for itself (a
// decoder's tables, scratch memory) is in its OpWorker.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/example.h"
#include "collectors/data/image.h"
#include "collectors/data/jpeg.h"
#include "collectors/pipeline/element.h"
#include "collectors/pipeline/pipeline.h"
#include "collectors/pipeline/stage.h"

namespace stallscope::pipeline {

// What one thread needs to run ops.
struct OpWorker {
  explicit OpWorker(StageContext& shared) : context(shared) {}

  // A tensor out of the pool, or an error that says how much was requested.
  Result<data::Tensor> NewTensor(data::DType dtype, const data::Shape& shape);
  // Replaces the element's value, whose memory returns to the pool.
  void Replace(Element& element, data::Tensor&& value);

  StageContext& context;
  data::JpegDecoder jpeg;
  data::Resizer resizer;
  data::ExampleView example;
};

// Where the last op of a chain may write, so that its result is not copied into the batch.
class ValuePlace {
 public:
  virtual ~ValuePlace() = default;
  virtual Result<uint8_t*> Place(data::DType dtype, const data::Shape& shape) = 0;
};

class Op {
 public:
  virtual ~Op() = default;
  virtual Status Apply(Element& element, OpWorker& worker) const = 0;
  // A whole batch at once. The default takes it apart and puts it together again.
  virtual Status ApplyToBatch(Element& batch, OpWorker& worker) const;
  // Writes the values where `place` says and leaves the element's own alone. False where the op
  // cannot, and did nothing.
  virtual Result<bool> ApplyInto(const Element& element, OpWorker& worker, ValuePlace& place) const;
};

using OpPtr = std::unique_ptr<const Op>;

// A filter's question. One thread at a time.
class Predicate {
 public:
  virtual ~Predicate() = default;
  virtual Result<bool> Keeps(const Element& element, OpWorker& worker) = 0;
  // Another epoch begins.
  virtual void Restart() {}
};

// A source's `features`: the names under which a record has the image or text, and the label.
// Without an entry, the usual names are tried.
using FeatureKeys = std::map<std::string, std::string>;

// Ops of one map, one after the other. Neighboring ops that are better done together become one.
Result<std::vector<OpPtr>> MakeOps(std::span<const OpInstance> calls, const FeatureKeys& keys);
Result<std::unique_ptr<Predicate>> MakePredicate(const OpInstance& call, const FeatureKeys& keys);

// The element's error with its file, offset and record.
Error Located(Error error, const Element& element);

}  // namespace stallscope::pipeline
