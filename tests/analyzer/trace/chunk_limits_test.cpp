// Whatever a builder is given, its reader takes what comes out of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/limits.h"
#include "analyzer/trace/wire_walk.h"
#include "tests/support/random.h"
#include "tests/support/trace_samples.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::Random;

namespace {

// The same text for everything.
class OneName : public NameSource {
 public:
  explicit OneName(std::string name) : name_(std::move(name)) {}
  std::string StageName(StageId) const override { return name_; }
  std::string QueueName(QueueId) const override { return name_; }
  std::string TrackName(TrackId) const override { return name_; }
  std::string CounterName(CounterId) const override { return name_; }
  std::string String(StringId) const override { return name_; }

 private:
  std::string name_;
};

void CheckReadable(const std::string& payload) {
  CHECK(payload.size() <= kMaxPayload);
  const auto messages = CountMessages(payload);
  REQUIRE(messages);
  CHECK(*messages <= kMaxMessagesInPayload);
  const Result<Chunk> chunk = DecodeChunk(payload);
  REQUIRE(chunk.ok());
  const std::vector<uint16_t> classes(chunk.value().span_classes.size());
  SpanColumns spans;
  for (const EncodedSpans& encoded : chunk.value().spans) {
    CHECK(AppendSpans(encoded, classes, spans));
  }
}

// Adds until the builder is full, and then the largest thing that may still come: a seal of very
// many tracks. Returns how many things were added.
size_t CheckFilled(const NameSource& names,
                   const std::function<void(ChunkBuilder&, uint32_t)>& add) {
  ChunkBuilder builder(names);
  uint32_t added = 0;
  while (!builder.Full() && added < 2'000'000) add(builder, added++);
  CHECK(builder.Full());
  Seal seal;
  seal.end_ns = -1;
  seal.first_error.assign(100'000, 'e');
  seal.tallies.assign(100'000, {TrackId{0xfffffffe}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}});
  builder.SetSeal(seal);
  CheckReadable(builder.Finish({~uint64_t{0}, -1, -1}));
  return added;
}

constexpr SpanClass kWork{SpanKind::kWork, StageId{1}, WaitCause::kUnknown, QueueId::None()};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a chunk of short spans stays within the limits") {
    const OneName names("n");
    const size_t added = CheckFilled(names, [](ChunkBuilder& builder, uint32_t i) {
      builder.AddSpan(TrackId{i / 1'000}, kWork, i, i + 1, ItemId{i});
    });
    CHECK(added > 100'000);
  }

  TEST_CASE("a chunk of long spans stays within the limits") {
    const OneName names("n");
    Random random(16);
    CheckFilled(names, [&](ChunkBuilder& builder, uint32_t) {
      builder.AddSpan(TrackId{0}, kWork, random.OneIn(2) ? kMinTimeNs : kMaxTimeNs, kMaxTimeNs,
                      ItemId{random.Next()});
      builder.AddCost(~uint64_t{0}, ~uint64_t{0});
      builder.AddWaker(TrackId{0xfffffffe});
    });
  }

  TEST_CASE("costs that begin at the first or last span stay within the limits") {
    const OneName names("n");
    const size_t first = CheckFilled(names, [](ChunkBuilder& builder, uint32_t i) {
      builder.AddSpan(TrackId{0}, kWork, 0, 1, ItemId{0});
      if (i == 0) builder.AddCost(1, 1);
      if (i == 0) builder.AddWaker(TrackId{0});
    });
    ChunkBuilder builder(names);
    for (size_t i = 0; i + 1 < first; ++i) builder.AddSpan(TrackId{0}, kWork, 0, 1, ItemId{0});
    CHECK_FALSE(builder.Full());
    builder.AddSpan(TrackId{0}, kWork, 0, 1, ItemId{0});
    builder.AddCost(~uint64_t{0}, ~uint64_t{0});
    builder.AddWaker(TrackId{0xfffffffe});
    CheckReadable(builder.Finish({}));
  }

  TEST_CASE("chunks of very many tracks, classes, names stay within the limits") {
    for (const std::string& name : {std::string(), std::string("n"), std::string(100, 'n'),
                                    std::string(kMaxNameBytes, 'n'), std::string(100'000, 'n')}) {
      CAPTURE(name.size());
      const OneName names(name);
      CheckFilled(names, [](ChunkBuilder& builder, uint32_t i) {
        builder.AddSpan(TrackId{i * 60'013}, kWork, 0, 1, ItemId::None());
      });
      CheckFilled(names, [](ChunkBuilder& builder, uint32_t i) {
        builder.AddSpan(TrackId{0}, {SpanKind::kWait, StageId{i}, WaitCause::kLock, QueueId{i * 7}},
                        0, 1, ItemId::None());
      });
      CheckFilled(names, [](ChunkBuilder& builder, uint32_t i) {
        builder.Add(KnobChange{0, StringId{3 * i}, StringId{3 * i + 1}, StringId{3 * i + 2}});
      });
      CheckFilled(names, [](ChunkBuilder& builder, uint32_t i) {
        builder.Add(Element{ItemId{i}, 0, 0, 0, StringId{i}, 0});
      });
      CheckFilled(names, [](ChunkBuilder& builder, uint32_t i) {
        builder.Add(Sample{0, 0, CounterId{i}});
      });
    }
  }

  TEST_CASE("names that are too long are cut") {
    const OneName names(std::string(10'000, 'n'));
    ChunkBuilder builder(names);
    builder.Add(Sample{0, 0, CounterId{0}});
    const Result<Chunk> chunk = DecodeChunk(builder.Finish({}));
    REQUIRE(chunk.ok());
    CHECK(chunk.value().counter_names[0].second == std::string(kMaxNameBytes, 'n'));
  }

  TEST_CASE("chunks of definitions stay within the limits") {
    for (size_t length : {size_t{0}, size_t{1}, size_t{5'000}}) {
      CAPTURE(length);
      const OneName names("");
      const std::string text(length, 't');
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t i) {
        builder.Define(StageInfo{StageId{i}, text, text, {}, QueueId{0xfffffffe}, ~0u, true});
      });
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t i) {
        StageInfo stage{StageId{i}, text, text, {}, QueueId{0xfffffffe}, ~0u, true};
        for (int setting = 0; setting < 40; ++setting) {
          stage.settings[std::to_string(setting) + text] = text;
        }
        builder.Define(stage);
      });
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t i) {
        builder.Define(QueueInfo{QueueId{i}, text, ~uint64_t{0}, true});
      });
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t i) {
        builder.Define(TrackInfo{TrackId{i}, text, trace::TrackKind::kSampler, StageId{0xfffffffe},
                                 ~uint64_t{0}, ~0u});
      });
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t i) {
        builder.Define(CounterInfo{CounterId{i}, text, text});
      });
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t i) {
        builder.Define(ProcessInfo{ProcessId{i}, text, ~uint64_t{0}, ~uint64_t{0},
                                   std::vector<std::string>(2'000, text), kMinTimeNs, -1});
      });
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t i) {
        const std::vector<std::string> many(2'000, text);
        builder.Define(LoaderInfo{LoaderId{i},
                                  ProcessId{0xfffffffe},
                                  text,
                                  text,
                                  text,
                                  ~0u,
                                  text,
                                  {~0u, ~0u, ~0u, ~0u, many, many, many, true, ~0u, text}});
      });
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t) {
        builder.Define(OpInfo{text, text, ~0u});
      });
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t) {
        const std::vector<CodeLines::Line> many(2'000, {~0u, ~uint64_t{0}, ~uint64_t{0}});
        builder.Define(CodeLines{text, ~0u, many});
      });
    }
    const OneName names("");
    CheckFilled(names, [&](ChunkBuilder& builder, uint32_t i) {
      StageInfo stage;
      stage.id = StageId{i};
      stage.inputs.assign(100'000, StageId{0xfffffffe});
      builder.Define(stage);
    });
  }

  TEST_CASE("the largest RunInfo is cut, and leaves the builder room for more") {
    RunInfo run = test::FullRunInfo();
    const std::string huge(3'000'000, 'x');
    for (std::string* text :
         {&run.name, &run.tool, &run.spec_json, &run.graph_json, &run.data_fingerprint, &run.digest,
          &run.host.name, &run.host.kernel, &run.host.cpu, &run.device.kind, &run.device.name,
          &run.device.driver, &run.tick_source}) {
      *text = huge;
    }
    for (const size_t length : {size_t{0}, size_t{40}, size_t{10'000}}) {
      run.command_line.assign(5'000, std::string(length, 'a'));
      run.warnings = run.command_line;
      const OneName names("n");
      ChunkBuilder builder(names);
      builder.Define(run);
      CHECK_FALSE(builder.Full());
      const CounterInfo counter{CounterId{0}, "c", ""};
      while (!builder.Full()) builder.Define(counter);
      builder.SetSeal({0, std::vector<Tally>(100'000, {TrackId{9}, 1, 1, 1}), huge});
      const std::string payload = builder.Finish({});
      CheckReadable(payload);
      const Result<Chunk> chunk = DecodeChunk(payload);
      const RunInfo& read = *chunk.value().definitions.run;
      CHECK(read.name.size() == kMaxNameBytes);
      CHECK(read.tick_source.size() == kMaxNameBytes);
      CHECK(read.spec_json.size() == kMaxTextBytes);
      CHECK(read.graph_json.size() == kMaxTextBytes);
      CHECK(read.command_line.size() <= 1'024);
      CHECK(read.command_line[0].size() == std::min(length, kMaxNameBytes));
      CHECK(read.command_line == read.warnings);
    }
  }

  TEST_CASE("tallies past the limit are added up, so that the sums are right") {
    Seal seal;
    for (uint32_t i = 0; i < 10'000; ++i) seal.tallies.push_back({TrackId{i}, i + 2, i, 2});
    const OneName names("");
    ChunkBuilder builder(names);
    builder.SetSeal(seal);
    const Result<Chunk> chunk = DecodeChunk(builder.Finish({}));
    REQUIRE(chunk.ok());
    const std::vector<Tally>& tallies = chunk.value().seal->tallies;
    REQUIRE(tallies.size() == kMaxTalliesInSeal);
    CHECK(tallies[100] == seal.tallies[100]);
    CHECK_FALSE(tallies.back().track.known());
    Tally sum;
    for (const Tally& tally : tallies) {
      sum.emitted += tally.emitted;
      sum.stored += tally.stored;
      sum.dropped += tally.dropped;
    }
    CHECK(sum.stored == uint64_t{10'000} * 9'999 / 2);
    CHECK(sum.dropped == 20'000);
    CHECK(sum.emitted == sum.stored + sum.dropped);
  }

  TEST_CASE("random contents stay within the limits") {
    Random random(17);
    for (int round = 0; round < 8; ++round) {
      const OneName names(std::string(random.OfAnyLength(13), 'n'));
      CheckFilled(names, [&](ChunkBuilder& builder, uint32_t) {
        switch (random.Below(4)) {
          case 0:
            builder.AddSpan(TrackId{static_cast<uint32_t>(random.OfAnyLength(32))},
                            {SpanKind::kWait, StageId{static_cast<uint32_t>(random.Below(9))},
                             WaitCause::kIo, QueueId{static_cast<uint32_t>(random.Below(99))}},
                            static_cast<int64_t>(random.Next()),
                            static_cast<int64_t>(random.Next()), ItemId{random.OfAnyLength()});
            break;
          case 1:
            builder.AddCost(random.OfAnyLength(), random.OfAnyLength());
            builder.AddWaker(TrackId{static_cast<uint32_t>(random.OfAnyLength(32))});
            break;
          case 2:
            builder.Add(test::RandomRow<Kernel>(random));
            break;
          default:
            builder.Add(test::RandomRow<Batch>(random));
            break;
        }
      });
    }
  }
}
