#include "collectors/data/tensor.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace stallscope;
using namespace stallscope::data;

namespace {

// One value there, and back as a float.
template <class Value>
float Converted(DType from, Value value, DType to) {
  std::vector<uint8_t> stored(8);
  float back = 0;
  REQUIRE(ConvertValues(from, reinterpret_cast<const uint8_t*>(&value), to, stored.data(), 1));
  REQUIRE(ConvertValues(to, stored.data(), DType::kFloat32, reinterpret_cast<uint8_t*>(&back), 1));
  return back;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every dtype becomes what a link takes, rounded to the nearest") {
    for (const DType to : {DType::kUint8, DType::kFloat16, DType::kBfloat16, DType::kFloat32}) {
      CAPTURE(Name(to));
      CHECK(Converted<uint8_t>(DType::kUint8, 200, to) == 200);
      CHECK(Converted<int32_t>(DType::kInt32, 7, to) == 7);
      CHECK(Converted<int64_t>(DType::kInt64, 96, to) == 96);
      CHECK(Converted<double>(DType::kFloat64, 2.0, to) == 2);
      CHECK(Converted<float>(DType::kFloat32, 128, to) == 128);
    }
    CHECK(Converted<int64_t>(DType::kInt64, -5, DType::kFloat16) == -5);
    CHECK(Converted<float>(DType::kFloat32, 2049, DType::kFloat16) == 2048);
    CHECK(Converted<float>(DType::kFloat32, 257, DType::kBfloat16) == 256);
  }

  TEST_CASE("what a uint8 cannot hold is kept within it") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(Converted<float>(DType::kFloat32, -3, DType::kUint8) == 0);
    CHECK(Converted<float>(DType::kFloat32, 1e9F, DType::kUint8) == 255);
    CHECK(Converted<float>(DType::kFloat32, nan, DType::kUint8) == 0);
    CHECK(Converted<int64_t>(DType::kInt64, int64_t{1} << 40, DType::kUint8) == 255);
    CHECK(Converted<double>(DType::kFloat64, 1.5, DType::kUint8) == 2);
  }

  TEST_CASE("a dtype that cannot be cast to is refused, with the ones that can") {
    const Tensor from(DType::kUint8, {4});
    Tensor into;
    for (const DType to : {DType::kInt32, DType::kInt64, DType::kFloat64}) {
      const Status cast = Convert(from, to, into);
      REQUIRE_FALSE(cast.ok());
      CHECK(cast.error().Line().find("uint8 cannot be cast to " + std::string(Name(to))) !=
            std::string::npos);
    }
    CHECK(Convert(from, DType::kUint8, into).ok());
    CHECK(into.shape() == from.shape());
  }
}
