#include "analyzer/trace/wire_walk.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/limits.h"
#include "tests/support/trace_samples.h"
#include "tests/support/wire_bytes.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::BytesField;
using stallscope::test::NumberField;
using stallscope::test::Repeat;
using stallscope::test::Varint;

TEST_SUITE("fast") {
  TEST_CASE("messages and strings are counted at every depth") {
    CHECK(CountMessages("") == 0);
    CHECK(CountMessages(NumberField(1, 5)) == 0);
    CHECK(CountMessages(BytesField(8, "") + BytesField(8, NumberField(1, 1))) == 2);
    const std::string names = NumberField(1, 1) + BytesField(2, "a") + BytesField(2, "b");
    CHECK(CountMessages(BytesField(6, names)) == 3);
    const std::string host = BytesField(1, "h") + BytesField(2, "k");
    const std::string run = BytesField(3, "x") + BytesField(3, "y") + BytesField(9, host);
    CHECK(CountMessages(BytesField(7, BytesField(1, run) + BytesField(4, ""))) == 8);
    CHECK(CountMessages(BytesField(32, BytesField(2, NumberField(1, 1)) + BytesField(3, "e"))) ==
          3);
    CHECK(CountMessages(BytesField(500, "unknown")) == 1);
  }

  TEST_CASE("columns and texts are not parsed, whatever they look like") {
    const std::string like_messages = Repeat(BytesField(1, ""), 1'000);
    CHECK(CountMessages(BytesField(9, BytesField(3, like_messages))) == 2);
    CHECK(CountMessages(BytesField(16, NumberField(1, 9) + BytesField(2, like_messages))) == 2);
    CHECK(CountMessages(BytesField(2, BytesField(2, like_messages))) == 2);
    CHECK(CountMessages(BytesField(7, BytesField(1, BytesField(4, like_messages)))) == 3);
  }

  TEST_CASE("truncated bytes are not a chunk, at any depth") {
    const std::string good = BytesField(8, "");
    for (const std::string& bad :
         {std::string("\x08"), std::string("\xff"), std::string("\x4a\x05\x01"),
          std::string("\x09\x01"), std::string("\x0d\x01"), Varint(3) + "x", Varint(0) + "x",
          std::string("\x0a\xff\xff\xff\xff\x7f"), std::string(11, '\x80')}) {
      CHECK(CountMessages(good + bad) == std::nullopt);
      CHECK(CountMessages(BytesField(7, bad)) == std::nullopt);
      CHECK(CountMessages(BytesField(7, BytesField(1, bad))) == std::nullopt);
      CHECK_FALSE(DecodeChunk(good + bad).ok());
      CHECK_FALSE(DecodeChunk(BytesField(7, BytesField(1, bad))).ok());
    }
  }

  // protobuf reads groups; a count that ended at one would let any number of messages follow.
  TEST_CASE("a group is refused, whatever follows it") {
    const std::string group = Varint(100 << 3 | 3) + Varint(100 << 3 | 4);
    const std::string many = Repeat(BytesField(9, ""), 400'000);
    CHECK(CountMessages(group) == std::nullopt);
    CHECK(CountMessages(group + many) == std::nullopt);
    CHECK_FALSE(DecodeChunk(group + many).ok());
    CHECK_FALSE(DecodeChunk(BytesField(7, group + Repeat(BytesField(2, ""), 400'000))).ok());
  }

  // protobuf keeps the low 32 bits of a tag.
  TEST_CASE("a tag of more than 32 bits is the same field as in protobuf") {
    const std::string long_tag("\xba\x80\x80\x80\x10", 5);  // field 7 with a length, and bit 32
    const std::string stages = Repeat(BytesField(2, ""), 70'000);
    const std::string payload = long_tag + Varint(stages.size()) + stages;
    const auto count = CountMessages(payload);
    CHECK((!count || *count > kMaxMessagesInPayload));
    CHECK_FALSE(DecodeChunk(payload).ok());
  }

  TEST_CASE("what our own writer wrote is counted whole") {
    test::Random random(18);
    const std::string payload = test::RandomPayload(random, 2'000, 50);
    const auto count = CountMessages(payload);
    REQUIRE(count);
    // 4 tracks, 12 tables and their columns, a run and its texts, names.
    CHECK(*count > 100);
    CHECK(*count < 5'000);
  }
}
