#include "analyzer/base/narrow_float.h"
#include "collectors/device/host_kernels.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/random.h"

namespace stallscope {
namespace {

TEST_SUITE("fast") {
  TEST_CASE("every float16 and bfloat16 is itself as a float") {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      const float wide = FromFloat16(half);
      if (!std::isnan(wide)) CHECK_MESSAGE(ToFloat16(wide) == half, bits);
      CHECK(std::isnan(wide) == ((bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0));
      const float brain = FromBfloat16(half);
      if (!std::isnan(brain)) CHECK_MESSAGE(ToBfloat16(brain) == half, bits);
    }
  }

  TEST_CASE("known values") {
    CHECK(FromFloat16(0x3c00) == 1.0f);
    CHECK(FromFloat16(0x7bff) == 65504.0f);
    CHECK(FromFloat16(0x0001) == 0x1p-24f);
    CHECK(ToFloat16(65519.0f) == 0x7bff);
    CHECK(ToFloat16(65520.0f) == 0x7c00);
    CHECK(ToFloat16(0x1p-25f) == 0);  // half way: to even
    CHECK(ToFloat16(0x1.1p-25f) == 1);
    CHECK(ToFloat16(-1e9f) == 0xfc00);
    CHECK(ToBfloat16(1.0f) == 0x3f80);
    CHECK(std::isnan(FromFloat16(ToFloat16(std::nanf("")))));
    CHECK(std::isnan(FromBfloat16(ToBfloat16(std::nanf("")))));
  }

  TEST_CASE("a float rounds to the nearest, ties to even") {
    test::Random random(3);
    for (int i = 0; i < 20000; ++i) {
      const float value = std::ldexp(static_cast<float>(random.Below(1 << 24)),
                                     static_cast<int>(random.Below(60)) - 54);
      if (value >= 65504) continue;
      const uint16_t half = ToFloat16(value);
      const float error = std::abs(FromFloat16(half) - value);
      const auto up = static_cast<uint16_t>(half + 1);
      CHECK(error <= std::abs(FromFloat16(up) - value));
      if (half > 0) CHECK(error <= std::abs(FromFloat16(static_cast<uint16_t>(half - 1)) - value));
      if (error == std::abs(FromFloat16(up) - value)) CHECK(half % 2 == 0);
    }
  }
}

}  // namespace
}  // namespace stallscope
