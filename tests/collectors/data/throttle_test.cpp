#include "collectors/data/byte_source.h"

#include <doctest/doctest.h>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"

using stallscope::kNsPerMs;
using stallscope::kNsPerSecond;
using stallscope::data::TokenBucket;

TEST_SUITE("fast") {
  TEST_CASE("bytes are due at the rate, however they are asked for") {
    TokenBucket bucket(1'000'000);
    CHECK(bucket.DueAt(500'000, 0) == kNsPerSecond / 2);
    CHECK(bucket.DueAt(250'000, 0) == kNsPerSecond * 3 / 4);
    CHECK(bucket.DueAt(250'000, kNsPerSecond * 3 / 4) == kNsPerSecond);
  }

  TEST_CASE("an idle bucket saves up no more than its burst") {
    TokenBucket bucket(1'000'000);
    CHECK(bucket.DueAt(1'000, 0) == kNsPerMs);
    // After ten idle seconds 20 ms worth are there, not ten seconds.
    const int64_t now = 10 * kNsPerSecond;
    CHECK(bucket.DueAt(20'000, now) == now);
    CHECK(bucket.DueAt(1'000, now) == now + kNsPerMs);
  }

  TEST_CASE("taking sleeps at least until the bytes were due") {
    TokenBucket bucket(1'000'000);
    const int64_t begin = stallscope::MonotonicNs();
    bucket.Take(20'000);
    CHECK(stallscope::MonotonicNs() - begin >= 20 * kNsPerMs);
  }

  TEST_CASE("a read asks for a fiftieth of a second, within reason") {
    CHECK(TokenBucket(1).ReadSize() == 4096);
    CHECK(TokenBucket(10'000'000).ReadSize() == 196'608);
    CHECK(TokenBucket(uint64_t{1} << 40).ReadSize() == uint64_t{1} << 20);
  }
}
