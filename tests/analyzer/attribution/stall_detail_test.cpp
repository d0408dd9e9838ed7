#include "analyzer/attribution/groundwork.h"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <utility>

#include "tests/analyzer/attribution/random_runs.h"
#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::Random;
using test::RunBuilder;
using trace::WaitCause;

namespace {

using Sums = std::map<std::pair<StageId, Cause>, int64_t>;

// The trainer waits for a batch that decode brings: for 30 ns of work, 10 ns of a read in it.
struct Scene {
  RunBuilder b;
  TrackId worker;
  TrackId trainer;
  Scene() {
    const StageId decode = b.Stage("decode", "map", 1);
    const QueueId queue = b.Queue("decode", 4, decode);
    worker = b.Thread("decode/0", decode);
    trainer = b.Thread("trainer", StageId::None());
    for (uint64_t step = 0; step < 4; ++step) {
      const auto at = static_cast<int64_t>(step) * 100;
      b.Wait(worker, WaitCause::kIo, QueueId::None(), at + 10, at + 20);
      b.Work(worker, decode, at, at + 40, {.item = step, .cpu = 30});
      b.Wait(trainer, WaitCause::kEmpty, queue, at, at + 40, {.waker = worker});
      b.Step({.index = step,
              .requested = at,
              .received = at + 40,
              .issued = at + 45,
              .done = at + 95,
              .track = trainer});
    }
  }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("stall details add up to the blame of one device") {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      Random random(seed);
      const model::Run run = test::RandomRun(random, {});
      const Attribution whole = Attribute(run);
      if (whole.timelines.size() != 1) continue;
      CAPTURE(seed);
      Sums expected;
      for (const Blame& blame : whole.blame) expected[{blame.stage, blame.cause}] += blame.ns;
      Sums sums;
      const GroundworkPtr ground = LayGroundwork(run, 2);
      const auto details = StallDetails(*ground, 2);
      for (const StallDetail& detail : *details) {
        CHECK(detail.start_ns < detail.end_ns);
        sums[{detail.stage, detail.cause}] += detail.ns;
      }
      // What no step explains is in the blame alone.
      const std::pair nobody{StageId::None(), Cause::kUnknown};
      CHECK(sums[nobody] <= expected[nobody]);
      sums.erase(nobody);
      expected.erase(nobody);
      CHECK(sums == expected);
    }
  }

  TEST_CASE("stall chain leads from the trainer to the working thread") {
    Scene scene;
    const model::Run run = scene.b.Take();
    const std::vector<ChainLink> chain = *ExplainStall(*LayGroundwork(run, 2), 2, 2);
    REQUIRE(chain.size() == 3);
    int64_t at = 200;
    for (const ChainLink& link : chain) {
      CHECK(link.track == scene.worker);
      CHECK(link.start_ns == at);
      at = link.end_ns;
    }
    CHECK(at == 240);
    CHECK(chain[1].cause == Cause::kIo);
    CHECK(chain[0].cause == Cause::kCpu);
  }

  TEST_CASE("step without a wait: no chain") {
    RunBuilder b;
    const TrackId trainer = b.Thread("trainer", StageId::None());
    for (uint64_t step = 0; step < 4; ++step) {
      const auto at = static_cast<int64_t>(step) * 100;
      b.Step({.index = step,
              .requested = at,
              .received = at,
              .issued = at + 45,
              .done = at + 95,
              .track = trainer});
    }
    const model::Run run = b.Take();
    CHECK(ExplainStall(*LayGroundwork(run, 2), 2, 2)->empty());
  }

  TEST_CASE("a stall outside of the counted window is explained too") {
    Scene scene;
    const model::Run run = scene.b.Take();
    const auto chain_of = [&](const GroundworkPtr& ground) {
      int64_t ns = 0;
      const auto chain = ExplainStall(*ground, 2, 2);
      for (const ChainLink& link : *chain) ns += link.end_ns - link.start_ns;
      return ns;
    };
    CHECK(chain_of(LayGroundworkOfRange(run, 90, 190, 2)) == 40);
    CHECK(chain_of(LayGroundwork(run, 2)) == 40);
  }

  TEST_CASE("cancelled work stops and has no result") {
    Scene scene;
    const model::Run run = scene.b.Take();
    const std::atomic<bool> raised{true};
    const Cancel cancel(raised);
    CHECK(LayGroundwork(run, 2, cancel) == nullptr);
    CHECK(LayGroundworkOfRange(run, 90, 299, 2, cancel) == nullptr);
    const GroundworkPtr ground = LayGroundwork(run, 2);
    REQUIRE(ground != nullptr);
    CHECK_FALSE(Attribute(*ground, 2, cancel).has_value());
    CHECK_FALSE(StallDetails(*ground, 2, cancel).has_value());
    CHECK_FALSE(ExplainStall(*ground, 2, 2, cancel).has_value());
    // A step of the warm-up, whose own groundwork is cancelled.
    CHECK_FALSE(ExplainStall(*LayGroundworkOfRange(run, 90, 190, 2), 2, 2, cancel).has_value());
  }

  TEST_CASE("range: the steps that begin in it") {
    Scene scene;
    const model::Run run = scene.b.Take();
    const Attribution part = *Attribute(*LayGroundworkOfRange(run, 90, 299, 2), 2);
    CHECK(part.window.first_row == 1);
    CHECK(part.window.steps == 2);
    CHECK(part.window.start_ns == 100);
    CHECK(part.window.end_ns == 300);
    REQUIRE(part.steps.size() == 2);
    CHECK(part.steps[0].index == 1);
    CHECK(part.breakdown[At(Category::kInputStall)]->ns == 80);
    int64_t blamed = 0;
    for (const Blame& blame : part.blame) blamed += blame.ns;
    CHECK(blamed == 80);
  }

  TEST_CASE("range without a step: the range itself") {
    Scene scene;
    const model::Run run = scene.b.Take();
    const Attribution part = *Attribute(*LayGroundworkOfRange(run, 110, 150, 2), 2);
    CHECK(part.window.steps == 0);
    CHECK(part.window.ns() == 40);
    REQUIRE(part.steps.size() == 1);
    int64_t sum = 0;
    for (const int64_t ns : part.steps[0].ns) sum += ns;
    CHECK(sum == 40);
  }
}
