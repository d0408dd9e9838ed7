#include "analyzer/base/amplification.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <limits>
#include <string>

#include "analyzer/base/readable.h"

using stallscope::MostMemoryFor;
using stallscope::WhyNotReadable;

TEST_SUITE("fast") {
  TEST_CASE("memory grows with the bytes on disk, without overflow") {
    CHECK(MostMemoryFor(0) == stallscope::kMemoryFloorBytes);
    CHECK(MostMemoryFor(1'000) - MostMemoryFor(0) == 1'000 * stallscope::kMemoryFactor);
    constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
    CHECK(MostMemoryFor(kMost) == kMost);
    CHECK(MostMemoryFor(kMost / stallscope::kMemoryFactor) == kMost);
  }

  TEST_CASE("files and pipes are readable, and other kinds have a name") {
    CHECK(WhyNotReadable(S_IFREG | 0644) == nullptr);
    CHECK(WhyNotReadable(S_IFIFO) == nullptr);
    CHECK(WhyNotReadable(S_IFDIR) == std::string("a folder"));
    CHECK(WhyNotReadable(S_IFSOCK) == std::string("a socket"));
    CHECK(WhyNotReadable(S_IFCHR) == std::string("a device"));
    CHECK(WhyNotReadable(S_IFBLK) == std::string("a device"));
  }
}
