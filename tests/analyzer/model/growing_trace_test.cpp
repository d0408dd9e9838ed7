#include "analyzer/model/loader.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/memory_file.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

using namespace stallscope;
using model::GrowingTrace;
using test::ScratchDir;

namespace {

constexpr uint64_t kChunks = 12;

struct Written {
  std::string bytes;
  std::vector<uint64_t> offsets;  // of the frames, and the end
};

Written Write(const ScratchDir& dir, int64_t from_ns) {
  test::TraceBuilder trace;
  const StageId decode = trace.Stage("decode");
  const QueueId queue = trace.Queue("decoded", 4, decode);
  const TrackId worker = trace.Thread("decode 0", decode);
  for (uint64_t i = 0; i < kChunks; ++i) {
    const int64_t at = from_ns + static_cast<int64_t>(i) * 10'000;
    trace.Work(worker, decode, at, at + 5'000, ItemId{i});
    if (i % 3 == 0) trace.rows().AddCost(4'096, 4'000);
    trace.Wait(worker, trace::WaitCause::kFull, queue, at + 5'000, at + 6'000);
    trace.Step(kChunks - i, at, at + 9'000, worker);  // last ones first: they are sorted
    trace.EndChunk();
  }
  trace.Seal(from_ns + 1'000'000, {{worker, 24, 24, 0}});
  Written written;
  written.offsets = trace.Write(dir / "whole.sst");
  written.bytes = ReadWholeFile(dir / "whole.sst", 1 << 24).value();
  return written;
}

// In place, as a recorder does.
void Append(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
}

void CheckSame(const model::Run& read, const std::string& path) {
  const auto loaded = model::LoadTrace(path);
  REQUIRE(loaded.ok());
  const model::Run& run = loaded.value();
  CHECK(read.path == run.path);
  CHECK(read.format_version == run.format_version);
  REQUIRE(read.tracks.size() == run.tracks.size());
  for (size_t i = 0; i < run.tracks.size(); ++i) {
    CHECK(read.tracks[i].info.name == run.tracks[i].info.name);
    CHECK(read.tracks[i].spans.start_ns == run.tracks[i].spans.start_ns);
    CHECK(read.tracks[i].spans.duration == run.tracks[i].spans.duration);
    CHECK(read.tracks[i].spans.item == run.tracks[i].spans.item);
    CHECK(read.tracks[i].spans.bytes == run.tracks[i].spans.bytes);
  }
  REQUIRE(read.rows.steps.size() == run.rows.steps.size());
  for (size_t i = 0; i < run.rows.steps.size(); ++i) {
    CHECK(read.rows.steps[i].index == run.rows.steps[i].index);
  }
  CHECK(read.quality.sealed == run.quality.sealed);
  CHECK(read.quality.frames == run.quality.frames);
  CHECK(read.quality.damaged_bytes == run.quality.damaged_bytes);
  CHECK(read.quality.cut_at == run.quality.cut_at);
  CHECK(read.quality.warnings == run.quality.warnings);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("growing trace: each reading decodes only what is new") {
    const ScratchDir dir;
    const Written written = Write(dir, 1'000'000);
    const std::string path = dir / "run.sst";
    GrowingTrace growing(path);
    uint64_t end = 0;
    std::vector<model::Run> kept;
    for (size_t frame = 2; frame < written.offsets.size(); frame += 3) {
      CAPTURE(frame);
      Append(path, written.bytes.substr(end, written.offsets[frame] - end));
      end = written.offsets[frame];
      auto run = growing.Read();
      REQUIRE(run.ok());
      CHECK(growing.fresh_chunks() == (kept.empty() ? 2 : 3));
      CheckSame(run.value(), path);
      kept.push_back(std::move(run).value());
    }
    CHECK(kept.back().quality.sealed);
    CHECK(kept.back().rows.steps.size() == kChunks);
    CHECK(kept.front().rows.steps.size() == 1);  // an earlier one stays as it was
    const auto again = growing.Read();
    REQUIRE(again.ok());
    CHECK(growing.fresh_chunks() == 0);
    CheckSame(again.value(), path);
  }

  TEST_CASE("growing trace: a partial frame is read once it is complete") {
    const ScratchDir dir;
    const Written written = Write(dir, 1'000'000);
    const std::string path = dir / "run.sst";
    GrowingTrace growing(path);
    const uint64_t half = written.offsets[5] + 20;
    Append(path, written.bytes.substr(0, half));
    auto run = growing.Read();
    REQUIRE(run.ok());
    CHECK(run.value().quality.cut_at == written.offsets[5]);
    CheckSame(run.value(), path);
    Append(path, written.bytes.substr(half));
    run = growing.Read();
    REQUIRE(run.ok());
    CHECK_FALSE(run.value().quality.cut_at.has_value());
    CHECK(run.value().quality.Complete());
    CheckSame(run.value(), path);
  }

  TEST_CASE("growing trace: a replaced file is read from its beginning") {
    const ScratchDir dir;
    const Written first = Write(dir, 1'000'000);
    const Written second = Write(dir, 9'000'000'000);
    const std::string path = dir / "run.sst";
    for (const bool renamed : {true, false}) {
      CAPTURE(renamed);
      std::filesystem::remove(path);
      Append(path, first.bytes.substr(0, first.offsets[4]));
      GrowingTrace growing(path);
      REQUIRE(growing.Read().ok());
      if (renamed) {
        REQUIRE(WriteFileAtomically(path, second.bytes, Over::kOwnInput).ok());
      } else {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << second.bytes;
      }
      const auto run = growing.Read();
      REQUIRE(run.ok());
      CHECK(growing.fresh_chunks() == kChunks + 2);
      CheckSame(run.value(), path);
    }
  }

  TEST_CASE("growing trace: a missing or foreign file is an error and may recover") {
    const ScratchDir dir;
    const Written written = Write(dir, 1'000'000);
    const std::string path = dir / "run.sst";
    GrowingTrace growing(path);
    CHECK_FALSE(growing.Read().ok());
    Append(path, "this is a text and no trace, whatever its name says");
    CHECK_FALSE(growing.Read().ok());
    REQUIRE(WriteFileAtomically(path, written.bytes, Over::kOwnInput).ok());
    CHECK(growing.Read().ok());
    std::filesystem::remove(path);
    CHECK_FALSE(growing.Read().ok());
  }
}
