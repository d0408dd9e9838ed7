#include "analyzer/importers/foreign/run_builder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/trace/limits.h"
#include "tests/support/random.h"

using namespace stallscope;
using Row = std::tuple<int64_t, int64_t, uint64_t>;  // end, -start, -item: the order
using importers::RunBuilder;
using trace::SpanColumns;

namespace {

bool Warned(const model::Run& run, const std::string& line) {
  const auto& warnings = run.quality.warnings;
  return std::find(warnings.begin(), warnings.end(), line) != warnings.end();
}

void Add(SpanColumns& spans, int64_t start, int64_t end, uint64_t item) {
  const int64_t ns = end - start;
  if (ns >= SpanColumns::kLongDuration) spans.long_durations.emplace_back(spans.size(), ns);
  spans.duration.push_back(ns >= SpanColumns::kLongDuration ? SpanColumns::kLongDuration
                                                            : static_cast<uint32_t>(ns));
  spans.start_ns.push_back(start);
  spans.span_class.push_back(static_cast<uint16_t>(item % 7));
  spans.item.push_back(item);
}

std::vector<Row> Rows(const SpanColumns& spans) {
  std::vector<Row> rows;
  for (size_t i = 0; i < spans.size(); ++i) {
    CHECK(spans.span_class[i] == spans.item[i] % 7);
    rows.emplace_back(spans.EndNs(i), -spans.start_ns[i], ~spans.item[i]);
  }
  return rows;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("spans come out sorted, whatever order they came in") {
    RunBuilder builder("a.json", "test", "1");
    const TrackId track = builder.ThreadTrack("", 0);
    const uint16_t outer = builder.Detail(trace::SpanActivity::kOperator, builder.Intern("outer"));
    const uint16_t inner = builder.Detail(trace::SpanActivity::kOperator, builder.Intern("inner"));
    builder.AddSpan(track, outer, 10, 90);
    builder.AddSpan(track, inner, 20, 30);
    builder.AddSpan(track, inner, 1, 5);
    const model::Run run = builder.Finish({});
    const trace::SpanColumns& spans = run.tracks[0].spans;
    CHECK(std::vector<int64_t>(spans.start_ns.begin(), spans.start_ns.end()) ==
          std::vector<int64_t>{1, 20, 10});
    CHECK(run.info.start_ns == 1);
    CHECK(run.info.end_ns == 90);
    CHECK(run.format == "test");
    CHECK(run.imported());
    CHECK(run.quality.Complete());
  }

  TEST_CASE("a run that begins before time 0 lasts to its last event") {
    for (const int64_t end : {-1, 0, 90}) {
      RunBuilder builder("a.json", "test");
      const TrackId track = builder.ThreadTrack("", 0);
      builder.AddSpan(track, builder.Detail(trace::SpanActivity::kNone, {}), -10, end);
      const model::Run run = builder.Finish({});
      CHECK(run.info.start_ns == -10);
      CHECK(run.info.end_ns == end);
    }
  }

  TEST_CASE("impossible times are repaired and counted") {
    RunBuilder builder("a.json", "test");
    const TrackId track = builder.ThreadTrack("", 0);
    builder.AddSpan(track, builder.Detail(trace::SpanActivity::kNone, {}), 10, 4);
    builder.AddSpan(track, builder.Detail(trace::SpanActivity::kNone, {}), 0,
                    trace::kMaxTimeNs + 1);
    const model::Run run = builder.Finish({});
    CHECK(run.tracks[0].spans.EndNs(0) == 10);
    CHECK(run.tracks[0].spans.EndNs(1) == trace::kMaxTimeNs);
    CHECK(Warned(run, "a.json: 1 event ends before it begins: the duration is set to 0"));
  }

  TEST_CASE("what is counted reads well for one, for several, and not at all for none") {
    const auto warned = [](uint64_t count) {
      RunBuilder builder("a.json", "test");
      builder.Count("{pot|pots} of tea {is|are} cold", count);
      builder.Count("lost in the post", count);
      return builder.Finish({}).quality.warnings;
    };
    using Lines = std::vector<std::string>;
    CHECK(warned(0).empty());
    CHECK(warned(1) == Lines{"a.json: 1 lost in the post", "a.json: 1 pot of tea is cold"});
    CHECK(warned(2) == Lines{"a.json: 2 lost in the post", "a.json: 2 pots of tea are cold"});
  }

  TEST_CASE("steps and launches stay within the limits of times") {
    RunBuilder builder("a.json", "test");
    const TrackId track = builder.ThreadTrack("", 0);
    trace::Kernel kernel;
    kernel.enqueued_ns = INT64_MIN;
    kernel.start_ns = 30;
    kernel.end_ns = 40;
    kernel.track = track;
    builder.Add(kernel);
    kernel.enqueued_ns = 29;
    builder.Add(kernel);
    const model::Run run =
        builder.Finish({{1, INT64_MIN, -5, track}, {2, 10, 50, track}, {3, 60, INT64_MAX, track}});
    CHECK(run.rows.kernels[0].enqueued_ns == trace::kMinTimeNs);
    CHECK(run.rows.kernels[1].enqueued_ns == 29);
    REQUIRE(run.rows.steps.size() == 3);
    CHECK(run.rows.steps[0].requested_ns == trace::kMinTimeNs);
    CHECK(run.rows.steps[1].requested_ns == 10);
    CHECK(run.rows.steps[2].device_done_ns == trace::kMaxTimeNs);
  }

  TEST_CASE("stages are identified by name and kind; past the limit there are none") {
    RunBuilder builder("a.json", "test");
    const StageId decode = builder.Stage("decode", "map");
    CHECK(builder.Stage("decode", "map") == decode);
    CHECK(builder.Stage("decode", "batch") != decode);
    builder.Connect(decode, decode);
    CHECK(builder.run().stages[decode.value].inputs.empty());
    CHECK(builder.QueueOf(decode) == builder.QueueOf(decode));
    CHECK(builder.QueueOf(StageId::None()) == QueueId::None());
    for (size_t i = 0; i < trace::kMaxStages; ++i) builder.Stage(std::to_string(i), "map");
    CHECK(builder.Stage("one more", "map") == StageId::None());
  }

  TEST_CASE("looking up a stage among the most possible is fast") {
    RunBuilder builder("a.json", "test");
    const StageId trainer = builder.Stage("trainer", "trainer");
    for (size_t i = 1; i < trace::kMaxStages; ++i) {
      builder.Connect(builder.Stage(std::to_string(i), "map"), trainer);
    }
    const std::string last = std::to_string(trace::kMaxStages - 1);
    for (int i = 0; i < 5'000'000; ++i) builder.Connect(builder.Stage(last, "map"), trainer);
    CHECK(builder.run().stages[trainer.value].inputs.size() == trace::kMaxStages - 1);
  }

  TEST_CASE("span kinds past the limit lose their names, not their time") {
    RunBuilder builder("a.json", "test");
    const TrackId track = builder.ThreadTrack("", 0);
    for (size_t i = 0; i < trace::kMaxSpanClasses; ++i) {
      const auto name = builder.Intern("name " + std::to_string(i));
      builder.AddSpan(track, builder.Detail(trace::SpanActivity::kFunction, name), 0, 1);
    }
    const model::Run run = builder.Finish({});
    CHECK(run.tracks[0].spans.size() == trace::kMaxSpanClasses);
    CHECK(run.span_classes.size() < trace::kMaxSpanClasses);
    CHECK(run.quality.warnings.size() == 1);
  }

  TEST_CASE("a wait for a batch that the trainer fills itself is explained by its work") {
    for (const bool itself : {true, false}) {
      RunBuilder builder("a.json", "test");
      const TrackId trainer = builder.ThreadTrack("", 0);
      const StageId loader = builder.Stage("loader", "dataloader");
      builder.AddBatchWait(trainer, loader, 5, 9, itself);
      const model::Run run = builder.Finish({});
      REQUIRE(run.tracks[0].spans.size() == (itself ? 2 : 1));
      // The work lies inside the wait, and so comes first.
      const trace::SpanClass& last = run.ClassOf(run.tracks[0], run.tracks[0].spans.size() - 1);
      CHECK(model::IsBatchWait(last));
      CHECK(run.queues[last.queue.value].producer == loader);
      if (itself) CHECK(run.ClassOf(run.tracks[0], 0).stage == loader);
    }
  }

  TEST_CASE("an enclosing span comes later, and of two equal ones the first") {
    SpanColumns spans;
    Add(spans, 0, 100, 0);  // encloses all
    Add(spans, 0, 100, 1);  // the same, inside
    Add(spans, 10, 20, 2);
    Add(spans, 90, 100, 3);
    importers::OrderSpans(spans);
    CHECK(std::vector<uint64_t>(spans.item.begin(), spans.item.end()) ==
          std::vector<uint64_t>{2, 3, 1, 0});
  }

  TEST_CASE("any order comes out sorted, with all of a span's columns") {
    test::Random random(7);
    for (int round = 0; round < 200; ++round) {
      SpanColumns spans;
      const uint64_t count = random.Below(300);
      int64_t at = 0;
      for (uint64_t i = 0; i < count; ++i) {
        // Runs by start, now and then a new one; long spans among them.
        at = random.Below(40) == 0 ? 0 : at + static_cast<int64_t>(random.Below(20));
        const uint64_t length = random.Below(30) == 0 ? 5'000'000'000 : random.Below(50);
        Add(spans, at, at + static_cast<int64_t>(length), i);
      }
      std::vector<Row> expected = Rows(spans);
      std::sort(expected.begin(), expected.end());
      importers::OrderSpans(spans);
      CHECK(Rows(spans) == expected);
    }
  }
}
