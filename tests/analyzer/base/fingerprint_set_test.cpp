#include "analyzer/base/fingerprint_set.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>

#include "analyzer/base/splitmix.h"
#include "tests/support/child.h"

using stallscope::FingerprintSet;
using stallscope::SplitMix64;

TEST_SUITE("fast") {
  TEST_CASE("a fingerprint set holds what a std::set would, also hashes that collide") {
    // Of all 64 bits, and of so few values that most slots' neighbors are taken.
    for (const uint64_t mask : {~uint64_t{0}, uint64_t{0xff}, uint64_t{0xf} << 40}) {
      CAPTURE(mask);
      FingerprintSet set;
      std::set<uint64_t> truth;
      CHECK_FALSE(set.Contains(0));
      set.Erase(7);
      SplitMix64 random(mask);
      for (int i = 0; i < 20'000; ++i) {
        uint64_t hash = random.Next() & mask;
        if (hash == 0) hash = mask;  // of 0 and 1, see below
        if (hash == 1) hash = mask;
        if (random.Below(3) > 0) {
          set.Insert(hash);
          truth.insert(hash);
        } else {
          if (random.Below(2) == 0 && !truth.empty()) hash = *truth.begin();
          set.Erase(hash);
          truth.erase(hash);
        }
        const uint64_t other = random.Next() & mask;
        if (other > 1) CHECK(set.Contains(other) == truth.contains(other));
      }
      for (const uint64_t hash : truth) CHECK(set.Contains(hash));
    }
  }

  TEST_CASE("the hash 0 is one like the others") {
    FingerprintSet set;
    set.Insert(0);
    CHECK(set.Contains(0));
    CHECK_FALSE(set.Contains(2));
    set.Erase(0);
    CHECK_FALSE(set.Contains(0));
  }

  TEST_CASE("millions of fingerprints take a few bytes each") {
    constexpr uint64_t kMany = 3'000'000;
    const auto result = stallscope::test::RunInChild([] {
      FingerprintSet set;
      SplitMix64 random(1);
      for (uint64_t i = 0; i < kMany; ++i) set.Insert(random.Next());
    });
    CHECK(result.done);
    // While it grows, the smaller one is there too.
    if (stallscope::test::MemoryIsMeasurable()) CHECK(result.grown_bytes < int64_t{kMany * 36});
  }
}
