#include "gui/session/item_path.h"

#include <doctest/doctest.h>

#include "tests/support/loaded_run.h"

using namespace stallscope;
using namespace stallscope::session;

namespace {

// Element 5 is read, shuffled into 105, decoded, and comes last into batch 1000.
model::Run MakeRun() {
  test::TraceBuilder trace;
  const StageId read = trace.Stage("read", "source");
  const StageId shuffle = trace.Stage("shuffle", "shuffle");
  const StageId decode = trace.Stage("decode");
  const StageId batch = trace.Stage("batch", "batch");
  const TrackId reader = trace.Thread("reader", read);
  const TrackId decoder = trace.Thread("decoder", decode);
  const TrackId engine = trace.Stream("copies");
  trace.rows().Add(trace::Element{ItemId{5}, 42, 0, 999, trace.Text("a.tfrecord"), 0});
  trace.Work(reader, read, 1'000, 1'100, ItemId{5});
  trace.Work(reader, read, 1'200, 1'300, ItemId{6});
  trace.rows().Add(trace::Lineage{ItemId{5}, ItemId{105}, shuffle});
  trace.Work(decoder, decode, 1'500, 1'800, ItemId{105});
  trace.rows().Add(trace::Batch{1'900, ItemId{1'000}, ItemId{105}, batch, 4, {}});
  trace.rows().Add(trace::Copy{
      2'000, 2'000, 2'100, ItemId{1'000}, 64, 0, engine, trace::CopyDirection::kHostToDevice, {}});
  trace.rows().Add(trace::Step{3, 1'000, 1'950, 2'000, 2'500, ItemId{1'000}, {}, 4, 0});
  trace.Seal(3'000);
  return LoadedRun(trace);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an element's path leads from its file to its step, from any item on it") {
    const model::Run run = MakeRun();
    for (const uint64_t item : {5U, 105U, 1'000U}) {
      const ItemPath path = PathOf(run, ItemId{item});
      CAPTURE(item);
      CHECK(path.file == "a.tfrecord");
      CHECK(path.record == 42);
      CHECK(path.step == 0);
      REQUIRE(path.stops.size() == 3);
      CHECK(path.stops[0].what == "read on reader");
      CHECK(path.stops[1].when.start_ns == 1'500);
      CHECK(path.stops[2].at.kind == IntervalKind::kCopy);
    }
  }

  TEST_CASE("an element that reaches no step has the known part of its path") {
    const ItemPath path = PathOf(MakeRun(), ItemId{6});
    CHECK(path.stops.size() == 1);
    CHECK(path.file.empty());
    CHECK_FALSE(path.step.has_value());
    CHECK(PathOf(MakeRun(), ItemId::None()).stops.empty());
  }
}
