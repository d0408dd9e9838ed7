#include "gui/viewmodel/format.h"

#include <doctest/doctest.h>

#include <limits>

using namespace stallscope::viewmodel;

TEST_SUITE("fast") {
  TEST_CASE("durations have three digits, and all of them where they are exact") {
    CHECK(ShortNs(0) == "0 ns");
    CHECK(ShortNs(999) == "999 ns");
    CHECK(ShortNs(1'000) == "1.00 us");
    CHECK(ShortNs(41'234) == "41.2 us");
    CHECK(ShortNs(412'345) == "412 us");
    CHECK(ShortNs(999'600) == "1.00 ms");
    CHECK(ShortNs(4'123'456) == "4.12 ms");
    CHECK(ShortNs(-4'123'456) == "-4.12 ms");
    CHECK(ShortNs(123'000'000'000) == "123 s");
    CHECK(ExactNs(4'123'456) == "4,123,456 ns");
    CHECK(ExactNs(std::numeric_limits<int64_t>::min()) == "-9,223,372,036,854,775,808 ns");
    CHECK(BothNs(4'123'456) == "4.12 ms (4,123,456 ns)");
    CHECK(BothNs(12) == "12 ns");
  }

  TEST_CASE("places on the timeline have as many digits as their step needs") {
    CHECK(TimeAt(1'500'000'000, 0, 100'000'000) == "1.5 s");
    CHECK(TimeAt(1'500'000'000, 0, 1'000'000'000) == "2 s");
    CHECK(TimeAt(1'234'567'000, 1'000'000'000, 1'000'000) == "235 ms");
    CHECK(TimeAt(1'000'001'500, 1'000'000'000, 100) == "1.5 us");
  }

  TEST_CASE("counts, parts, rates, bytes") {
    CHECK(Grouped(0) == "0");
    CHECK(Grouped(999) == "999");
    CHECK(Grouped(1'000) == "1,000");
    CHECK(Grouped(10'000'000) == "10,000,000");
    CHECK(Percent(0.4123) == "41.2 %");
    CHECK(Percent(1) == "100 %");
    CHECK(PercentOrDash({}) == "-");
    CHECK(Rate(12.34) == "12.3/s");
    CHECK(Rate(1234.4) == "1,234/s");
    CHECK(BytesText(1023) == "1023 B");
    CHECK(BytesText(12 << 20) == "12.0 MiB");
    CHECK(Factor(1.8) == "1.80x");
    CHECK(Number(4) == "4");
    CHECK(Number(0.12345) == "0.1235");
  }

  TEST_CASE("a text that does not fit is cut between characters") {
    CHECK(Fitted("decode", 6) == "decode");
    CHECK(Fitted("decode", 5) == "deco\u2026");
    CHECK(Fitted("d\u00e9code", 3) == "d\u00e9\u2026");
    CHECK(Fitted("", 3).empty());
  }
}
