#include "analyzer/trace/varint.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/random.h"

using stallscope::test::Random;
using stallscope::trace::AppendVarint;
using stallscope::trace::ColumnReader;
using stallscope::trace::PutVarint;
using stallscope::trace::UnZigZag;
using stallscope::trace::ZigZag;

namespace {

std::string Encoded(uint64_t value) {
  std::string bytes;
  AppendVarint(bytes, value);
  return bytes;
}

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a varint has seven bits per byte, lowest first, and a continuation bit") {
    CHECK(Encoded(0) == std::string(1, '\0'));
    CHECK(Encoded(1) == "\x01");
    CHECK(Encoded(127) == "\x7f");
    CHECK(Encoded(128) == "\x80\x01");
    CHECK(Encoded(300) == "\xac\x02");
    CHECK(Encoded(kMax) == "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  }

  // The reader takes 8 bytes at once where they are there, and one at a time near the end: `behind`
  // bytes behind the varint make it take either way.
  TEST_CASE("both ends of every length come back, near the end of a column and far from it") {
    for (unsigned length = 1; length <= 10; ++length) {
      const uint64_t low = length == 1 ? 0 : uint64_t{1} << (7 * (length - 1));
      const uint64_t high = length == 10 ? kMax : (uint64_t{1} << (7 * length)) - 1;
      for (uint64_t value : {low, low + 1, high - 1, high}) {
        const std::string bytes = Encoded(value);
        REQUIRE(bytes.size() == length);
        char put[10];
        CHECK(PutVarint(put, value) == put + length);
        CHECK(std::string(put, length) == bytes);
        for (size_t behind = 0; behind <= 9; ++behind) {
          const std::string column = bytes + std::string(behind, '\x05');
          ColumnReader reader(column);
          CHECK(reader.Next() == value);
          for (size_t i = 0; i < behind; ++i) CHECK(reader.Next() == 5);
          CHECK(reader.ok());
          CHECK(reader.AtEnd());
        }
      }
    }
  }

  TEST_CASE("a column of random numbers comes back") {
    Random random(1);
    std::vector<uint64_t> values(20'000);
    std::string column;
    for (uint64_t& value : values) AppendVarint(column, value = random.OfAnyLength());
    ColumnReader reader(column);
    bool same = true;
    for (uint64_t value : values) same = same && reader.Next() == value;
    CHECK(same);
    CHECK(reader.ok());
    CHECK(reader.AtEnd());
  }

  TEST_CASE("a truncated varint is not read, at any length") {
    for (unsigned length = 2; length <= 10; ++length) {
      const std::string whole = Encoded(length == 10 ? kMax : (uint64_t{1} << (7 * length)) - 1);
      for (size_t kept = 1; kept < whole.size(); ++kept) {
        ColumnReader reader(std::string_view(whole).substr(0, kept));
        CHECK(reader.Next() == 0);
        CHECK_FALSE(reader.ok());
      }
    }
    ColumnReader empty("");
    CHECK(empty.AtEnd());
    CHECK(empty.Next() == 0);
    CHECK_FALSE(empty.ok());
  }

  TEST_CASE("a varint of more than 64 bits is refused with all that follows") {
    for (const char* head : {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",       // bit 64
                             "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",       //
                             "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",   // 11 bytes
                             "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"})  // no end
    {
      const std::string column = std::string(head) + "\x01\x01\x01\x01\x01\x01\x01\x01";
      ColumnReader reader(column);
      CHECK(reader.Next() == 0);
      CHECK_FALSE(reader.ok());
      CHECK(reader.Next() == 0);
      CHECK_FALSE(reader.ok());
    }
  }

  TEST_CASE("an overlong varint is accepted, as in protobuf") {
    for (size_t zeros = 0; zeros <= 8; ++zeros) {
      for (size_t behind : {size_t{0}, size_t{9}}) {
        const std::string column = "\x83" + std::string(zeros, '\x80') + std::string(1, '\0') +
                                   std::string(behind, '\x01');
        ColumnReader reader(column);
        CHECK(reader.Next() == 3);
        for (size_t i = 0; i < behind; ++i) CHECK(reader.Next() == 1);
        CHECK(reader.ok());
        CHECK(reader.AtEnd());
      }
    }
  }

  TEST_CASE("zigzag maps numbers near zero to small ones") {
    CHECK(ZigZag(0) == 0);
    CHECK(ZigZag(-1) == 1);
    CHECK(ZigZag(1) == 2);
    CHECK(ZigZag(-2) == 3);
    CHECK(ZigZag(std::numeric_limits<int64_t>::max()) == kMax - 1);
    CHECK(ZigZag(std::numeric_limits<int64_t>::min()) == kMax);
    Random random(2);
    for (int i = 0; i < 10'000; ++i) {
      const auto value = static_cast<int64_t>(random.OfAnyLength()) * (i % 2 == 0 ? 1 : -1);
      CHECK(UnZigZag(ZigZag(value)) == value);
    }
    CHECK(UnZigZag(kMax) == std::numeric_limits<int64_t>::min());
  }
}
