#include "analyzer/trace/chunk.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/trace/wire_walk.h"
#include "tests/support/random.h"
#include "tests/support/trace_samples.h"
#include "tests/support/wire_bytes.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::BytesField;
using stallscope::test::NumberedNames;
using stallscope::test::NumberField;
using stallscope::test::Random;
using stallscope::test::Varints;

namespace {

Chunk Decoded(const std::string& payload) {
  Result<Chunk> chunk = DecodeChunk(payload);
  REQUIRE(chunk.ok());
  return std::move(chunk).value();
}

// The spans of a chunk, track by track, with the classes that they name.
std::map<uint32_t, std::vector<test::Span>> SpansOf(const Chunk& chunk) {
  std::vector<uint16_t> classes(chunk.span_classes.size());
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<uint16_t>(i);
  std::map<uint32_t, std::vector<test::Span>> all;
  for (const EncodedSpans& encoded : chunk.spans) {
    SpanColumns columns;
    REQUIRE(AppendSpans(encoded, classes, columns));
    columns.PadOptional();
    for (size_t i = 0; i < columns.size(); ++i) {
      test::Span span{encoded.track.value,
                      chunk.span_classes[columns.span_class[i]],
                      columns.start_ns[i],
                      columns.EndNs(i),
                      ItemId{columns.item[i]},
                      0,
                      0,
                      TrackId::None()};
      if (!columns.bytes.empty()) span.bytes = columns.bytes[i];
      if (!columns.cpu_ns.empty()) span.cpu_ns = columns.cpu_ns[i];
      if (!columns.waker.empty()) span.waker = TrackId{columns.waker[i] - 1};
      all[encoded.track.value].push_back(span);
    }
  }
  return all;
}

bool Same(const test::Span& a, const test::Span& b) {
  return a.track == b.track && a.span_class == b.span_class && a.start_ns == b.start_ns &&
         a.end_ns == b.end_ns && a.item == b.item && a.bytes == b.bytes && a.cpu_ns == b.cpu_ns &&
         a.waker == b.waker;
}

std::set<uint32_t> IdsOf(const Names& names) {
  std::set<uint32_t> ids;
  for (const auto& [id, name] : names) ids.insert(id);
  CHECK(ids.size() == names.size());  // each once
  return ids;
}

constexpr SpanClass kDecodeWork{SpanKind::kWork, StageId{1}, WaitCause::kUnknown, QueueId::None()};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an empty builder yields a chunk with only its anchor") {
    const NumberedNames names;
    ChunkBuilder builder(names);
    CHECK(builder.Empty());
    CHECK_FALSE(builder.Full());
    const Chunk chunk = Decoded(builder.Finish({12, -34, 56}));
    CHECK(chunk.anchor.ticks == 12);
    CHECK(chunk.anchor.monotonic_ns == -34);
    CHECK(chunk.anchor.realtime_ns == 56);
    CHECK(chunk.rows == EventRows());
    CHECK(chunk.spans.empty());
    CHECK(chunk.span_classes.empty());
    CHECK(chunk.stage_names.empty());
    CHECK_FALSE(chunk.definitions.run);
    CHECK_FALSE(chunk.seal);
  }

  TEST_CASE("definitions come back with every field") {
    const Definitions definitions = test::FullDefinitions();
    const NumberedNames names;
    ChunkBuilder builder(names);
    builder.Define(*definitions.run);
    for (const auto& stage : definitions.stages) builder.Define(stage);
    for (const auto& queue : definitions.queues) builder.Define(queue);
    for (const auto& track : definitions.tracks) builder.Define(track);
    for (const auto& counter : definitions.counters) builder.Define(counter);
    for (const auto& process : definitions.processes) builder.Define(process);
    for (const auto& loader : definitions.loaders) builder.Define(loader);
    for (const auto& op : definitions.ops) builder.Define(op);
    for (const auto& code : definitions.code_lines) builder.Define(code);
    const Chunk chunk = Decoded(builder.Finish({}));
    CHECK(chunk.definitions.run == definitions.run);
    CHECK(chunk.definitions.stages == definitions.stages);
    CHECK(chunk.definitions.queues == definitions.queues);
    CHECK(chunk.definitions.tracks == definitions.tracks);
    CHECK(chunk.definitions.counters == definitions.counters);
    CHECK(chunk.definitions.processes == definitions.processes);
    CHECK(chunk.definitions.loaders == definitions.loaders);
    CHECK(chunk.definitions.ops == definitions.ops);
    CHECK(chunk.definitions.code_lines == definitions.code_lines);
  }

  TEST_CASE("a seal comes back") {
    const Seal seal{
        -7, {{TrackId{0}, ~uint64_t{0}, 1, 2}, {TrackId{70'000}, 3, 2, 1}}, "disk full"};
    const NumberedNames names;
    ChunkBuilder builder(names);
    builder.SetSeal(seal);
    CHECK_FALSE(builder.Empty());
    CHECK(Decoded(builder.Finish({})).seal == seal);
  }

  TEST_CASE("rows of every table come back together") {
    Random random(11);
    const EventRows rows = test::RandomRows(random, 200);
    const NumberedNames names;
    ChunkBuilder builder(names);
    test::AddAll(builder, rows);
    CHECK(Decoded(builder.Finish({})).rows == rows);
  }

  TEST_CASE("spans of several tracks come back in each track's order") {
    Random random(12);
    const std::vector<test::Span> spans = test::RandomSpans(random, 20'000);
    std::map<uint32_t, std::vector<test::Span>> expected;
    const NumberedNames names;
    ChunkBuilder builder(names);
    for (const test::Span& span : spans) {
      test::Add(builder, span);
      expected[span.track].push_back(span);
    }
    CHECK_FALSE(builder.Full());
    const auto read = SpansOf(Decoded(builder.Finish({})));
    REQUIRE(read.size() == expected.size());
    for (const auto& [track, rows] : expected) {
      REQUIRE(read.at(track).size() == rows.size());
      CHECK(std::equal(rows.begin(), rows.end(), read.at(track).begin(), Same));
    }
  }

  TEST_CASE("classes that differ in one field only stay apart, however many") {
    const NumberedNames names;
    ChunkBuilder builder(names);
    std::vector<SpanClass> classes;
    for (uint32_t i = 0; i < 1'000; ++i) {
      // Queues 2^24 apart fall together where only the low bits of an id count.
      classes.push_back({SpanKind::kWait, StageId{i % 3}, WaitCause::kEmpty, QueueId{i << 22}});
      classes.push_back({SpanKind::kWait, StageId{i % 3}, WaitCause::kFull, QueueId{i << 22}});
      classes.push_back({SpanKind::kWork, StageId{i << 16}, WaitCause::kUnknown, QueueId::None()});
    }
    for (int round = 0; round < 2; ++round) {
      for (const SpanClass& c : classes) builder.AddSpan(TrackId{0}, c, 1, 2, ItemId::None());
    }
    const auto read = SpansOf(Decoded(builder.Finish({}))).at(0);
    REQUIRE(read.size() == 2 * classes.size());
    bool same = true;
    for (size_t i = 0; i < read.size(); ++i) {
      same = same && read[i].span_class == classes[i % classes.size()];
    }
    CHECK(same);
  }

  TEST_CASE("a chunk contains the names of everything it mentions, each once") {
    const NumberedNames names;
    ChunkBuilder builder(names);
    builder.AddSpan(TrackId{1}, kDecodeWork, 0, 1, ItemId{0});
    builder.AddSpan(TrackId{2}, {SpanKind::kWait, StageId::None(), WaitCause::kFull, QueueId{30}},
                    0, 1, ItemId::None());
    builder.AddWaker(TrackId{1});
    for (int i = 0; i < 3; ++i) {
      builder.Add(QueueEvent{0, ItemId{1}, QueueId{31}, TrackId{3}, 0, QueueOp::kPop});
      builder.Add(Release{0, 0, ItemId{1}, StageId{2}});
      builder.Add(Lineage{ItemId{1}, ItemId{2}, StageId{3}});
      builder.Add(Batch{0, ItemId{1}, ItemId{1}, StageId{4}, 8, StringId{40}});
      builder.Add(Element{ItemId{1}, 0, 0, 0, StringId{41}, 0});
      builder.Add(CacheEvent{0, ItemId{1}, 0, StageId{5}, 0, CacheOp::kHit});
      builder.Add(Copy{0, 0, 0, ItemId{1}, 0, 0, TrackId{4}, {}, {}});
      builder.Add(Kernel{0, 0, 0, ItemId{1}, 0, 0, TrackId{5}, StringId{42}});
      Step step;
      step.track = TrackId{6};
      builder.Add(step);
      builder.Add(Sample{0, 1, CounterId{50}});
      builder.Add(KnobChange{0, StringId{43}, StringId{44}, StringId::None()});
      builder.Add(Gap{0, 1, 2, TrackId{7}});
    }
    const Chunk chunk = Decoded(builder.Finish({}));
    CHECK(IdsOf(chunk.stage_names) == std::set<uint32_t>{1, 2, 3, 4, 5});
    CHECK(IdsOf(chunk.queue_names) == std::set<uint32_t>{30, 31});
    CHECK(IdsOf(chunk.track_names) == std::set<uint32_t>{1, 2, 3, 4, 5, 6, 7});
    CHECK(IdsOf(chunk.strings) == std::set<uint32_t>{40, 41, 42, 43, 44});
    CHECK(IdsOf(chunk.counter_names) == std::set<uint32_t>{50});
    CHECK(chunk.strings.front().second == "string 40");
    CHECK(names.asked() == 5 + 2 + 7 + 5 + 1);
  }

  TEST_CASE("a finished builder is empty, and its next chunk is self-contained") {
    Random random(13);
    const NumberedNames names;
    ChunkBuilder builder(names);
    const std::vector<test::Span> spans = test::RandomSpans(random, 3'000);
    const EventRows rows = test::RandomRows(random, 20);
    std::string payloads[3];
    for (std::string& payload : payloads) {
      builder.Define(test::FullRunInfo());
      for (const test::Span& span : spans) test::Add(builder, span);
      test::AddAll(builder, rows);
      builder.SetSeal({1, {}, "x"});
      CHECK_FALSE(builder.Empty());
      payload = builder.Finish({1, 2, 3});
      CHECK(builder.Empty());
      CHECK_FALSE(builder.Full());
    }
    CHECK(payloads[0] == payloads[1]);
    CHECK(payloads[1] == payloads[2]);
    const Chunk empty = Decoded(builder.Finish({}));
    CHECK(empty.rows == EventRows());
    CHECK(empty.spans.empty());
    CHECK_FALSE(empty.seal);
    CHECK_FALSE(empty.definitions.run);
  }

  TEST_CASE("a cost without a span is ignored") {
    const NumberedNames names;
    ChunkBuilder builder(names);
    builder.AddCost(1, 2);
    builder.AddWaker(TrackId{1});
    CHECK(builder.Empty());
    builder.AddSpan(TrackId{0}, kDecodeWork, 0, 1, ItemId{0});
    (void)builder.Finish({});
    builder.AddCost(1, 2);
    CHECK(builder.Empty());
    CHECK(Decoded(builder.Finish({})).spans.empty());
  }

  TEST_CASE("tracks without a number or with a huge one cost no more than others") {
    const NumberedNames names;
    ChunkBuilder builder(names);
    for (TrackId track : {TrackId::None(), TrackId{0xfffffffe}, TrackId{0}, TrackId::None()}) {
      builder.AddSpan(track, kDecodeWork, 0, 1, ItemId{0});
    }
    builder.Add(Gap{0, 1, 2, TrackId{0xfffffffe}});
    const auto read = SpansOf(Decoded(builder.Finish({})));
    REQUIRE(read.size() == 3);
    CHECK(read.at(0xffffffff).size() == 2);
    CHECK(read.at(0xfffffffe).size() == 1);
  }

  TEST_CASE("unknown enums are read as unknown, or as the plainest") {
    const std::string payload =
        BytesField(8, NumberField(1, 9) + NumberField(3, 77)) +
        BytesField(7, BytesField(4, NumberField(1, 5) + NumberField(3, 258)));
    const Chunk chunk = Decoded(payload);
    REQUIRE(chunk.span_classes.size() == 1);
    CHECK(chunk.span_classes[0].kind == SpanKind::kWork);
    CHECK(chunk.span_classes[0].cause == WaitCause::kUnknown);
    REQUIRE(chunk.definitions.tracks.size() == 1);
    CHECK(chunk.definitions.tracks[0].kind == trace::TrackKind::kThread);
  }

  TEST_CASE("fields of a later version are skipped") {
    const NumberedNames names;
    ChunkBuilder builder(names);
    builder.Add(Sample{5, 2.5, CounterId{1}});
    const std::string payload = builder.Finish({}) + NumberField(900, 1) + BytesField(15, "abc") +
                                BytesField(901, std::string(500, '\xff'));
    CHECK(Decoded(payload).rows.samples.size() == 1);
  }

  TEST_CASE("bytes that are not a chunk are an error that says so") {
    const auto error = [](const std::string& payload) {
      const Result<Chunk> chunk = DecodeChunk(payload);
      REQUIRE_FALSE(chunk.ok());
      CHECK(chunk.error().kind == ErrorKind::kInput);
      return chunk.error().what;
    };
    CHECK(DecodeChunk("").ok());
    CHECK(error("\xff\xff\xff") == "a payload that is not a chunk");
    CHECK(error(BytesField(9, "abc").substr(0, 4)) == "a payload that is not a chunk");
    CHECK(error("\x0b\x0c") == "a payload that is not a chunk");
    CHECK(error(std::string(kMaxPayload + 1, '\0')) == "a payload of more than 1 MiB");
    CHECK(error(test::Repeat(BytesField(8, ""), kMaxMessagesInPayload + 1)) ==
          "a payload with too many parts");
    CHECK(DecodeChunk(test::Repeat(BytesField(8, ""), kMaxMessagesInPayload)).ok());
    // A table whose columns are shorter than its count.
    CHECK(error(BytesField(25, NumberField(1, 0xffffffff) + BytesField(2, "abc") +
                                   BytesField(2, "abc") + BytesField(2, "abc"))) ==
          "a table whose columns do not match its row count");
  }

  TEST_CASE("a payload truncated anywhere is an error or a chunk") {
    Random random(14);
    const std::string payload = test::RandomPayload(random, 30, 2);
    for (size_t size = 0; size < payload.size(); ++size) {
      const std::string_view part(payload.data(), size);
      (void)CountChunk(part);
      const Result<Chunk> chunk = DecodeChunk(part);
      if (chunk.ok()) CHECK(chunk.value().spans.size() <= 4);
    }
  }

  TEST_CASE("a chunk's counts match its contents") {
    Random random(15);
    const NumberedNames names;
    ChunkBuilder builder(names);
    const std::vector<test::Span> spans = test::RandomSpans(random, 5'000);
    std::map<uint32_t, uint64_t> expected;
    for (const test::Span& span : spans) {
      test::Add(builder, span);
      ++expected[span.track];
    }
    test::AddAll(builder, test::RandomRows(random, 37));
    const ChunkCounts counts = CountChunk(builder.Finish({}));
    CHECK(counts.spans.size() == expected.size());
    for (const auto& [track, count] : counts.spans) CHECK(count == expected.at(track.value));
    CHECK(counts.rows.size() == 12);
    for (const auto& [table, count] : counts.rows) CHECK(count == 37);
  }

  TEST_CASE("counts larger than the bytes permit are reduced") {
    const std::string payload =
        BytesField(9, NumberField(1, 3) + NumberField(2, 0xffffffff) + BytesField(3, "abcd")) +
        BytesField(25, NumberField(1, ~uint64_t{0}) + BytesField(2, "abcdef"));
    const ChunkCounts counts = CountChunk(payload);
    REQUIRE(counts.spans.size() == 1);
    CHECK(counts.spans[0].first == TrackId{3});
    CHECK(counts.spans[0].second <= payload.size() / 4);
    CHECK(counts.rows.at(25) <= payload.size() / 3);
  }
}
