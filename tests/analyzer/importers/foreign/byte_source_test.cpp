#include "analyzer/importers/foreign/byte_source.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <algorithm>
#include <string>

#include "analyzer/importers/foreign/byte_source.h"
#include "tests/support/memory_file.h"

using namespace stallscope;
using namespace stallscope::importers;

namespace {

std::string Packed(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Text(size_t size) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) text += std::to_string(i * i) + ",";
  text.resize(size);
  return text;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a small file is read at once, with no more memory than its bytes") {
    constexpr size_t kMost = size_t{1} << 20;
    for (const size_t size : {size_t{0}, size_t{700}, ByteSource::kHeadBytes - 1}) {
      const test::MemoryFile file(Text(size));
      auto source = ByteSource::Open(file.path());
      REQUIRE(source.ok());
      CHECK(source.value()->BytesAtOnce(kMost) == size + 1);
      CHECK(source.value()->BytesAtOnce(10) == std::min<size_t>(size + 1, 10));
    }
    // The head of this one does not tell where it ends.
    const test::MemoryFile file(Text(ByteSource::kHeadBytes));
    auto source = ByteSource::Open(file.path());
    REQUIRE(source.ok());
    CHECK(source.value()->BytesAtOnce(kMost) == kMost);
  }

  TEST_CASE("plain and packed files yield the same bytes") {
    for (const size_t size :
         {size_t{0}, size_t{1}, ByteSource::kHeadBytes, 3 * ByteSource::kBlockBytes + 7}) {
      const std::string text = Text(size);
      for (const bool packed : {false, true}) {
        CAPTURE(size);
        CAPTURE(packed);
        const test::MemoryFile file(packed ? Packed(text) : text);
        auto source = ByteSource::Open(file.path());
        REQUIRE(source.ok());
        CHECK(source.value()->packed() == packed);
        CHECK(source.value()->head() == text.substr(0, ByteSource::kHeadBytes));
        const auto all = ReadAll(*source.value(), 1 << 30);
        REQUIRE(all.ok());
        CHECK(all.value() == text);
        CHECK_FALSE(source.value()->Damage().has_value());
      }
    }
  }

  TEST_CASE("concatenated members are one stream, and padding is ignored") {
    const test::MemoryFile file(Packed("one ") + Packed("two") + std::string(64, '\0'));
    auto source = ByteSource::Open(file.path());
    REQUIRE(source.ok());
    CHECK(ReadAll(*source.value(), 100).value() == "one two");
    CHECK_FALSE(source.value()->Damage().has_value());
  }

  TEST_CASE("a truncated or damaged file yields its beginning and reports it") {
    const std::string text = Text(5 << 20);
    const std::string packed = Packed(text);
    for (const bool cut : {true, false}) {
      std::string bad = packed;
      if (cut) bad.resize(packed.size() / 2);
      if (!cut) bad[packed.size() - 6] = static_cast<char>(bad[packed.size() - 6] ^ 0x55);
      const test::MemoryFile file(bad);
      auto source = ByteSource::Open(file.path());
      REQUIRE(source.ok());
      const auto all = ReadAll(*source.value(), 1 << 30);
      REQUIRE(all.ok());
      CHECK(all.value().size() > text.size() / 4);
      CHECK(text.starts_with(all.value()));
      REQUIRE(source.value()->Damage().has_value());
      CHECK(source.value()->Damage()->what.find(cut ? "is truncated" : "checksum") !=
            std::string::npos);
      model::DataQuality quality;
      quality.sealed = true;
      TellDamage(*source.value(), quality);
      CHECK_FALSE(quality.Complete());
      CHECK(quality.damaged_ranges.size() == 1);
      CHECK(quality.warnings.size() == 1);
    }
    const test::MemoryFile nothing(std::string("\x1f\x8b\x08zz"));
    const auto source = ByteSource::Open(nothing.path());
    REQUIRE_FALSE(source.ok());
    CHECK(source.error().kind == ErrorKind::kInput);
  }

  TEST_CASE("a decompression bomb is refused") {
    const test::MemoryFile file(Packed(std::string(16 << 20, '\0')));
    UnpackLimits limits;
    limits.ratio = 100;
    limits.ratio_from_bytes = 8 << 20;
    auto source = ByteSource::Open(file.path(), limits);
    REQUIRE(source.ok());
    const auto all = ReadAll(*source.value(), 1 << 30);
    REQUIRE_FALSE(all.ok());
    CHECK(all.error().what.find("expands more than any trace would") != std::string::npos);
    limits.ratio_from_bytes = 32 << 20;
    source = ByteSource::Open(file.path(), limits);
    REQUIRE(source.ok());
    CHECK(ReadAll(*source.value(), 1 << 30).ok());
    // And one that is left before its end does not wait for anybody.
    source = ByteSource::Open(file.path());
    REQUIRE(source.ok());
  }

  TEST_CASE("a packed file can be unpacked to a file") {
    const std::string text = Text(100'000);
    const test::MemoryFile file(Packed(text));
    auto source = ByteSource::Open(file.path());
    REQUIRE(source.ok());
    const auto unpacked = TakeFile(*source.value());
    REQUIRE(unpacked.ok());
    CHECK(unpacked.value().path() == file.path());
    CHECK(unpacked.value().Size().value() == text.size());
    std::string content(text.size(), ' ');
    REQUIRE(unpacked.value().ReadAt(0, content.data(), content.size()).value() == text.size());
    CHECK(content == text);
    source = ByteSource::Open(file.path());
    REQUIRE(source.ok());
    CHECK_FALSE(TakeFile(*source.value(), 1000).ok());
  }
}
