// From any dtype to uint8, float16, bfloat16 or float32. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DATA_CONVERT_H_
#define STALLSCOPE_COLLECTORS_DATA_CONVERT_H_

#include <cstdint>

#include "analyzer/base/result.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

// IEEE half precision and its rounding to the nearest even, as the hardware has them.
uint16_t HalfFromFloat(float value);
float FloatFromHalf(uint16_t half);
uint16_t BfloatFromFloat(float value);
float FloatFromBfloat(uint16_t bfloat);

// `count` values from one place to another, which must not overlap. To uint8 values are rounded to
// the nearest and kept within 0 to 255. False where the pair of dtypes has no conversion.
bool ConvertValues(DType from_dtype, const uint8_t* from, DType to_dtype, uint8_t* to,
                   int64_t count);

// Gives `into`, another tensor, the shape of `from` and that dtype.
Status Convert(const Tensor& from, DType dtype, Tensor& into);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_CONVERT_H_
