#include "analyzer/model/ranks.h"

#include <doctest/doctest.h>

#include "tests/support/loaded_run.h"

using namespace stallscope;
using stallscope::test::TraceBuilder;

namespace {

// Steps at 1000 and 2000 after the start, whose monotonic clock reads `start`.
model::Run RankRun(uint32_t rank, int64_t start, int64_t realtime) {
  TraceBuilder trace;
  trace.run.rank = rank;
  trace.run.start_ns = start;
  trace.run.start_realtime_ns = realtime;
  const StageId read = trace.Stage("read", "source");
  const StageId decode = trace.Stage("decode", "map", 2, {read});
  const QueueId queue = trace.Queue("decode-batch", 4, decode);
  const TrackId track = trace.Thread("worker", decode);
  const TrackId trainer = trace.Thread("trainer");
  const CounterId counter = trace.Counter("rss", "bytes");
  trace.Work(track, decode, start + 10, start + 20, ItemId{5});
  trace.Wait(trainer, trace::WaitCause::kEmpty, queue, start + 1, start + 20);
  trace.rows().AddWaker(track);
  trace.Step(0, start + 1000, start + 1900, trainer);
  trace.Step(1, start + 2000, start + 2900, trainer);
  trace.rows().Add(trace::Sample{start + 7, 2.0 + rank, counter});
  trace.rows().Add(trace::Gap{start + 8, start + 9, 3, trainer});
  trace.rows().Add(trace::Element{ItemId{5}, 0, 0, 1, trace.Text("f" + std::to_string(rank)), 0});
  trace.Seal(start + 3000, {{track, 4, 1, 3}});
  return LoadedRun(trace);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("merged ranks share a clock and keep their own tracks") {
    // Rank 1 booted much later; by the wall clock it began 50 ns after rank 0.
    std::vector<model::Run> runs;
    runs.push_back(RankRun(1, 100, 1'700'000'000'000'000'050));
    runs.push_back(RankRun(0, 900'000, 1'700'000'000'000'000'000));
    auto merged = model::MergeRanks(std::move(runs));
    REQUIRE(merged.ok());
    const model::Run& run = merged.value();
    CHECK(run.info.world_size == 2);
    CHECK(run.ranks_of_host == 2);
    CHECK(run.info.start_ns == 900'000);
    CHECK(run.info.end_ns == 903'050);

    REQUIRE(run.stages.size() == 2);
    CHECK(run.stages[1].name == "decode");
    CHECK(run.stages[1].workers == 4);
    REQUIRE(run.tracks.size() == 4);
    CHECK(run.tracks[0].info.name == "rank 0: worker");
    CHECK(run.tracks[2].info.name == "rank 1: worker");
    CHECK(run.tracks[2].rank == 1);
    CHECK(run.tracks[2].info.stage == StageId{1});
    CHECK(run.tracks[2].spans.start_ns[0] == 900'060);
    CHECK(run.tracks[0].spans.item[0] == 5);
    CHECK(run.tracks[2].spans.item[0] == (uint64_t{1} << 48 | 5));
    CHECK(run.tracks[3].spans.waker[0] == 3);
    REQUIRE(run.queues.size() == 2);
    CHECK(run.queues[1].producer == StageId{1});
    CHECK(run.queues[1].rank == 1);
    CHECK(run.ClassOf(run.tracks[3], 0).queue == QueueId{1});
    CHECK(run.counters[1].name == "rank 1: rss");
    CHECK(run.GapsOf(TrackId{3}).size() == 1);
    CHECK(run.rows.elements[1].item == ItemId{uint64_t{1} << 48 | 5});
    CHECK(run.Text(run.rows.elements[1].file) == "f1");

    REQUIRE(run.rows.steps.size() == 4);
    CHECK(run.step_ranks == std::vector<uint32_t>{0, 1, 0, 1});
    const auto steps = model::StepIntervals(run);
    CHECK(steps[0].end_ns == 902'000);
    CHECK(steps[1].start_ns == 901'050);
    CHECK(steps[1].end_ns == 902'050);
    CHECK(steps[2].end_ns == 902'900);

    CHECK(run.quality.sealed);
    CHECK(run.quality.emitted == 8);
    CHECK(run.quality.dropped == 6);
  }

  TEST_CASE("ranks without a number are numbered in the order given") {
    std::vector<model::Run> runs;
    runs.push_back(RankRun(0, 100, 1000));
    runs.push_back(RankRun(0, 100, 1000));
    const auto merged = model::MergeRanks(std::move(runs));
    REQUIRE(merged.ok());
    CHECK(merged.value().tracks[2].info.name == "rank 1: worker");
  }

  TEST_CASE("one rank is unchanged, none is an error") {
    std::vector<model::Run> runs;
    runs.push_back(RankRun(0, 100, 1000));
    const auto merged = model::MergeRanks(std::move(runs));
    REQUIRE(merged.ok());
    CHECK(merged.value().tracks[0].info.name == "worker");
    CHECK(merged.value().step_ranks.empty());
    CHECK(merged.value().ranks_of_host == 0);
    CHECK_FALSE(model::MergeRanks({}).ok());
  }
}
