#include <doctest/doctest.h>

#include "analyzer/base/file.h"
#include "analyzer/model/loader.h"
#include "tests/support/paths.h"
#include "tests/support/trace_builder.h"

using namespace stallscope;
using stallscope::test::ScratchDir;
using stallscope::test::TraceBuilder;

namespace {

// Three chunks of ten spans and one step each, frames 1 to 3; definitions are frame 0, the seal is
// frame 4.
struct Sample {
  TraceBuilder trace;
  StageId stage = trace.Stage("decode");
  TrackId track = trace.Thread("decode 0", stage);
  ScratchDir dir;
  std::string path = dir / "run.sst";
  std::vector<uint64_t> offsets;
  std::string bytes;

  Sample() {
    for (int chunk = 0; chunk < 3; ++chunk) {
      for (int i = 0; i < 10; ++i) {
        trace.Work(track, stage, chunk * 1000 + i * 10, chunk * 1000 + i * 10 + 5, ItemId{7});
      }
      trace.Step(static_cast<uint64_t>(chunk), chunk * 1000, chunk * 1000 + 900, track);
      trace.EndChunk();
    }
    trace.Seal(5000);
    offsets = trace.Write(path);
    bytes = ReadWholeFile(path, 1 << 20).value();
  }
  Result<model::Run> LoadBytes(const std::string& changed) {
    REQUIRE(WriteFileAtomically(path, changed).ok());
    return model::LoadTrace(path);
  }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("damage in the middle loses one chunk and reports its place") {
    Sample sample;
    std::string bytes = sample.bytes;
    bytes[sample.offsets[2] + 40] ^= 1;
    const auto run = sample.LoadBytes(bytes);
    REQUIRE(run.ok());
    CHECK(run.value().tracks[0].spans.size() == 20);
    CHECK(run.value().rows.steps.size() == 2);
    const model::DataQuality& quality = run.value().quality;
    CHECK(quality.sealed);
    CHECK(quality.damaged_bytes == sample.offsets[3] - sample.offsets[2]);
    REQUIRE(quality.damaged_ranges.size() == 1);
    CHECK(quality.damaged_ranges[0].offset == sample.offsets[2]);
    CHECK(quality.missing_frames == 1);
    CHECK_FALSE(quality.Complete());
    REQUIRE(quality.warnings.size() == 2);
    CHECK(quality.warnings[0].find(sample.path + ", offset " + std::to_string(sample.offsets[2]) +
                                   ": ") == 0);
  }

  TEST_CASE("truncated file: whole frames are read, the cut is reported") {
    Sample sample;
    for (size_t size = sample.offsets[1]; size < sample.bytes.size(); ++size) {
      const auto run = sample.LoadBytes(sample.bytes.substr(0, size));
      REQUIRE(run.ok());
      size_t whole = 0;
      while (sample.offsets[whole + 1] <= size) ++whole;
      const uint64_t end = sample.offsets[whole];
      CHECK(model::CountSpans(run.value()) == (whole - 1) * 10);
      CHECK(run.value().quality.damaged_bytes == size - end);
      CHECK_FALSE(run.value().quality.sealed);
      if (size == end) {
        CHECK_FALSE(run.value().quality.cut_at);
      } else {
        CHECK(run.value().quality.cut_at == end);
        const std::string read = whole == 1 ? "0 spans before it were read"
                                 : whole == 2
                                     ? "1 step before it was read"
                                     : std::to_string(whole - 1) + " steps before it were read";
        CHECK(run.value().quality.warnings[0] == sample.path + ", offset " + std::to_string(end) +
                                                     ": the file ends inside a frame; " + read);
      }
    }
  }

  TEST_CASE("names survive lost definitions") {
    Sample sample;
    std::string bytes = sample.bytes;
    bytes[sample.offsets[0] + 30] ^= 1;
    const auto run = sample.LoadBytes(bytes);
    REQUIRE(run.ok());
    CHECK(run.value().stages[0].name == "decode");
    CHECK(run.value().tracks[0].info.name == "decode 0");
    CHECK(model::CountSpans(run.value()) == 30);
  }

  TEST_CASE("a definition overrides names from chunks in either order") {
    ScratchDir dir;
    TraceBuilder said;
    const StageId stage = said.Stage("short");
    said.Work(said.Thread("t"), stage, 1, 2);
    said.with_definitions = false;
    TraceBuilder defined;
    defined.Stage("the whole name", "map", 3);
    for (const bool definition_first : {false, true}) {
      auto writer = trace::TraceWriter::Create(dir / "run.sst");
      REQUIRE(writer.ok());
      const std::string a = defined.Payloads()[0].second;
      const std::string b = said.Payloads()[0].second;
      REQUIRE(writer.value().Append(trace::FrameType::kChunk, definition_first ? a : b).ok());
      REQUIRE(writer.value().Append(trace::FrameType::kChunk, definition_first ? b : a).ok());
      const auto run = model::LoadTrace(dir / "run.sst");
      REQUIRE(run.ok());
      CHECK(run.value().stages[0].name == "the whole name");
      CHECK(run.value().stages[0].workers == 3);
    }
  }

  TEST_CASE("a damaged header loses nothing and is reported") {
    Sample sample;
    std::string bytes = sample.bytes;
    bytes[12] ^= 1;
    const auto run = sample.LoadBytes(bytes);
    REQUIRE(run.ok());
    CHECK(model::CountSpans(run.value()) == 30);
    CHECK(run.value().quality.damaged_bytes == trace::kHeaderSize);
  }

  TEST_CASE("trace without a whole chunk: an error with the offset") {
    Sample sample;
    const auto cut = sample.LoadBytes(sample.bytes.substr(0, sample.offsets[1] - 1));
    REQUIRE_FALSE(cut.ok());
    CHECK(cut.error().kind == ErrorKind::kInput);
    CHECK(cut.error().Line() ==
          sample.path +
              ", offset 32: the file ends inside its first frame; nothing could be read; "
              "record the run again");
    const auto garbage =
        sample.LoadBytes(sample.bytes.substr(0, trace::kHeaderSize) + std::string(5000, 'x'));
    REQUIRE_FALSE(garbage.ok());
    CHECK(garbage.error().what == "no part of the trace could be read");
  }

  TEST_CASE("file still being written: read as far as it goes") {
    Sample sample;
    const auto before = sample.LoadBytes(sample.bytes.substr(0, sample.offsets[2]));
    REQUIRE(before.ok());
    CHECK(model::CountSpans(before.value()) == 10);
    const auto after = sample.LoadBytes(sample.bytes);
    REQUIRE(after.ok());
    CHECK(model::CountSpans(after.value()) == 30);
    CHECK(after.value().quality.Complete());
    CHECK(after.value().quality.warnings.empty());
  }
}
