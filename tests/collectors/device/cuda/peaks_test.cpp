#include "collectors/device/cuda/driver.h"

#include <doctest/doctest.h>

namespace stallscope {
namespace {

using device::cuda::PeaksOf;

TEST_SUITE("fast") {
  TEST_CASE("peaks are those of the data sheets, and none where nothing is known") {
    // The A100's: 19.5, 156 and 312 TFLOP/s. The H100's: 67, 495 and 989 (at 1.83 GHz the last
    // two).
    const auto a100 = PeaksOf(8, 0, 108, 1'410'000);
    CHECK(static_cast<double>(a100.fp32) == doctest::Approx(19.5e12).epsilon(0.01));
    CHECK(static_cast<double>(a100.tf32) == doctest::Approx(156e12).epsilon(0.01));
    CHECK(static_cast<double>(a100.narrow) == doctest::Approx(312e12).epsilon(0.01));
    const auto h100 = PeaksOf(9, 0, 132, 1'830'000);
    CHECK(static_cast<double>(h100.tf32) == doctest::Approx(495e12).epsilon(0.01));
    CHECK(static_cast<double>(h100.narrow) == doctest::Approx(989e12).epsilon(0.01));
    CHECK(static_cast<double>(PeaksOf(9, 0, 132, 1'980'000).fp32) ==
          doctest::Approx(67e12).epsilon(0.01));
    CHECK(PeaksOf(8, 6, 80, 1'700'000).narrow == 0);
    CHECK(PeaksOf(9, 0, -1, 1'830'000).fp32 == 0);
  }
}

}  // namespace
}  // namespace stallscope
