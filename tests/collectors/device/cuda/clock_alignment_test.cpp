#include "collectors/device/cuda/clock_alignment.h"

#include <doctest/doctest.h>

#include <cmath>

namespace stallscope {
namespace {

using device::cuda::ClockAlignment;

// Ticks of 2.4 GHz; a device's clock that began 1 s before and goes `ppm` too fast.
struct Clocks {
  double ppm = 0;
  int64_t DeviceNs(Ticks ticks) const {
    return 1'000'000'000 + std::llround(static_cast<double>(ticks) / 2.4 * (1 + ppm * 1e-6));
  }
  ClockAlignment::Reading At(Ticks ticks, Ticks detour = 0) const {
    return {DeviceNs(ticks), ticks - detour / 2, ticks + detour / 2};
  }
};

double Off(const ClockAlignment& aligned, const Clocks& clocks, Ticks ticks) {
  return std::abs(static_cast<double>(aligned.ToTicks(clocks.DeviceNs(ticks))) -
                  static_cast<double>(ticks)) /
         2.4;
}

constexpr Ticks kSecond = 2'400'000'000;

TEST_SUITE("fast") {
  TEST_CASE("one reading places times by the nominal ratio, two by their own") {
    const Clocks clocks{50};
    ClockAlignment aligned(2.4);
    CHECK(aligned.empty());
    aligned.Add(clocks.At(10 * kSecond));
    CHECK(Off(aligned, clocks, 10 * kSecond) < 1);
    CHECK(Off(aligned, clocks, 11 * kSecond) > 40'000);  // 50 ppm of a second
    aligned.Add(clocks.At(11 * kSecond));
    CHECK(Off(aligned, clocks, 11 * kSecond) < 2);
    CHECK(Off(aligned, clocks, 10 * kSecond + kSecond / 3) < 2);
    CHECK(Off(aligned, clocks, 12 * kSecond) < 5);  // behind the last: the line goes on
    CHECK(Off(aligned, clocks, 9 * kSecond) < 5);   // and before the first
    CHECK(aligned.DriftPpm() == doctest::Approx(50).epsilon(0.01));
  }

  TEST_CASE("a drift that changes is followed, and counts as an error") {
    Clocks clocks{0};
    ClockAlignment aligned(2.4);
    for (int i = 1; i <= 3; ++i) aligned.Add(clocks.At(static_cast<Ticks>(i) * kSecond));
    CHECK(aligned.ErrorNs() < 5);
    // The device's clock goes 20 ppm faster from here on.
    const int64_t bend = clocks.DeviceNs(3 * kSecond);
    const auto device_ns = [&](Ticks ticks) {
      const double since = static_cast<double>(ticks - 3 * kSecond) / 2.4;
      return bend + std::llround(since * (1 + 20e-6));
    };
    for (int i = 4; i <= 6; ++i) {
      const Ticks at = static_cast<Ticks>(i) * kSecond;
      aligned.Add({device_ns(at), at, at});
    }
    const Ticks late = 5 * kSecond + kSecond / 2;
    CHECK(std::abs(static_cast<double>(aligned.ToTicks(device_ns(late))) -
                   static_cast<double>(late)) < 10);
    CHECK(Off(aligned, clocks, 2 * kSecond) < 2);  // what was before keeps its line
    CHECK(aligned.ErrorNs() == doctest::Approx(20'000).epsilon(0.01));
  }

  TEST_CASE("the error has half the longest detour") {
    const Clocks clocks{0};
    ClockAlignment aligned(2.4);
    aligned.Add(clocks.At(1 * kSecond, 2'400));
    aligned.Add(clocks.At(2 * kSecond, 4'800));
    CHECK(aligned.ErrorNs() == doctest::Approx(1'000).epsilon(0.01));
  }

  TEST_CASE("a reading that does not advance is ignored") {
    const Clocks clocks{0};
    ClockAlignment aligned(2.4);
    aligned.Add(clocks.At(2 * kSecond));
    aligned.Add(clocks.At(1 * kSecond));
    aligned.Add({clocks.DeviceNs(2 * kSecond), 3 * kSecond, 3 * kSecond});
    aligned.Add(clocks.At(4 * kSecond));
    CHECK(Off(aligned, clocks, 3 * kSecond) < 2);
  }

  TEST_CASE("of several readings the one with the shortest detour counts") {
    int64_t asked = 0;
    const auto reading = ClockAlignment::Read([&] { return ++asked; }, 5);
    CHECK(asked == 5);
    CHECK(reading.device_ns >= 1);
    CHECK(reading.device_ns <= 5);
    CHECK(reading.before <= reading.after);
  }
}

}  // namespace
}  // namespace stallscope
