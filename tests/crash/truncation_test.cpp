// A trace truncated anywhere yields everything before the cut frame.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/trace/reader.h"
#include "tests/support/memory_file.h"
#include "tests/support/paths.h"
#include "tests/support/trace_samples.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::MemoryFile;

namespace {

// Shortens the file byte by byte. Each time the frames before the cut, and only those, are there
// and equal, and the reader says where it is cut.
void CheckEveryTruncation(const std::string& bytes) {
  const std::vector<size_t> offsets = test::FrameOffsets(bytes);
  REQUIRE(offsets.back() == bytes.size());
  MemoryFile file(bytes);
  size_t wrong = 0;
  for (size_t size = bytes.size(); size-- > 0;) {
    file.Truncate(size);
    auto opened = TraceReader::Open(file.path());
    if (size < kHeaderSize) {
      if (opened.ok() || opened.error().what.empty()) ++wrong;
      continue;
    }
    REQUIRE(opened.ok());
    TraceReader& reader = opened.value();
    const auto whole = static_cast<size_t>(std::upper_bound(offsets.begin(), offsets.end(), size) -
                                           offsets.begin() - 1);
    bool good = true;
    for (size_t i = 0; i < whole; ++i) {
      const auto frame = reader.NextFrame();
      good = good && frame.ok() && frame.value() && frame.value()->offset == offsets[i] &&
             frame.value()->payload ==
                 std::string_view(bytes).substr(offsets[i] + kFrameHeaderSize,
                                                offsets[i + 1] - offsets[i] - kFrameHeaderSize);
    }
    const auto end = reader.NextFrame();
    good = good && end.ok() && !end.value();
    const Damage& damage = reader.damage();
    good = good && damage.bytes == 0 && damage.missing_frames == 0;
    good = good && (size == offsets[whole] ? !damage.cut_at : damage.cut_at == offsets[whole]);
    if (!good) {
      ++wrong;
      CAPTURE(size);
      CHECK(good);
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a small trace truncated at any byte yields its whole frames") {
    const std::string bytes = test::RandomTraceBytes(21, 5, 2'000);
    CHECK(bytes.size() > 8'000);
    CHECK(bytes.size() < 16'384);
    CheckEveryTruncation(bytes);
  }

  TEST_CASE("the chunks of a truncated trace are unchanged") {
    const std::string bytes = test::RandomTraceBytes(22, 3, 1'500);
    const std::vector<size_t> offsets = test::FrameOffsets(bytes);
    MemoryFile file(bytes);
    std::vector<Chunk> chunks;
    auto reader = TraceReader::Open(file.path());
    REQUIRE(reader.ok());
    for (;;) {
      auto chunk = reader.value().Next();
      REQUIRE(chunk.ok());
      if (!chunk.value()) break;
      chunks.push_back(std::move(*chunk.value()));
    }
    REQUIRE(chunks.size() == 4);
    for (size_t size = bytes.size() - 1; size >= kHeaderSize; size -= std::min<size_t>(size, 97)) {
      file.Truncate(size);
      auto cut = TraceReader::Open(file.path());
      REQUIRE(cut.ok());
      size_t read = 0;
      for (;; ++read) {
        auto chunk = cut.value().Next();
        REQUIRE(chunk.ok());
        if (!chunk.value()) break;
        CHECK(chunk.value()->rows == chunks[read].rows);
        CHECK(chunk.value()->definitions.run == chunks[read].definitions.run);
        CHECK(chunk.value()->spans.size() == chunks[read].spans.size());
        CHECK(chunk.value()->strings == chunks[read].strings);
      }
      CHECK(offsets[read] <= size);
      CHECK(offsets[read + 1] > size);
    }
  }

  TEST_CASE("the sample traces yield their whole frames, truncated at any byte") {
    const std::filesystem::path folder = test::SourceDir() + "/sample_traces";
    if (!std::filesystem::exists(folder)) return;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".sst" || entry.file_size() > (256 << 10)) continue;
      CAPTURE(entry.path().string());
      const auto bytes = ReadWholeFile(entry.path().string(), 256 << 10);
      REQUIRE(bytes.ok());
      CheckEveryTruncation(bytes.value());
    }
  }
}
