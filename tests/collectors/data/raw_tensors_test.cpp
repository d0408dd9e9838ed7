#include "collectors/data/raw_tensors.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "analyzer/base/file.h"
#include "collectors/data/buffer.h"
#include "tests/support/paths.h"

using stallscope::ReadWholeFile;
using stallscope::data::AsBytes;
using stallscope::data::Crc32c;
using stallscope::data::DType;
using stallscope::data::OpenMemorySource;
using stallscope::data::RawTensorReader;
using stallscope::data::RawTensorWriter;
using stallscope::data::Shape;
using stallscope::data::Tensor;
using stallscope::test::ScratchDir;

namespace {

std::string ThreeTensors() {
  ScratchDir dir;
  auto writer = RawTensorWriter::Create(dir / "f", DType::kFloat32, {3, 7});
  REQUIRE(writer.ok());
  Tensor tensor(DType::kFloat32, {3, 7});
  for (int i = 0; i < 3; ++i) {
    for (float& value : tensor.Values<float>()) value = static_cast<float>(i) + 0.5f;
    REQUIRE(writer.value().Write(tensor, 10 + i).ok());
  }
  return ReadWholeFile(dir / "f", 1 << 20).value();
}

stallscope::Result<RawTensorReader> RawReaderOf(const std::string& bytes) {
  return RawTensorReader::Over(OpenMemorySource("m.raw", AsBytes(bytes)));
}

// The header with its CRC made good again.
std::string Sealed(std::string bytes) {
  const uint32_t crc = Crc32c(AsBytes(bytes.substr(0, 124)));
  std::memcpy(bytes.data() + 124, &crc, sizeof crc);
  return bytes;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("raw tensors are read as they were written, each at a multiple of 64 bytes") {
    const std::string bytes = ThreeTensors();
    CHECK(bytes.size() == 128 + 3 * (64 + 128));
    auto reader = RawReaderOf(bytes);
    REQUIRE(reader.ok());
    CHECK(reader.value().dtype() == DType::kFloat32);
    CHECK(reader.value().shape() == Shape{3, 7});
    Tensor tensor;
    for (int i = 0; i < 3; ++i) {
      const auto record = reader.value().Next(tensor);
      REQUIRE(record.ok());
      CHECK(record.value()->label == 10 + i);
      CHECK(record.value()->index == static_cast<uint64_t>(i));
      CHECK((record.value()->offset + 64) % 64 == 0);
      CHECK(tensor.Values<float>()[20] == static_cast<float>(i) + 0.5f);
    }
    CHECK_FALSE(reader.value().Next(tensor).value().has_value());
  }

  TEST_CASE("a damaged tensor costs its record, a cut the rest") {
    std::string bytes = ThreeTensors();
    bytes[128 + 192 + 64] ^= 1;
    const std::string short_of_one = bytes.substr(0, bytes.size() - 1);
    auto reader = RawReaderOf(short_of_one);
    REQUIRE(reader.ok());
    Tensor tensor;
    CHECK(reader.value().Next(tensor).ok());
    const auto bad = reader.value().Next(tensor);
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().where == "m.raw, offset 320, record 1");
    const auto cut = reader.value().Next(tensor);
    REQUIRE_FALSE(cut.ok());
    CHECK(cut.error().what == "the file ends inside a record of 192 bytes");
    CHECK_FALSE(reader.value().Next(tensor).value().has_value());
  }

  TEST_CASE("a header that is cut, damaged or claims too much is an error") {
    const std::string bytes = ThreeTensors();
    for (size_t size = 0; size < 128; ++size) CHECK_FALSE(RawReaderOf(bytes.substr(0, size)).ok());
    CHECK(RawReaderOf(bytes.substr(0, 128)).ok());
    std::string flipped = bytes;
    flipped[16] ^= 1;
    CHECK(RawReaderOf(flipped).error().what == "the CRC of the header is wrong");
    CHECK(RawReaderOf(Sealed(flipped)).ok());
    std::string huge = bytes;
    huge[23] = 0x40;
    CHECK(RawReaderOf(Sealed(huge)).error().what.find("claims tensors of more than") !=
          std::string::npos);
    std::string rank = bytes;
    rank[9] = 9;
    CHECK_FALSE(RawReaderOf(Sealed(rank)).ok());
    std::string dtype = bytes;
    dtype[8] = 0;
    CHECK_FALSE(RawReaderOf(Sealed(dtype)).ok());
  }

  TEST_CASE("a tensor of another shape is refused") {
    ScratchDir dir;
    auto writer = RawTensorWriter::Create(dir / "f", DType::kUint8, {4});
    REQUIRE(writer.ok());
    const auto bad = writer.value().Write(Tensor(DType::kUint8, {5}), 0);
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().what == "a uint8 tensor of 5 does not fit a file of uint8 of 4");
    CHECK(writer.value().Write(Tensor(DType::kUint8, {4}), 0).ok());
  }
}
