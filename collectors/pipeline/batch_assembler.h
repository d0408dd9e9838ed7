// Puts samples together into a batch. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "collectors/pipeline/element.h"
#include "collectors/pipeline/op.h"

namespace stallscope::pipeline {

// The first sample determines dtype and shape; a different one is an error, unless `pad` fills
// smaller samples with zeros. Then the samples are kept until Finish knows the largest. The other
// parts of a sample are put together in the same way, each into a batch of its own.
class BatchAssembler : public ValuePlace {
 public:
  BatchAssembler(StageContext& context, int64_t samples, bool pad);
  ~BatchAssembler() override;
  BatchAssembler(const BatchAssembler&) = delete;
  BatchAssembler& operator=(const BatchAssembler&) = delete;

  // Copies the sample's values into the next row; takes them where it pads.
  Status Add(Element& sample);
  // Where the next row's values go, for an op that writes there itself; AddPlaced must follow.
  Result<uint8_t*> Place(data::DType dtype, const data::Shape& shape) override;
  Status AddPlaced(Element& sample);

  // The batch of the rows so far; at least one.
  Result<Element> Finish();
  // The share of the finished batch's values that only pad it.
  double padding() const;

 private:
  Status Start(data::DType dtype, const data::Shape& shape);
  void AddMember(const Element& sample);
  Status Pad();

  StageContext& context_;
  const int64_t capacity_;
  const bool pad_;
  Element batch_;
  data::DType dtype_ = data::DType::kUint8;
  data::Shape row_;
  size_t row_bytes_ = 0;
  Ticks last_completed_ = 0;
  std::vector<data::Tensor> waiting_;  // where it pads
  size_t padded_bytes_ = 0;            // of all that was padded, and those that only pad it
  size_t padding_bytes_ = 0;
  std::vector<std::unique_ptr<BatchAssembler>> others_;  // for the samples' other parts
};

// The error of a sample that is not like the first one.
Error DoesNotFit(data::DType dtype, const data::Shape& shape, data::DType first_dtype,
                 const data::Shape& first_shape);

}  // namespace stallscope::pipeline
