#include "collectors/data/tensor.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

using stallscope::data::CheckedBytes;
using stallscope::data::DType;
using stallscope::data::DTypeNamed;
using stallscope::data::Shape;
using stallscope::data::Tensor;

TEST_SUITE("fast") {
  TEST_CASE("a tensor has the bytes of its shape, aligned, and keeps its memory") {
    Tensor tensor(DType::kFloat32, {2, 3, 4});
    CHECK(tensor.bytes() == 96);
    CHECK(tensor.Values<float>().size() == 24);
    CHECK(reinterpret_cast<uintptr_t>(tensor.data()) % 64 == 0);
    const uint8_t* before = tensor.data();
    tensor.Reset(DType::kUint8, {5, 5, 3});
    CHECK(tensor.data() == before);
    CHECK(tensor.bytes() == 75);
    CHECK(tensor.shape().ToString() == "5x5x3");
  }

  TEST_CASE("a scalar has one element, an empty dimension none") {
    CHECK(Shape{}.Elements() == 1);
    CHECK(Shape{}.ToString() == "scalar");
    CHECK(Tensor(DType::kInt64, {}).bytes() == 8);
    CHECK(Tensor(DType::kInt64, {0, 7}).bytes() == 0);
  }

  TEST_CASE("dimensions from outside are checked before they are multiplied") {
    const int64_t most = std::numeric_limits<int64_t>::max();
    CHECK_FALSE(CheckedBytes(DType::kUint8, Shape{most, 2}.dims()).has_value());
    CHECK_FALSE(CheckedBytes(DType::kFloat32, Shape{int64_t{1} << 61}.dims()).has_value());
    CHECK_FALSE(CheckedBytes(DType::kUint8, Shape{-1, 4}.dims()).has_value());
    CHECK(CheckedBytes(DType::kUint8, Shape{int64_t{1} << 61}.dims()) == uint64_t{1} << 61);
    Tensor tensor;
    CHECK_FALSE(tensor.TryReset(DType::kUint8, {int64_t{1} << 62}));
    CHECK(tensor.TryReset(DType::kUint8, {1 << 10}));
  }

  TEST_CASE("names of dtypes are read as they are written") {
    for (auto dtype : {DType::kUint8, DType::kInt32, DType::kInt64, DType::kFloat16,
                       DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
      CHECK(DTypeNamed(Name(dtype)) == dtype);
    }
    CHECK_FALSE(DTypeNamed("float").has_value());
  }
}
