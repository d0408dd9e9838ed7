#include "analyzer/base/splitmix.h"

#include <doctest/doctest.h>

using stallscope::SplitMix;
using stallscope::SplitMix64;

TEST_SUITE("fast") {
  TEST_CASE("SplitMix64 gives the numbers of its reference implementation") {
    SplitMix64 bits(1234567);
    CHECK(bits.Next() == 6457827717110365317u);
    CHECK(bits.Next() == 3203168211198807973u);
    CHECK(bits.Next() == 9817491932198370423u);
    CHECK(SplitMix(1234567) == 6457827717110365317u);
  }

  TEST_CASE("bounded numbers stay within their bounds") {
    SplitMix64 bits(7);
    for (int i = 0; i < 10'000; ++i) {
      CHECK(bits.Below(3) < 3);
      const double fraction = bits.Fraction();
      CHECK((fraction >= 0 && fraction < 1));
    }
    CHECK(bits.Below(1) == 0);
  }
}
