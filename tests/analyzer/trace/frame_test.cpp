#include "analyzer/trace/frame.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/trace/limits.h"
#include "tests/support/random.h"

using namespace stallscope::trace;
using stallscope::test::Random;

namespace {

// Bit by bit, as the polynomial says.
uint32_t SlowCrc32c(std::string_view data) {
  uint32_t crc = ~uint32_t{0};
  for (char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("CRC32C gives the published values") {
    CHECK(Crc32c("") == 0);
    CHECK(Crc32c("123456789") == 0xe3069283);
    // RFC 3720, B.4
    CHECK(Crc32c(std::string(32, '\0')) == 0x8a9136aa);
    CHECK(Crc32c(std::string(32, '\xff')) == 0x62a8ab43);
    std::string up;
    for (char c = 0; c < 32; ++c) up += c;
    CHECK(Crc32c(up) == 0x46dd794e);
    CHECK(Crc32c(std::string(up.rbegin(), up.rend())) == 0x113fdb5c);
  }

  TEST_CASE("CRC32C matches its definition at every length and can be continued") {
    Random random(9);
    const std::string data = random.Bytes(700);
    for (size_t size = 0; size <= data.size(); ++size) {
      const std::string_view part(data.data(), size);
      const uint32_t crc = Crc32c(part);
      CHECK(crc == SlowCrc32c(part));
      const size_t half = random.Below(size + 1);
      CHECK(Crc32c(part.substr(half), Crc32c(part.substr(0, half))) == crc);
    }
  }

  TEST_CASE("the file header comes back") {
    const FileHeader header{3, 7, 0x80000001, 0x40000002};
    const std::string bytes = EncodeFileHeader(header);
    REQUIRE(bytes.size() == kHeaderSize);
    const auto read = DecodeFileHeader(bytes);
    REQUIRE(read);
    CHECK(read->major == 3);
    CHECK(read->minor == 7);
    CHECK(read->compatible_features == 0x80000001);
    CHECK(read->incompatible_features == 0x40000002);
  }

  TEST_CASE("a file header with any bit changed is refused") {
    const std::string bytes = EncodeFileHeader({});
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      CHECK_FALSE(DecodeFileHeader(damaged));
    }
  }

  TEST_CASE("the magic survives no transfer as text") {
    CHECK(static_cast<uint8_t>(kMagic[0]) > 0x7f);
    CHECK(kMagic.find("\r\n") != std::string_view::npos);
    CHECK(kMagic.find('\x1a') != std::string_view::npos);
  }

  TEST_CASE("a frame comes back, empty and of maximum length") {
    Random random(10);
    for (size_t size : {size_t{0}, size_t{1}, size_t{777}, kMaxPayload}) {
      const std::string payload = random.Bytes(size);
      const std::string frame = EncodeFrame(FrameType::kSeal, 0xfffffffe, 0x01020304, payload);
      REQUIRE(frame.size() == kFrameHeaderSize + size);
      const auto header = DecodeFrameHeader(frame);
      REQUIRE(header);
      CHECK(header->type == FrameType::kSeal);
      CHECK(header->stream == 0xfffffffe);
      CHECK(header->sequence == 0x01020304);
      CHECK(header->length == size);
      CHECK(frame.substr(kFrameHeaderSize) == payload);
      CHECK(FrameIsWhole(frame, *header, payload));
    }
  }

  TEST_CASE("a frame with any bit changed is not whole") {
    const std::string frame = EncodeFrame(FrameType::kChunk, 1, 2, "some payload");
    for (size_t bit = 0; bit < frame.size() * 8; ++bit) {
      std::string damaged = frame;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      const auto header = DecodeFrameHeader(damaged);
      CHECK_FALSE((header && FrameIsWhole(damaged, *header, damaged.substr(kFrameHeaderSize))));
    }
  }

  TEST_CASE("an impossible frame header is refused") {
    const std::string frame = EncodeFrame(FrameType::kChunk, 0, 0, "");
    const auto with = [&](size_t at, uint32_t value) {
      std::string changed = frame;
      for (size_t i = 0; i < 4; ++i) changed[at + i] = static_cast<char>(value >> (8 * i));
      return DecodeFrameHeader(changed).has_value();
    };
    CHECK_FALSE(with(8, 0));
    CHECK(with(8, 255));
    CHECK_FALSE(with(8, 256));
    CHECK(with(20, kMaxPayload));
    CHECK_FALSE(with(20, kMaxPayload + 1));
    CHECK_FALSE(with(20, 0xffffffff));
    CHECK_FALSE(with(0, 0));
  }
}
