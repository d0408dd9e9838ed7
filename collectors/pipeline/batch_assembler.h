// Puts samples together into a batch. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "collectors/pipeline/element.h"
#include "collectors/pipeline/op.h"

namespace stallscope::pipeline {

// The first sample determines dtype and shape; a different one is an error, unless `pad` fills
// smaller samples with zeros. Then the samples are kept until Finish knows the largest.
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
  void AddPlaced(const Element& sample);

  // The batch of the rows so far; at least one.
  Result<Element> Finish();
  // The share of the finished batch's values that only pad it.
  double padding() const { return padding_; }

 private:
  Status Start(data::DType dtype, const data::Shape& shape);
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
  double padding_ = 0;
};

// The error of a sample that is not like the first one.
Error DoesNotFit(data::DType dtype, const data::Shape& shape, data::DType first_dtype,
                 const data::Shape& first_shape);

}  // namespace stallscope::pipeline
