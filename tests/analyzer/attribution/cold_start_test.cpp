#include "analyzer/attribution/cold_start.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "analyzer/attribution/window.h"
#include "analyzer/base/splitmix.h"
#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::RunBuilder;
using trace::WaitCause;

namespace {

constexpr int64_t kUs = 1000;

// The cost of one step's element, in microseconds.
struct Costs {
  int64_t read = 100;  // own work
  int64_t io = 0;      // besides, in a read
  uint64_t bytes = 1000;
  int64_t decode = 100;
  int64_t decode_cpu = 100;
  int64_t train = 20;
};

// One element per step: read, decoded and trained on in turn, each by its own thread. No two steps
// take the same time.
struct ColdScene : RunBuilder {
  StageId read = Stage("read", "source");
  StageId decode = Stage("decode", "map", 1, true, {read});
  StageId trainer = Stage("trainer", "trainer", 1, true, {decode});
  TrackId reader = Thread("read/0", read);
  TrackId worker = Thread("decode/0", decode);
  TrackId main = Thread("main", trainer);
  std::vector<int64_t> starts;  // of the steps

  explicit ColdScene(size_t steps, const std::function<Costs(size_t)>& costs) {
    SplitMix64 random(3);
    int64_t now = 0;
    for (size_t i = 0; i < steps; ++i) {
      const Costs of = costs(i);
      const int64_t jitter = static_cast<int64_t>(random.Below(6'000)) - 3'000;
      starts.push_back(now);
      const int64_t begin = now;
      if (of.io > 0) Wait(reader, WaitCause::kIo, {}, now + kUs, now + kUs + of.io * kUs);
      now += (of.read + of.io) * kUs + jitter;
      Work(reader, read, begin, now, {.item = i, .bytes = of.bytes});
      const int64_t decoded = now + of.decode * kUs + jitter;
      Work(worker, decode, now, decoded,
           {.item = i, .cpu = static_cast<uint64_t>(of.decode_cpu * kUs + jitter)});
      now = decoded + of.train * kUs;
      Step({.index = i,
            .requested = begin,
            .received = decoded,
            .done = now,
            .batch = i,
            .track = main});
    }
  }
  // The second pass begins with this element.
  void SecondPassFrom(uint64_t first, uint64_t elements) {
    for (uint64_t i = 0; i < elements; ++i) {
      run.rows.elements.push_back({ItemId{i}, i, 0, 1000, {}, i < first ? 0U : 1U});
    }
  }
};

Window Chosen(const model::Run& run) { return ChooseWindow(run, model::StepIntervals(run)); }

std::optional<ColdStart> ColdOf(ColdScene& scene) { return Chosen(scene.Take()).cold; }

// Slow for the first 30 of 100 steps.
Costs Cold(size_t i, Costs cold) { return i < 30 ? cold : Costs{}; }

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("cold start: reads from the disk until the page cache has the files") {
    ColdScene scene(100, [](size_t i) { return Cold(i, {.io = 80}); });
    const std::vector<int64_t> starts = scene.starts;
    const model::Run run = scene.Take();
    const Window window = Chosen(run);
    REQUIRE(window.cold.has_value());
    const ColdStart& cold = *window.cold;
    CHECK(cold.cause == ColdCause::kPageCache);
    CHECK(run.NameOf(cold.stage) == "read");
    CHECK(cold.slower == doctest::Approx(1.8).epsilon(0.05));
    // The end is found to a block, of two or three steps here.
    CHECK(cold.steps >= 30);
    CHECK(cold.steps <= 33);
    CHECK(cold.start_ns == 0);
    CHECK(cold.end_ns == starts[cold.steps]);
    CHECK(static_cast<double>(cold.cost_ns) == doctest::Approx(30 * 80.0 * kUs).epsilon(0.1));
    CHECK(window.first_row == cold.steps);
    CHECK(window.start_ns == cold.end_ns);
    CHECK(window.steps == 100 - cold.steps);
    CHECK(window.warmup_steps == 0);
    // Nothing of it is in the stage's figures.
    const Attribution attribution = Attribute(run);
    CHECK(attribution.stages[0].io_ns == 0);
    CHECK(attribution.stages[0].service_ns.mean == doctest::Approx(100 * kUs).epsilon(0.02));
  }

  TEST_CASE("cold start: after the warm-up, which is excluded separately") {
    ColdScene scene(100, [](size_t i) { return i < 2 ? Costs{.io = 800} : Cold(i, {.io = 80}); });
    const Window window = Chosen(scene.Take());
    CHECK(window.warmup_steps == 2);
    REQUIRE(window.cold.has_value());
    CHECK(window.first_row == 2 + window.cold->steps);
    CHECK(window.first_row >= 30);
    CHECK(window.first_row <= 33);
  }

  TEST_CASE("cold start: the disk's counter shows it where reads do not") {
    const auto cause = [](double later_bytes) -> std::optional<ColdCause> {
      ColdScene scene(100, [](size_t i) { return Cold(i, {.read = 180}); });
      const CounterId disk = scene.Counter("io.from_disk");
      const int64_t change = scene.starts[30];
      scene.Sample(disk, 0, 0);
      scene.Sample(disk, change, 30e6);
      scene.Sample(disk, scene.starts[99], 30e6 + later_bytes);
      const auto cold = ColdOf(scene);
      return cold ? std::optional(cold->cause) : std::nullopt;
    };
    CHECK(cause(0) == ColdCause::kPageCache);
    CHECK(cause(20e6) == ColdCause::kPageCache);
    // As much for a step as before: it is not the cache.
    CHECK(cause(70e6) == std::nullopt);
  }

  TEST_CASE("cold start: the first pass over the data, to its last step") {
    ColdScene scene(100, [](size_t i) { return i < 41 ? Costs{.decode = 150} : Costs{}; });
    scene.SecondPassFrom(41, 100);
    const auto cold = ColdOf(scene);
    REQUIRE(cold.has_value());
    CHECK(cold->cause == ColdCause::kFirstEpoch);
    CHECK(cold->steps == 41);
    CHECK(cold->stage == scene.decode);
  }

  TEST_CASE("cold start: a first pass followed by an evaluation that takes longer than the pass") {
    RunBuilder b;
    b.run.info.job.command = {"python", "train.py"};
    const StageId fetch = b.Stage("fetch", "map");
    const TrackId main = b.Thread("main", b.Stage("trainer", "trainer", 1, true, {fetch}));
    SplitMix64 random(3);
    int64_t now = 0;
    for (uint64_t i = 0; i < 123; ++i) {
      const uint64_t pass = i / 41;
      if (i > 0 && i % 41 == 0) now += 40'000 * kUs;
      const int64_t fetched =
          now + (pass == 0 ? 140 : 100) * kUs + static_cast<int64_t>(random.Below(5'000));
      b.Work(main, fetch, now, fetched, {.item = pass << 32U | i % 41});
      b.Step({.index = i,
              .requested = now,
              .received = fetched,
              .done = fetched + 10 * kUs,
              .batch = pass << 32U | i % 41,
              .track = main});
      now = fetched + 10 * kUs;
    }
    const auto cold = Chosen(b.Take()).cold;
    REQUIRE(cold.has_value());
    CHECK(cold->cause == ColdCause::kFirstEpoch);
    CHECK(cold->steps == 41);
  }

  TEST_CASE("cold start: a first pass may be more than half of the run, but not nearly all") {
    const auto steps = [](size_t pass) {
      ColdScene scene(100, [&](size_t i) { return i < pass ? Costs{.decode = 150} : Costs{}; });
      scene.SecondPassFrom(pass, 100);
      const auto cold = ColdOf(scene);
      return cold ? cold->steps : 0;
    };
    CHECK(steps(70) == 70);
    CHECK(steps(90) == 0);
  }

  TEST_CASE("cold start: the first items of each worker") {
    const auto cause = [](bool starts) -> std::optional<ColdCause> {
      ColdScene scene(100, [](size_t i) { return i < 2 ? Costs{.decode = 190} : Costs{}; });
      if (starts) scene.Wait(scene.main, WaitCause::kStartup, {}, -50, -10);
      const auto cold = ColdOf(scene);
      return cold ? std::optional(cold->cause) : std::nullopt;
    };
    CHECK(cause(true) == ColdCause::kWorkers);
    CHECK(cause(false) == std::nullopt);  // nothing says why
  }

  TEST_CASE("cold start: more CPU at first, in one stage only, is warm-up") {
    const auto cause = [](const Costs& cold, size_t until = 10) -> std::optional<ColdCause> {
      ColdScene scene(100, [&](size_t i) { return i < until ? cold : Costs{}; });
      const auto found = ColdOf(scene);
      return found ? std::optional(found->cause) : std::nullopt;
    };
    CHECK(cause({.decode = 140, .decode_cpu = 140}) == ColdCause::kWarmUp);
    // Off the CPU, whatever it waits for; in all stages; for long.
    CHECK(cause({.decode = 140}) == std::nullopt);
    CHECK(cause({.read = 140, .decode = 140, .decode_cpu = 140}) == std::nullopt);
    CHECK(cause({.decode = 140, .decode_cpu = 140}, 40) == std::nullopt);
  }

  TEST_CASE("cold start: other work may hide it from the steps, and it counts all the same") {
    RunBuilder b;
    const StageId read = b.Stage("read", "source");
    const TrackId reader = b.Thread("read/0", read);
    SplitMix64 random(3);
    for (size_t i = 0; i < 100; ++i) {
      const int64_t begin = static_cast<int64_t>(i) * 300 * kUs;
      const int64_t io = i < 30 ? 80 * kUs : 0;
      const int64_t end = begin + 100 * kUs + io + static_cast<int64_t>(random.Below(5'000));
      if (io > 0) b.Wait(reader, WaitCause::kIo, {}, begin, begin + io);
      b.Work(reader, read, begin, end, {.item = i});
      b.Step({.index = i, .requested = begin, .received = begin, .done = begin + 300 * kUs});
    }
    const Window window = Chosen(b.Take());
    REQUIRE(window.cold.has_value());
    CHECK(window.cold->cause == ColdCause::kPageCache);
    CHECK(window.cold->cost_ns == 0);
  }

  TEST_CASE("no cold start: the elements were larger") {
    ColdScene scene(100, [](size_t i) { return Cold(i, {.io = 80, .bytes = 1800}); });
    CHECK(!ColdOf(scene).has_value());
    // Not by as much as they took longer.
    ColdScene some(100, [](size_t i) { return Cold(i, {.io = 80, .bytes = 1100}); });
    CHECK(ColdOf(some).has_value());
  }

  TEST_CASE("no cold start: the online tuner turned a knob") {
    const auto found = [](size_t step) {
      ColdScene scene(100, [](size_t i) { return i < 40 ? Costs{.decode = 150} : Costs{}; });
      scene.SecondPassFrom(40, 100);
      scene.run.rows.knobs = {{scene.starts[step], {}, {}, {}}};
      return ColdOf(scene).has_value();
    };
    CHECK(!found(20));
    CHECK(!found(41));
    CHECK(found(80));
  }

  TEST_CASE("no cold start: a drift, a slow stretch that comes again, a short run") {
    ColdScene drift(100, [](size_t i) { return Costs{.io = 100 - static_cast<int64_t>(i)}; });
    CHECK(!ColdOf(drift).has_value());
    ColdScene again(
        100, [](size_t i) { return i < 20 || (i >= 60 && i < 80) ? Costs{.io = 80} : Costs{}; });
    CHECK(!ColdOf(again).has_value());
    const auto of_length = [](size_t steps) {
      ColdScene scene(steps, [&](size_t i) { return i < steps / 4 ? Costs{.io = 80} : Costs{}; });
      return ColdOf(scene).has_value();
    };
    CHECK(!of_length(23));
    CHECK(of_length(24));
    // Parts of any run differ by a tenth.
    ColdScene little(100, [](size_t i) { return Cold(i, {.io = 8}); });
    CHECK(!ColdOf(little).has_value());
  }

  TEST_CASE("no cold start: a machine that drifts at random, or elements of very different costs") {
    size_t drifting = 0;
    size_t unlike = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      SplitMix64 random(seed);
      const auto part = [&] { return static_cast<double>(random.Below(1'000'000)) / 1e6; };
      double speed = 0;
      ColdScene drift(120, [&](size_t) {
        speed = 0.95 * speed + 0.15 * (part() - 0.5);
        return Costs{.io = std::llround(100 * std::exp(speed))};
      });
      if (ColdOf(drift).has_value()) ++drifting;
      ColdScene costs(
          120, [&](size_t) { return Costs{.io = std::llround(20 / std::sqrt(part() + 1e-3))}; });
      if (ColdOf(costs).has_value()) ++unlike;
    }
    CHECK(drifting <= 6);
    CHECK(unlike <= 2);
  }

  TEST_CASE("no cold start: a cache that fills, and the reads that fill it") {
    ColdScene scene(100, [](size_t i) { return i < 40 ? Costs{.decode = 150} : Costs{}; });
    scene.SecondPassFrom(40, 100);
    scene.run.stages[scene.decode.value].kind = "cache";
    CHECK(!ColdOf(scene).has_value());
    // The source has nothing to do in the second pass.
    RunBuilder b;
    const StageId read = b.Stage("read", "source");
    const TrackId reader = b.Thread("read/0", read);
    for (size_t i = 0; i < 100; ++i) {
      const int64_t begin = static_cast<int64_t>(i) * 300 * kUs;
      if (i < 40) b.Work(reader, read, begin, begin + 100 * kUs, {.item = i});
      b.Step({.index = i, .requested = begin, .received = begin, .done = begin + 300 * kUs});
    }
    CHECK(!Chosen(b.Take()).cold.has_value());
  }

  TEST_CASE("first epoch: the first pass; else the cold start; else the run") {
    const auto first = [](size_t pass, bool cold) {
      ColdScene scene(100, [&](size_t i) { return cold ? Cold(i, {.io = 80}) : Costs{}; });
      if (pass > 0) scene.SecondPassFrom(pass, 100);
      const model::Run run = scene.Take();
      const Window window = FirstEpochWindow(run, model::StepIntervals(run));
      CHECK(window.first_epoch);
      CHECK(window.first_row == 0);
      CHECK(!window.cold.has_value());
      return window.steps;
    };
    CHECK(first(60, true) == 60);
    CHECK(first(60, false) == 60);
    CHECK(first(0, true) >= 30);
    CHECK(first(0, true) <= 33);
    CHECK(first(0, false) == 100);
    CHECK(first(2, false) == 100);  // two steps are no window
  }

  TEST_CASE("first epoch of a job: until the loader begins its second pass") {
    RunBuilder b;
    b.run.info.job.command = {"python", "train.py"};
    for (uint64_t i = 0; i < 20; ++i) {
      const int64_t begin = static_cast<int64_t>(i) * 100;
      const uint64_t pass = i < 12 ? 0 : 1;
      b.Step({.index = i,
              .requested = begin,
              .received = begin,
              .done = begin + 100,
              .batch = (pass << 32U) | i});
    }
    const model::Run run = b.Take();
    CHECK(EndOfFirstPass(run) == 1200);
    CHECK(FirstEpochWindow(run, model::StepIntervals(run)).steps == 12);
  }
}
