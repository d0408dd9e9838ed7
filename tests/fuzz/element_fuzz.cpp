// Any bytes are refused as a stored element or give one that every stage accepts: a batch has a row
// per sample, and rewriting it gives the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "collectors/pipeline/element_codec.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stallscope;
  pipeline::StageContext context;
  context.batches = std::make_unique<pipeline::TensorPool>();
  const data::ByteView bytes(data, size);
  const auto element = pipeline::DecodeElement(bytes, context);
  if (!element.ok()) {
    STALLSCOPE_EXPECT(element.error().kind == ErrorKind::kRun);
    return 0;
  }
  if (const auto& batch = element.value().batch; batch != nullptr) {
    STALLSCOPE_EXPECT(batch->ids.size() == batch->labels.size());
    const data::Shape& shape = element.value().value.shape();
    STALLSCOPE_EXPECT(shape.rank() > 0 && shape[0] == element.value().samples());
    const data::Shape row = data::Shape::Of(shape.dims().subspan(1));
    STALLSCOPE_EXPECT(data::CheckedBytes(element.value().value.dtype(), row.dims()).has_value());
  }
  data::Buffer again;
  pipeline::EncodeElement(element.value(), again);
  STALLSCOPE_EXPECT(again.size() == size && std::equal(bytes.begin(), bytes.end(), again.data()));
  return 0;
}
