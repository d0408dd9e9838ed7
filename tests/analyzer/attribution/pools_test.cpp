// Pools of a job's own, for which its loading waits.
#include <doctest/doctest.h>

#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using stallscope::test::BlameText;
using stallscope::test::RunBuilder;

namespace {

// The trainer's thread makes each batch in 100: for 20 it computes, and for 80 it is off the CPU,
// in an op of that name that has 80 - `blocked` of CPU time. Every fourth batch is looked into.
std::string BlameOf(const char* op, uint64_t blocked) {
  RunBuilder b;
  b.run.info.job.command = {"python", "train.py"};
  const StageId fetch = b.Stage("fetch", "map", 1);
  const StageId trainer = b.Stage("trainer", "trainer", 1, true, {fetch});
  const TrackId main = b.Thread("main", trainer);
  for (uint64_t i = 0; i < 8; ++i) {
    const int64_t at = static_cast<int64_t>(i) * 110;
    if (i % 4 == 2) {
      b.Op(main, fetch, b.Text(op), at + 10, at + 90, {.item = i, .cpu = 80 - blocked});
    }
    b.Work(main, fetch, at, at + 100, {.item = i, .cpu = 20});
    b.Work(main, trainer, at + 100, at + 110, {.item = i});
    b.Step({.index = i,
            .requested = at,
            .received = at + 100,
            .done = at + 110,
            .batch = i,
            .track = main});
  }
  const model::Run run = b.Take();
  return BlameText(run, attribution::Attribute(run));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a wait for a pool that computes is CPU time") {
    CHECK(BlameOf("waiting for decode", 0) == "fetch cpu 800");
    // Of a batch that is not looked into 60 of 100; else 40 in the op, and 12 around it.
    CHECK(BlameOf("waiting for decode", 40) == "fetch blocked 336, fetch cpu 464");
    CHECK(BlameOf("waiting for decode", 79) == "fetch blocked 664, fetch cpu 136");
  }

  TEST_CASE("what an op of its own has of CPU time is no pool's") {
    CHECK(BlameOf("decode", 80) == "fetch blocked 640, fetch cpu 160");
  }
}
