#include "analyzer/trace/reader.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "analyzer/trace/limits.h"
#include "tests/support/memory_file.h"
#include "tests/support/paths.h"
#include "tests/support/random.h"
#include "tests/support/trace_samples.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::MemoryFile;

namespace {

TraceReader Opened(const MemoryFile& file) {
  auto reader = TraceReader::Open(file.path());
  REQUIRE(reader.ok());
  return std::move(reader).value();
}

// The payloads that are there now.
std::vector<std::string> Payloads(TraceReader& reader) {
  std::vector<std::string> payloads;
  for (;;) {
    auto frame = reader.NextFrame();
    REQUIRE(frame.ok());
    if (!frame.value()) return payloads;
    payloads.emplace_back(frame.value()->payload);
  }
}

std::string Frame(uint32_t sequence, std::string_view payload, uint32_t stream = 0,
                  FrameType type = FrameType::kChunk) {
  return EncodeFrame(type, stream, sequence, payload);
}

std::string OpenError(std::string_view content) {
  const MemoryFile file(content);
  const auto reader = TraceReader::Open(file.path());
  REQUIRE_FALSE(reader.ok());
  CHECK(reader.error().kind == ErrorKind::kInput);
  CHECK(reader.error().where.find(file.path()) == 0);
  CHECK_FALSE(reader.error().hint.empty());
  return reader.error().what;
}

using List = std::vector<std::string>;
const std::string kHeader = EncodeFileHeader({});

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("what cannot be opened says why") {
    CHECK(OpenError("") == "the header is truncated: 0 of 32 bytes");
    CHECK(OpenError(kHeader.substr(0, 31)) == "the header is truncated: 31 of 32 bytes");
    CHECK(OpenError(kHeader.substr(0, 4)) == "the header is truncated: 4 of 32 bytes");
    CHECK(OpenError("hello") == "this is not a stallscope trace");
    CHECK(OpenError(std::string(1'000, '{')) == "this is not a stallscope trace");
    CHECK(OpenError(std::string(1'000, '\0')) == "this is not a stallscope trace");
    const auto missing = TraceReader::Open("/nowhere/t.sst");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().where == "/nowhere/t.sst");
  }

  TEST_CASE("a newer major version and an incompatible feature are refused") {
    FileHeader newer;
    newer.major = 2;
    CHECK(OpenError(EncodeFileHeader(newer) + Frame(0, "x")) ==
          "format version 2.0 with features 0 is newer than this program");
    FileHeader feature;
    feature.incompatible_features = 4;
    CHECK(OpenError(EncodeFileHeader(feature)) ==
          "format version 1.0 with features 4 is newer than this program");
  }

  TEST_CASE("a newer minor version and a compatible feature are read") {
    FileHeader newer;
    newer.minor = 9;
    newer.compatible_features = 0xffffffff;
    const MemoryFile file(EncodeFileHeader(newer) + Frame(0, "x"));
    TraceReader reader = Opened(file);
    CHECK(reader.header().minor == 9);
    CHECK(reader.header().compatible_features == 0xffffffff);
    CHECK(Payloads(reader) == List{"x"});
  }

  TEST_CASE("a trace with only a header is empty and whole") {
    const MemoryFile file(kHeader);
    TraceReader reader = Opened(file);
    CHECK(Payloads(reader).empty());
    CHECK(reader.damage().bytes == 0);
    CHECK_FALSE(reader.damage().cut_at);
  }

  TEST_CASE("a damaged header is damage where a frame follows") {
    std::string bytes = kHeader + Frame(0, "one");
    bytes[20] ^= 1;
    const MemoryFile file(bytes);
    TraceReader reader = Opened(file);
    CHECK(reader.damage().bytes == kHeaderSize);
    CHECK(Payloads(reader) == List{"one"});
    bytes.replace(0, kHeaderSize, kHeaderSize, '?');
    const MemoryFile without_magic(bytes);
    TraceReader salvaged = Opened(without_magic);
    CHECK(Payloads(salvaged) == List{"one"});
    REQUIRE(salvaged.damage().ranges.size() == 1);
    CHECK(salvaged.damage().ranges[0].reason == "the file header is damaged");
    salvaged.Rewind();
    CHECK(salvaged.damage().bytes == kHeaderSize);
    CHECK(Payloads(salvaged) == List{"one"});
  }

  TEST_CASE("a growing file is followed, whatever part of a frame is there") {
    const std::string first = Frame(0, "first");
    const std::string second = Frame(1, std::string(3'000, 's'));
    for (size_t part = 0; part <= second.size(); ++part) {
      MemoryFile file(kHeader + first + second.substr(0, part));
      TraceReader reader = Opened(file);
      CHECK(Payloads(reader).size() == (part == second.size() ? 2 : 1));
      CHECK(reader.damage().cut_at.has_value() == (part != 0 && part != second.size()));
      CHECK(Payloads(reader).empty());
      file.Put(kHeader.size() + first.size() + part, second.substr(part) + Frame(2, "third"));
      CHECK(Payloads(reader).back() == "third");
      CHECK(reader.frames() == 3);
      CHECK(reader.damage().bytes == 0);
      CHECK(reader.damage().missing_frames == 0);
      CHECK_FALSE(reader.damage().cut_at);
    }
  }

  TEST_CASE("a file that grows byte by byte yields every chunk once") {
    const std::string bytes = test::RandomTraceBytes(19, 2, 1'000);
    MemoryFile file(bytes.substr(0, kHeaderSize));
    TraceReader reader = Opened(file);
    size_t chunks = 0;
    for (size_t at = kHeaderSize; at < bytes.size(); ++at) {
      file.Put(at, bytes.substr(at, 1));
      for (;;) {
        auto chunk = reader.Next();
        REQUIRE(chunk.ok());
        if (!chunk.value()) break;
        ++chunks;
      }
    }
    CHECK(chunks == 3);
    CHECK(reader.offset() == bytes.size());
    CHECK(reader.damage().bytes == 0);
    CHECK_FALSE(reader.damage().cut_at);
  }

  // What a writer does whose append failed half-way: the reader must not keep the first half.
  TEST_CASE("a torn frame that is rewritten is read in its new form") {
    const std::string first = Frame(0, "first");
    const std::string torn = Frame(1, std::string(500, 't'));
    MemoryFile file(kHeader + first + torn.substr(0, 300));
    TraceReader reader = Opened(file);
    CHECK(Payloads(reader) == List{"first"});
    CHECK(reader.damage().cut_at == kHeader.size() + first.size());
    file.Truncate(kHeader.size() + first.size());
    CHECK(Payloads(reader).empty());
    CHECK_FALSE(reader.damage().cut_at);
    file.Put(kHeader.size() + first.size(), torn.substr(0, 300));
    CHECK(Payloads(reader).empty());
    file.Put(kHeader.size() + first.size(), Frame(1, "another, shorter") + Frame(2, "next"));
    file.Truncate(kHeader.size() + first.size() + Frame(1, "another, shorter").size() +
                  Frame(2, "next").size());
    CHECK(Payloads(reader) == List{"another, shorter", "next"});
    CHECK(reader.damage().bytes == 0);
    CHECK_FALSE(reader.damage().cut_at);
  }

  TEST_CASE("bytes between frames are skipped, counted and located") {
    const std::string a = Frame(0, "a");
    const std::string b = Frame(1, "b");
    const MemoryFile file(kHeader + a + "garbage" + b + std::string(100'000, 'g') + Frame(2, "c"));
    TraceReader reader = Opened(file);
    CHECK(Payloads(reader) == List{"a", "b", "c"});
    const Damage& damage = reader.damage();
    CHECK(damage.bytes == 100'007);
    REQUIRE(damage.ranges.size() == 2);
    CHECK(damage.ranges[0].offset == kHeader.size() + a.size());
    CHECK(damage.ranges[0].length == 7);
    CHECK(damage.ranges[1].length == 100'000);
    CHECK(damage.missing_frames == 0);
    CHECK_FALSE(damage.cut_at);
  }

  TEST_CASE("a marker across the edge of the reader's window is found") {
    // Windows are 64 KiB and powers of two from there on.
    for (size_t window = size_t{64} << 10; window <= size_t{2} << 20; window *= 2) {
      for (size_t before = 0; before <= 9; ++before) {
        const MemoryFile file(kHeader + std::string(window - before, 'g') + Frame(0, "x"));
        TraceReader reader = Opened(file);
        CHECK(Payloads(reader) == List{"x"});
        CHECK(reader.damage().bytes == window - before);
      }
    }
  }

  TEST_CASE("a marker that begins at the end of a damaged file is awaited") {
    const std::string frame = Frame(0, "late");
    for (size_t part = 0; part < kFrameHeaderSize; ++part) {
      MemoryFile file(kHeader + "damaged bytes" + frame.substr(0, part));
      TraceReader reader = Opened(file);
      CHECK(Payloads(reader).empty());
      CHECK(reader.damage().bytes == 13);
      CHECK(reader.damage().cut_at.has_value() == (part > 0));
      file.Put(kHeader.size() + 13 + part, frame.substr(part));
      CHECK(Payloads(reader) == List{"late"});
      CHECK(reader.damage().bytes == 13);
    }
  }

  TEST_CASE("missing sequence numbers are counted, per stream") {
    const MemoryFile file(kHeader + Frame(0, "a") + Frame(3, "b") + Frame(5, "c", 9) +
                          Frame(4, "d") + Frame(6, "e", 9) + Frame(6, "e again", 9));
    TraceReader reader = Opened(file);
    CHECK(Payloads(reader).size() == 6);
    CHECK(reader.damage().missing_frames == 2 + 5);
    CHECK(reader.damage().bytes == 0);
    reader.Rewind();
    CHECK(reader.damage().missing_frames == 0);
    CHECK(Payloads(reader).size() == 6);
    CHECK(reader.damage().missing_frames == 7);
  }

  TEST_CASE("sequence numbers wrap at 2^32") {
    const MemoryFile file(kHeader + Frame(0xffffffff, "last") + Frame(0, "again"));
    TraceReader reader = Opened(file);
    CHECK(Payloads(reader).size() == 2);
    CHECK(reader.damage().missing_frames == 0xffffffff);
  }

  TEST_CASE("frames of unknown types are skipped and are not damage") {
    const test::NumberedNames names;
    ChunkBuilder builder(names);
    builder.Add(Sample{1, 2, CounterId{3}});
    const MemoryFile file(kHeader + Frame(0, "of the future", 0, static_cast<FrameType>(3)) +
                          Frame(1, builder.Finish({})) +
                          Frame(2, "", 0, static_cast<FrameType>(255)));
    TraceReader reader = Opened(file);
    auto chunk = reader.Next();
    REQUIRE(chunk.ok());
    REQUIRE(chunk.value());
    CHECK(chunk.value()->rows.samples.size() == 1);
    CHECK_FALSE(reader.Next().value());
    CHECK(reader.frames() == 3);
    CHECK(reader.damage().bytes == 0);
    CHECK(reader.damage().missing_frames == 0);
  }

  TEST_CASE("a whole frame without a chunk is damage with a reason") {
    const MemoryFile file(kHeader + Frame(0, "\xff\xff") + Frame(1, ""));
    TraceReader reader = Opened(file);
    CHECK(reader.Next().value().has_value());
    CHECK(reader.damage().bytes == kFrameHeaderSize + 2);
    REQUIRE(reader.damage().ranges.size() == 1);
    CHECK(reader.damage().ranges[0].offset == kHeaderSize);
    CHECK(reader.damage().ranges[0].reason == "a payload that is not a chunk");
  }

  TEST_CASE("frames of maximum length are read, one after the other") {
    test::Random random(20);
    List payloads;
    std::string bytes = kHeader;
    for (uint32_t i = 0; i < 5; ++i) {
      payloads.push_back(random.Bytes(kMaxPayload - i));
      bytes += Frame(i, payloads.back());
    }
    const MemoryFile file(bytes);
    TraceReader reader = Opened(file);
    CHECK(Payloads(reader) == payloads);
    CHECK(reader.damage().bytes == 0);
  }

  TEST_CASE("of many damaged ranges, the first are kept and all are counted") {
    std::string bytes = kHeader;
    for (uint32_t i = 0; i < 1'000; ++i) bytes += "??" + Frame(i, "x");
    const MemoryFile file(bytes);
    TraceReader reader = Opened(file);
    CHECK(Payloads(reader).size() == 1'000);
    CHECK(reader.damage().bytes == 2'000);
    CHECK(reader.damage().ranges.size() == Damage::kMaxRanges);
  }

  TEST_CASE("a trace is recognized by its first bytes") {
    const std::string trace = kHeader + Frame(0, "x");
    CHECK(TraceReader::LooksLikeTrace(trace));
    CHECK(TraceReader::LooksLikeTrace(kHeader));
    CHECK(TraceReader::LooksLikeTrace(kHeader.substr(0, 4)));
    CHECK(TraceReader::LooksLikeTrace(std::string(kHeaderSize, '?') + Frame(0, "x")));
    CHECK_FALSE(TraceReader::LooksLikeTrace(""));
    CHECK_FALSE(TraceReader::LooksLikeTrace(kHeader.substr(0, 3)));
    CHECK_FALSE(TraceReader::LooksLikeTrace("{\"traceEvents\": []}"));
    CHECK_FALSE(TraceReader::LooksLikeTrace(std::string(100, '\x89')));
  }
}
