#include "analyzer/attribution/window.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "tests/analyzer/attribution/run_builder.h"
#include "tests/support/random.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::Random;
using test::RunBuilder;

namespace {

Window Chosen(const model::Run& run) { return ChooseWindow(run, model::StepIntervals(run)); }

// One rank's steps of these durations, back to back from 0.
void AddStepsOf(RunBuilder& b, const std::vector<int64_t>& durations, uint32_t rank = 0) {
  int64_t now = 0;
  for (size_t i = 0; i < durations.size(); ++i) {
    const int64_t end = now + durations[i];
    b.Step(
        {.index = i, .requested = now, .received = now, .issued = now, .done = end, .rank = rank});
    now = end;
  }
}

// A job whose steps wait so long for their batches, and then take 10. The first takes `first` more.
model::Run Fed(const std::vector<int64_t>& waits, int64_t first, uint64_t capacity = 4) {
  RunBuilder b;
  b.run.info.job.command = {"python", "train.py"};
  const StageId loader = b.Stage("loader", "prefetch");
  b.Queue("loader", capacity, loader);
  int64_t now = 0;
  for (size_t i = 0; i < waits.size(); ++i) {
    const int64_t received = now + waits[i];
    const int64_t done = received + 10 + (i == 0 ? first : 0);
    b.Step({.index = i, .requested = now, .received = received, .issued = done, .done = done});
    now = done;
  }
  return b.Take();
}

// After so many steps that are fed at once, every `nth` one waits for 60.
std::vector<int64_t> Waits(size_t at_once, size_t nth) {
  std::vector<int64_t> waits(at_once + 1, 0);
  for (size_t i = 0; i < 40; ++i) waits.push_back(i % nth == 0 ? 60 : 0);
  return waits;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("warm-up: of a job, the steps that its loader fed from what it had made meanwhile") {
    CHECK(Chosen(Fed(Waits(4, 2), 1000)).warmup_steps == 5);
    CHECK(Chosen(Fed(Waits(6, 2), 1000)).warmup_steps == 7);
    // Nothing took long before; as many come at once later; more than a loader holds.
    CHECK(Chosen(Fed(Waits(4, 2), 0)).warmup_steps == 0);
    CHECK(Chosen(Fed(Waits(4, 5), 1000)).warmup_steps == 1);
    CHECK(Chosen(Fed(Waits(9, 3), 1000)).warmup_steps == 1);
    CHECK(Chosen(Fed(Waits(4, 2), 1000, 1)).warmup_steps == 1);
    // It hardly waits.
    CHECK(Chosen(Fed(Waits(4, 40), 1000)).warmup_steps == 1);
    CHECK(Chosen(Fed(std::vector<int64_t>(40, 0), 1000)).warmup_steps == 1);
  }

  TEST_CASE("warm-up: the first steps outside 1.5 times the median, either way") {
    CHECK(WarmupSteps({}) == 0);
    CHECK(WarmupSteps({300, 100, 100, 100, 100, 100, 100, 100}) == 1);
    CHECK(WarmupSteps({300, 200, 100, 100, 100, 100, 100, 100}) == 2);
    CHECK(WarmupSteps({40, 100, 100, 100, 100, 100, 100, 100}) == 1);
    // Exactly 1.5 times is inside; a nanosecond more is not.
    CHECK(WarmupSteps({150, 100, 100, 100, 100, 100, 100, 100}) == 0);
    CHECK(WarmupSteps({151, 100, 100, 100, 100, 100, 100, 100}) == 1);
    CHECK(WarmupSteps({100, 150, 150, 150, 150, 150, 150, 150}) == 0);
    CHECK(WarmupSteps({99, 150, 150, 150, 150, 150, 150, 150}) == 1);
    // Only those at the beginning.
    CHECK(WarmupSteps({100, 300, 100, 100, 100, 100, 100, 100}) == 0);
    CHECK(WarmupSteps({300, 100, 300, 100, 100, 100, 100, 100}) == 1);
  }

  TEST_CASE("warm-up: long steps with short ones between, if they do not come again") {
    std::vector<int64_t> durations(100, 100);
    for (const size_t step : {0U, 2U, 5U, 6U, 9U, 12U}) durations[step] = 900;
    CHECK(WarmupSteps(durations) == 13);
    durations[60] = 900;
    CHECK(WarmupSteps(durations) == 13);
    durations[62] = durations[64] = 900;
    CHECK(WarmupSteps(durations) == 1);

    std::vector<int64_t> apart(100, 100);
    apart[0] = apart[4] = 900;
    CHECK(WarmupSteps(apart) == 1);

    std::vector<int64_t> quarter(40, 100);
    for (size_t step = 0; step < 40; step += 3) quarter[step] = 900;
    CHECK(WarmupSteps(quarter) == 1);
  }

  TEST_CASE("warm-up: more than a quarter of the steps is a phase of the run") {
    // Exactly a quarter is warm-up still.
    CHECK(WarmupSteps({300, 300, 100, 100, 100, 100, 100, 100}) == 2);
    CHECK(WarmupSteps({300, 300, 300, 100, 100, 100, 100, 100}) == 1);
    CHECK(WarmupSteps({300, 300, 100, 100, 100, 100, 100}) == 1);
  }

  TEST_CASE("warm-up: at least three steps remain") {
    CHECK(WarmupSteps({900}) == 0);
    CHECK(WarmupSteps({900, 100}) == 0);
    CHECK(WarmupSteps({900, 100, 100}) == 0);
    CHECK(WarmupSteps({900, 100, 100, 100}) == 1);
    Random random(9);
    for (int i = 0; i < 3000; ++i) {
      std::vector<int64_t> durations(random.Below(20));
      for (int64_t& ns : durations) ns = static_cast<int64_t>(random.OfAnyLength(9));
      const size_t warmup = WarmupSteps(durations);
      if (durations.size() > 3) {
        REQUIRE(durations.size() - warmup >= 3);
      } else {
        REQUIRE(warmup == 0);
      }
      REQUIRE((warmup <= 1 || 4 * warmup <= durations.size()));
    }
  }

  TEST_CASE("window: from the first counted step to the last one's device work") {
    RunBuilder b;
    AddStepsOf(b, {900, 100, 100, 100, 100});
    b.run.info.start_ns = -500;
    b.run.info.end_ns = 5000;
    const Window window = Chosen(b.Take());
    CHECK(window.start_ns == 900);
    CHECK(window.end_ns == 1300);
    CHECK(window.first_row == 1);
    CHECK(window.rows == 4);
    CHECK(window.steps == 4);
    CHECK(window.warmup_steps == 1);
  }

  TEST_CASE("several ranks: a step lasts as long as on the slowest and counts once") {
    RunBuilder b;
    AddStepsOf(b, {100, 100, 100, 100, 100, 100}, 0);
    AddStepsOf(b, {900, 100, 100, 100, 100, 100}, 1);
    const model::Run run = b.Take();
    const Window window = Chosen(run);
    CHECK(window.warmup_steps == 1);
    CHECK(window.steps == 5);
    CHECK(window.first_row == 2);
    CHECK(window.rows == 10);
    CHECK(window.start_ns == 100);  // rank 0's second step
    CHECK(window.end_ns == 1400);   // rank 1's last
  }

  TEST_CASE("one step, no steps, steps missing from the middle") {
    RunBuilder one;
    AddStepsOf(one, {70});
    Window window = Chosen(one.Take());
    CHECK(window.steps == 1);
    CHECK(window.warmup_steps == 0);
    CHECK(window.ns() == 70);

    RunBuilder none;
    none.run.info.start_ns = 10;
    none.run.info.end_ns = 60;
    window = Chosen(none.Take());
    CHECK(window.steps == 0);
    CHECK(window.start_ns == 10);
    CHECK(window.end_ns == 60);

    CHECK(Chosen(RunBuilder().Take()).ns() == 0);

    RunBuilder holes;
    int64_t now = 0;
    for (const uint64_t index : std::vector<uint64_t>{0, 1, 2, 6, 7, 8}) {
      holes.Step(
          {.index = index, .requested = now, .received = now, .issued = now, .done = now + 50});
      now += index == 2 ? 400 : 100;
    }
    window = Chosen(holes.Take());
    CHECK(window.steps == 6);
    CHECK(window.start_ns == 0);
    CHECK(window.end_ns == 850);
  }

  TEST_CASE("window: excludes steps with slowed stages; the longer side counts") {
    const auto chosen = [](int64_t from, int64_t to, StageId slowed = StageId{0}) {
      RunBuilder b;
      AddStepsOf(b, std::vector<int64_t>(20, 100));
      b.run.rows.probes = {{from, from + 10, {}, 0, 0, 0}, {from + 10, to, slowed, 4, 40, 10}};
      return Chosen(b.Take());
    };
    Window window = chosen(1050, 1900);
    CHECK(window.first_row == 0);
    CHECK(window.steps == 10);  // the 11th begins before the windows and ends in them
    CHECK(window.end_ns == 1000);
    CHECK(window.probed_steps == 10);
    window = chosen(1000, 1900);
    CHECK(window.steps == 10);
    window = chosen(150, 520);
    CHECK(window.first_row == 6);
    CHECK(window.start_ns == 600);
    CHECK(window.steps == 14);
    // No stage was slowed; no step would be left.
    CHECK(chosen(1050, 1900, StageId::None()).steps == 20);
    CHECK(chosen(150, 1900).steps == 20);
    CHECK(chosen(150, 1900).probed_steps == 0);
  }

  TEST_CASE("backward times: the window contains all counted steps") {
    RunBuilder b;
    const std::vector<int64_t> requested = {500, 100, 300, 200, 400};
    for (size_t i = 0; i < requested.size(); ++i) {
      b.Step({.index = i,
              .requested = requested[i],
              .received = requested[i] - 20,
              .issued = requested[i] - 50,
              .done = requested[i] + 30});
    }
    const model::Run run = b.Take();
    const Window window = Chosen(run);
    const auto steps = model::StepIntervals(run);
    CHECK(window.ns() >= 0);
    for (size_t row = window.first_row; row < steps.size(); ++row) {
      CHECK(steps[row].start_ns >= window.start_ns);
      CHECK(steps[row].end_ns <= window.end_ns);
    }
  }
}
