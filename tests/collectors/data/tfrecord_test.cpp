#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "collectors/data/buffer.h"
#include "collectors/data/tfrecord.h"
#include "tests/support/faults.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

using stallscope::ErrorKind;
using stallscope::ReadWholeFile;
using stallscope::WriteFileAtomically;
using stallscope::data::AsBytes;
using stallscope::data::AsText;
using stallscope::data::Compression;
using stallscope::data::Crc32c;
using stallscope::data::MaskCrc;
using stallscope::data::OpenMemorySource;
using stallscope::data::ReadOptions;
using stallscope::data::TfRecordReader;
using stallscope::data::TfRecordWriter;
using stallscope::test::ScratchDir;

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Sizes around block boundaries, an empty record, and one of several blocks.
std::vector<std::string> Payloads() {
  std::vector<std::string> payloads;
  for (size_t size : {size_t{0}, size_t{1}, size_t{5}, size_t{4080}, size_t{4096}, size_t{100'000},
                      size_t{262'128}, size_t{1'500'000}, size_t{64}}) {
    std::string payload(size, '\0');
    for (size_t i = 0; i < size; ++i) payload[i] = static_cast<char>((i * 2654435761u + size) >> 7);
    payloads.push_back(payload);
  }
  return payloads;
}

void WriteAll(const std::string& path, const std::vector<std::string>& payloads,
              Compression compression = Compression::kNone) {
  auto writer = TfRecordWriter::Create(path, compression);
  REQUIRE(writer.ok());
  for (const auto& payload : payloads) REQUIRE(writer.value().Write(AsBytes(payload)).ok());
  REQUIRE(writer.value().Finish().ok());
  CHECK(writer.value().records() == payloads.size());
}

std::string OneRecord(const std::string& payload) {
  ScratchDir dir;
  WriteAll(dir / "f", {payload});
  return ReadWholeFile(dir / "f", kGiB).value();
}

// A header whose CRC is right, whatever the length.
std::string HeaderOf(uint64_t length) {
  std::string header(reinterpret_cast<const char*>(&length), sizeof length);
  const uint32_t crc = MaskCrc(Crc32c(AsBytes(header)));
  return header.append(reinterpret_cast<const char*>(&crc), sizeof crc);
}

// The bytes must outlive the reader.
TfRecordReader ReaderOf(std::string&& bytes) = delete;
TfRecordReader ReaderOf(const std::string& bytes) {
  auto reader = TfRecordReader::Over(OpenMemorySource("m.tfrecord", AsBytes(bytes)));
  REQUIRE(reader.ok());
  return std::move(reader).value();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the mask is TensorFlow's") {
    // The CRC of 32 zero bytes is in RFC 3720; its mask by the formula of the format's page.
    CHECK(Crc32c(AsBytes(std::string(32, '\0'))) == 0x8a9136aau);
    CHECK(MaskCrc(0x8a9136aau) == ((0x8a9136aau >> 15 | 0x8a9136aau << 17) + 0xa282ead8u));
  }

  TEST_CASE("what is written is read, at every block size, packed or not") {
    const auto payloads = Payloads();
    for (auto compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
      ScratchDir dir;
      WriteAll(dir / "f", payloads, compression);
      for (size_t block : {size_t{1}, size_t{4096}, size_t{262'144}, size_t{4} << 20}) {
        ReadOptions options;
        options.block_bytes = block;
        auto opened = TfRecordReader::Open(dir / "f", options);
        REQUIRE(opened.ok());
        TfRecordReader& reader = opened.value();
        CHECK(reader.compressed() == (compression != Compression::kNone));
        uint64_t offset = 0;
        for (size_t i = 0; i < payloads.size(); ++i) {
          auto record = reader.Next();
          REQUIRE(record.ok());
          REQUIRE(record.value().has_value());
          CHECK(AsText(record.value()->payload) == payloads[i]);
          CHECK(record.value()->index == i);
          CHECK(record.value()->offset == offset);
          CHECK(record.value()->length == payloads[i].size() + 16);
          offset += payloads[i].size() + 16;
        }
        auto end = reader.Next();
        REQUIRE(end.ok());
        CHECK_FALSE(end.value().has_value());
        CHECK(reader.lost().bytes == 0);
      }
    }
  }

  TEST_CASE("an empty file has no records, a missing one and a folder are errors") {
    ScratchDir dir;
    WriteAll(dir / "empty", {});
    auto reader = TfRecordReader::Open(dir / "empty");
    REQUIRE(reader.ok());
    CHECK_FALSE(reader.value().Next().value().has_value());
    const auto missing = TfRecordReader::Open(dir / "none");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().kind == ErrorKind::kRun);
    CHECK(missing.error().where == dir / "none");
    const auto folder = TfRecordReader::Open(dir.path());
    REQUIRE_FALSE(folder.ok());
    CHECK(folder.error().what == "cannot read: Is a directory");
  }

  TEST_CASE("a bad payload costs one record, named by file, offset and number") {
    std::string bytes = OneRecord("first") + OneRecord("second") + OneRecord("third");
    bytes[21 + 12] ^= 1;
    auto reader = ReaderOf(bytes);
    CHECK(AsText(reader.Next().value()->payload) == "first");
    const auto bad = reader.Next();
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().where == "m.tfrecord, offset 21, record 1");
    CHECK(bad.error().what == "the CRC of the record's 6 bytes is wrong");
    CHECK(reader.can_continue());
    const auto third = reader.Next();
    REQUIRE(third.ok());
    CHECK(AsText(third.value()->payload) == "third");
    CHECK(third.value()->index == 2);
    CHECK(reader.lost().records == 1);
    CHECK(reader.lost().bytes == 22);
  }

  TEST_CASE("a bad length costs the rest of the file, and says how much") {
    std::string bytes = OneRecord("first") + OneRecord("second") + OneRecord("third");
    bytes[21] ^= 1;
    auto reader = ReaderOf(bytes);
    CHECK(reader.Next().ok());
    const auto bad = reader.Next();
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().where == "m.tfrecord, offset 21, record 1");
    CHECK(bad.error().what ==
          "the CRC of the record's length is wrong; 43 bytes from here on are lost");
    CHECK_FALSE(reader.can_continue());
    CHECK(reader.lost().bytes == 43);
    const auto after = reader.Next();
    REQUIRE(after.ok());
    CHECK_FALSE(after.value().has_value());
  }

  TEST_CASE("a file cut anywhere is an error, except between records") {
    const std::string first = OneRecord("first");
    const std::string bytes = first + OneRecord(std::string(200, 'x'));
    for (size_t size = 0; size <= bytes.size(); ++size) {
      const std::string cut = bytes.substr(0, size);
      auto reader = ReaderOf(cut);
      auto record = reader.Next();
      int records = 0;
      while (record.ok() && record.value().has_value()) {
        ++records;
        record = reader.Next();
      }
      const bool whole = size == 0 || size == first.size() || size == bytes.size();
      CHECK(record.ok() == whole);
      CHECK(records == (size >= bytes.size() ? 2 : size >= first.size() ? 1 : 0));
    }
  }

  TEST_CASE("a length that the file cannot hold costs no memory") {
    const std::string bytes = OneRecord("good") + HeaderOf(uint64_t{1} << 62) + "short";
    auto reader = ReaderOf(bytes);
    CHECK(reader.Next().ok());
    const auto bad = reader.Next();
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().what.starts_with("the file ends inside a record of 4611686018427387904"));
    // In a packed file the size is not known beforehand; the limit is.
    ScratchDir dir;
    const std::string plain = HeaderOf(uint64_t{1} << 62) + "short";
    gzFile packed = gzopen((dir / "f.gz").c_str(), "wb");
    gzwrite(packed, plain.data(), static_cast<unsigned>(plain.size()));
    gzclose(packed);
    auto from_gzip = TfRecordReader::Open(dir / "f.gz");
    REQUIRE(from_gzip.ok());
    const auto too_long = from_gzip.value().Next();
    REQUIRE_FALSE(too_long.ok());
    CHECK(too_long.error().what.find("more than the limit") != std::string::npos);
  }

  TEST_CASE("a file of another kind is detected at its first record") {
    const std::string bytes = "label,pixel0\n1,2\n3,4\n";
    auto reader = ReaderOf(bytes);
    const auto bad = reader.Next();
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().hint == "check that this is a TFRecord file");
  }

  TEST_CASE("packed data that is damaged, cut or followed by more is an error") {
    for (auto compression : {Compression::kGzip, Compression::kZlib}) {
      ScratchDir dir;
      WriteAll(dir / "f", Payloads(), compression);
      const std::string good = ReadWholeFile(dir / "f", kGiB).value();
      const auto read = [](const std::string& bytes) {
        auto reader = ReaderOf(bytes);
        for (;;) {
          auto record = reader.Next();
          if (!record.ok()) return record.error().Line();
          if (!record.value().has_value()) return std::string("whole");
        }
      };
      CHECK(read(good) == "whole");
      const std::string cut = read(good.substr(0, good.size() / 2));
      CHECK(cut.find("is truncated") != std::string::npos);
      CHECK(cut.find("m.tfrecord, packed offset") != std::string::npos);
      CHECK(cut.find("record ") != std::string::npos);
      std::string flipped = good;
      flipped[good.size() / 2] ^= 0x10;
      CHECK(read(flipped) != "whole");
      std::string trailer = good;
      trailer[good.size() - 1] ^= 1;
      CHECK(read(trailer).find("damaged") != std::string::npos);
      if (compression == Compression::kZlib) CHECK(read(good + "x") != "whole");
    }
  }

  TEST_CASE("concatenated gzip files are one file") {
    ScratchDir dir;
    WriteAll(dir / "a", {"one", "two"}, Compression::kGzip);
    WriteAll(dir / "b", {"three"}, Compression::kGzip);
    const std::string bytes =
        ReadWholeFile(dir / "a", kGiB).value() + ReadWholeFile(dir / "b", kGiB).value();
    auto reader = ReaderOf(bytes);
    CHECK(AsText(reader.Next().value()->payload) == "one");
    CHECK(AsText(reader.Next().value()->payload) == "two");
    CHECK(AsText(reader.Next().value()->payload) == "three");
    CHECK_FALSE(reader.Next().value().has_value());
  }

  TEST_CASE("a length that looks like a zlib header is still a length") {
    // 0x0178 = 376 bytes: the first two bytes of the file are those of a zlib stream.
    const std::string bytes = OneRecord(std::string(376, 'z'));
    auto reader = ReaderOf(bytes);
    CHECK_FALSE(reader.compressed());
    CHECK(reader.Next().value()->payload.size() == 376);
  }

  TEST_CASE("the observer sees every read with its bytes, the throttle included") {
    ScratchDir dir;
    WriteAll(dir / "f", Payloads());
    uint64_t bytes = 0;
    stallscope::Ticks last = 0;
    ReadOptions options;
    options.throttle = std::make_shared<stallscope::data::TokenBucket>(50'000'000);
    options.on_read = [&](stallscope::Ticks begin, stallscope::Ticks end, uint64_t size, int64_t) {
      CHECK(begin >= last);
      CHECK(end >= begin);
      last = end;
      bytes += size;
    };
    const int64_t begin = stallscope::MonotonicNs();
    auto reader = TfRecordReader::Open(dir / "f", options);
    REQUIRE(reader.ok());
    while (reader.value().Next().value().has_value()) {
    }
    CHECK(bytes == std::filesystem::file_size(dir / "f"));
    CHECK(stallscope::MonotonicNs() - begin >= static_cast<int64_t>(bytes) * 20 - 1'000'000);
  }

  TEST_CASE("a full disk is the writer's error, at the latest when it finishes") {
    ScratchDir dir;
    stallscope::test::FaultyDisk disk(stallscope::test::FaultyDisk::Fault::kError, 0, 100);
    auto writer = TfRecordWriter::Create(dir / "f", Compression::kNone, disk);
    REQUIRE(writer.ok());
    CHECK(writer.value().Write(AsBytes("small")).ok());
    const auto finished = writer.value().Finish();
    REQUIRE_FALSE(finished.ok());
    CHECK(finished.error().what == "cannot write: No space left on device");
  }

  TEST_CASE("real files have the records that an independent program counted") {
    const auto corpus = stallscope::test::CorpusDir();
    if (!corpus.has_value()) return stallscope::test::Skip("STALLSCOPE_CORPUS is not set");
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(*corpus + "/tfrecord")) {
      std::ifstream text(*corpus + "/facts/" + entry.path().filename().string() + ".json");
      const auto facts = nlohmann::json::parse(text);
      auto reader = TfRecordReader::Open(entry.path());
      REQUIRE(reader.ok());
      uint64_t records = 0, sum = 0, least = UINT64_MAX, most = 0;
      for (;;) {
        const auto record = reader.value().Next();
        REQUIRE(record.ok());
        if (!record.value().has_value()) break;
        const uint64_t size = record.value()->payload.size();
        ++records;
        sum += size;
        least = std::min(least, size);
        most = std::max(most, size);
      }
      CHECK(records == facts["records"].get<uint64_t>());
      CHECK(sum == facts["sum_payload"].get<uint64_t>());
      CHECK(least == facts["min_len"].get<uint64_t>());
      CHECK(most == facts["max_len"].get<uint64_t>());
      CHECK(reader.value().offset() == facts["bytes"].get<uint64_t>());
      ++files;
    }
    CHECK(files >= 2);
  }

  TEST_CASE("a record that a few packed bytes unpack to is not kept") {
    ScratchDir dir;
    // Zeros, which pack a thousand to one.
    WriteAll(dir / "bomb", {std::string(size_t{200} << 20, '\0')}, Compression::kGzip);
    auto bomb = TfRecordReader::Open(dir / "bomb");
    REQUIRE(bomb.ok());
    const auto record = bomb.value().Next();
    REQUIRE_FALSE(record.ok());
    CHECK(record.error().what.find("packed bytes") != std::string::npos);
    CHECK_FALSE(bomb.value().can_continue());
    // Many that are small may pack as well as they like.
    WriteAll(dir / "small", std::vector<std::string>(200, std::string(size_t{1} << 20, '\0')),
             Compression::kGzip);
    auto small = TfRecordReader::Open(dir / "small");
    REQUIRE(small.ok());
    for (int i = 0; i < 200; ++i) REQUIRE(small.value().Next().ok());
    CHECK(small.value().records() == 200);
  }

  TEST_CASE("only regular files are data: no devices, folders and pipes") {
    ScratchDir dir;
    REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
    for (const std::string& path :
         {std::string("/dev/zero"), std::string("/dev/null"), dir.path(), dir / "pipe"}) {
      CAPTURE(path);
      const auto source = stallscope::data::OpenFileSource(path, {});
      REQUIRE_FALSE(source.ok());
      CHECK(source.error().where == path);
      CHECK(!source.error().hint.empty());
    }
  }
}
