// Jobs with a framework's profiler during some steps, with made-up device tracks.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/attribution/groundwork.h"
#include "analyzer/attribution/window.h"
#include "analyzer/model/profiled.h"
#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using namespace stallscope::attribution;
using test::RunBuilder;
using trace::WaitCause;

namespace {

constexpr int64_t kOpened = 1098;
constexpr int64_t kStopped = 1698;

constexpr int64_t kStep = 98;

// 20 steps of 98, each waiting for its batch for the first 40. A profiler starts from 1078 to 1098
// and stops from 1698 to 1748; steps in between take 120. If the first begins at `kStep` and not at
// 0, too few others are in a row.
struct ProfiledJob : RunBuilder {
  StageId fetch = Stage("fetch", "map");
  StageId loader = Stage("loader", "prefetch", 2, true, {fetch});
  StageId trainer = Stage("trainer", "trainer", 1, true, {loader});
  QueueId queue = Queue("loader", 4, loader);
  TrackId main = Thread("main", trainer);

  explicit ProfiledJob(bool stopped = true, int64_t now = 0) {
    run.info.job.command = {"python", "train.py"};
    run.info.world_size = 1;
    for (uint64_t i = 0; i < 20; ++i) {
      if (now == kOpened - 20) {
        Mark(model::kProfilerStart, now, kOpened);
        now = kOpened;
      }
      if (stopped && now == kStopped) {
        Mark(model::kProfilerStop, now, now + 50);
        now += 50;
      }
      const bool slow = now >= kOpened && now < kStopped;
      const int64_t end = now + (slow ? 120 : kStep);
      Wait(main, WaitCause::kEmpty, queue, now, now + 40);
      Step({.index = i,
            .requested = now,
            .received = now + 40,
            .issued = end,
            .done = end,
            .track = main,
            .samples = 8});
      requested.push_back(now);
      now = end;
    }
  }

  void Mark(std::string_view name, int64_t start_ns, int64_t end_ns) {
    Named(main, std::string(name), trace::SpanActivity::kAnnotation, start_ns, end_ns);
  }
  // A device that works through most of each profiled step, and while the trainer waits for the
  // next batch.
  void AddDevice(int64_t works = 100) {
    const TrackId stream = Stream();
    for (const int64_t at : requested) {
      if (at < kOpened || at >= kStopped) continue;
      Kernel(stream, at + 50, at + 50 + works, {.enqueued = at + 45});
    }
  }
  std::vector<int64_t> requested;
};

// Steps of 10 ms, of which those from 5 on are profiled until the `closed`th, and a second time
// from the 20th to the 24th. The device is `behind` with its work when the profiler opens.
model::Run Behind(int64_t behind, uint64_t closed) {
  constexpr int64_t kLong = 10'000'000;
  RunBuilder b;
  b.run.info.job.command = {"python", "train.py"};
  b.run.info.world_size = 1;
  const StageId trainer = b.Stage("trainer", "trainer");
  const TrackId main = b.Thread("main", trainer);
  const TrackId stream = b.Stream();
  const auto mark = [&](std::string_view name, int64_t at) {
    b.Named(main, std::string(name), trace::SpanActivity::kAnnotation, at - 1000, at);
  };
  for (uint64_t i = 0; i < 24; ++i) {
    const int64_t now = static_cast<int64_t>(i) * kLong;
    if (i == 5 || i == 20) mark(model::kProfilerStart, now);
    if (i == closed) mark(model::kProfilerStop, now);
    if ((i >= 5 && i < closed) || i >= 20) {
      b.Kernel(stream, now + 20'000 + behind, now + kLong + behind - 20'000,
               {.enqueued = now + 10'000});
    }
    b.Step({.index = i,
            .requested = now,
            .received = now + 5000,
            .done = now + kLong,
            .track = main,
            .samples = 8});
  }
  mark(model::kProfilerStop, 24 * kLong);
  return b.Take();
}

// The same job on two ranks, of which the second begins everything this much later.
model::Run OnTwoRanks(model::Run run, int64_t later_ns) {
  const auto other = [threads = static_cast<uint32_t>(run.tracks.size())](TrackId track) {
    return TrackId{track.value + threads};
  };
  for (const model::Track& track : std::vector(run.tracks)) {
    model::Track& copy = run.tracks.emplace_back(track);
    copy.info.id = other(track.info.id);
    copy.rank = 1;
    for (int64_t& start_ns : copy.spans.start_ns) start_ns += later_ns;
  }
  for (trace::Kernel kernel : std::vector(run.rows.kernels)) {
    kernel.track = other(kernel.track);
    kernel.enqueued_ns += later_ns;
    kernel.start_ns += later_ns;
    kernel.end_ns += later_ns;
    run.rows.kernels.push_back(kernel);
  }
  for (trace::Step step : std::exchange(run.rows.steps, {})) {
    run.rows.steps.push_back(step);
    step.track = other(step.track);
    for (int64_t* ns :
         {&step.requested_ns, &step.received_ns, &step.issued_ns, &step.device_done_ns}) {
      *ns += later_ns;
    }
    run.rows.steps.push_back(step);
    run.step_ranks.insert(run.step_ranks.end(), {0, 1});
  }
  return run;
}

int64_t Ns(const Attribution& a, Category category) { return a.breakdown[At(category)]->ns; }

bool Says(const Attribution& a, const std::string& what) {
  return std::any_of(a.limits.begin(), a.limits.end(), [&](const std::string& limit) {
    return limit.find(what) != std::string::npos;
  });
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("profiled: a wait during which the device works is no stall") {
    ProfiledJob job(true, kStep);
    SUBCASE("without a device track it is one") {
      const model::Run run = job.Take();
      const Attribution a = Attribute(run);
      CHECK(Ns(a, Category::kInputStall) == static_cast<int64_t>(40 * a.window.steps));
    }
    SUBCASE("behind the kernel of the step before") {
      job.AddDevice();
      const model::Run run = job.Take();
      const Attribution a = Attribute(run);
      // The kernel before each wait covers 30 of its 40; the first step has none before it.
      CHECK(a.window.steps == 4);
      CHECK(Ns(a, Category::kInputStall) == 40 + 3 * 10);
      CHECK(Ns(a, Category::kCompute) == 70 + 3 * 100);
    }
  }

  TEST_CASE("profiled: with few others in a row the window has the profiled steps") {
    ProfiledJob job(true, kStep);
    job.AddDevice();
    const model::Run run = job.Take();
    const Window window = ChooseWindow(run, model::StepIntervals(run));
    CHECK(window.start_ns == kOpened);
    // The last one ends with the next request, which comes after the profiler was stopped.
    CHECK(window.end_ns == kStopped - 120);
    CHECK(window.steps == 4);
    const Attribution a = Attribute(run);
    CHECK(Says(a, "from the 4 steps that it recorded"));
    // 80 after the batch has come, in place of 58.
    CHECK(*a.slowed_by_profiler == doctest::Approx(80.0 / 58 - 1));
    REQUIRE(a.beside_profile.has_value());
    CHECK(a.beside_profile->profiled.waiting == doctest::Approx(40.0 / 120));
    CHECK(a.beside_profile->others.waiting == doctest::Approx(40.0 / 98));
    CHECK(a.beside_profile->profiled.work_ns == doctest::Approx(80));
    CHECK(a.beside_profile->others.work_ns == doctest::Approx(58));
    CHECK(Says(a, "which take 38% longer than the others once they have their batch"));
    CHECK(!Says(a, "evaluation and checkpoints"));
  }

  TEST_CASE("profiled: what the others do with a batch is without their evaluation") {
    ProfiledJob job(true, kStep);
    job.AddDevice();
    job.Named(job.main, "evaluation", trace::SpanActivity::kEvaluation, kStopped + 50 + 40,
              kStopped + 50 + kStep);
    const Attribution a = Attribute(job.Take());
    REQUIRE(a.beside_profile.has_value());
    const auto others = static_cast<double>(a.beside_profile->others.steps);
    CHECK(a.beside_profile->others.work_ns == doctest::Approx(58 * (others - 1) / others));
  }

  TEST_CASE(
      "profiled: the others are the window, and their devices work as in the profiled steps") {
    ProfiledJob job;
    const auto attributed = [&] {
      const Attribution a = Attribute(job.Take());
      CHECK(a.window.steps == 10);
      CHECK(a.window.start_ns == 0);
      CHECK(a.window.end_ns == 980);
      REQUIRE(a.window.profiled.has_value());
      CHECK(a.window.profiled->rows == 4);
      CHECK(a.window.profiled->steps == 4);
      CHECK(a.window.profiled_of == 0);
      int64_t sum = 0;
      for (const auto& total : a.breakdown) sum += total->ns;
      CHECK(sum == 980);
      CHECK(a.throughput->samples_per_s == doctest::Approx(8e9 / kStep));
      CHECK_FALSE(a.slowed_by_profiler.has_value());
      CHECK(Says(a, "the 4 that it recorded show how long a step's compute"));
      return a;
    };
    SUBCASE("a busy device hides most of the wait") {
      job.AddDevice(90);
      const Attribution a = attributed();
      // The last of the four that were issued in the profiled steps ends behind them.
      CHECK(Ns(a, Category::kCompute) == 10 * 90);
      CHECK(Ns(a, Category::kInputStall) == 10 * 8);
      CHECK(a.breakdown[At(Category::kCompute)]->high > 90.0 / 98);
      CHECK(a.idle.ns == 4 * 120 - (3 * 90 + 70));  // of the profiled steps
      CHECK(a.kernels.front().count == 3);          // the last one ends later
    }
    SUBCASE("an idle one hides nothing, and the profiler's cost is no launch") {
      job.AddDevice(20);
      const Attribution a = attributed();
      CHECK(Ns(a, Category::kCompute) == 10 * 20);
      CHECK(Ns(a, Category::kInputStall) == 10 * 40);
      CHECK(Ns(a, Category::kLaunch) == 10 * 38);
    }
    SUBCASE("an evaluation is neither") {
      job.AddDevice(20);
      job.Named(job.main, "evaluation", trace::SpanActivity::kEvaluation, 150, 180);
      const Attribution a = attributed();
      CHECK(Ns(a, Category::kLaunch) == 10 * 38 - 30);
      CHECK(Ns(a, Category::kOther) == 30);
      CHECK(a.steps[1].ns[At(Category::kOther)] == 30);
    }
  }

  TEST_CASE("profiled: several ranks have the window and the shares of one") {
    ProfiledJob job;
    job.AddDevice(20);
    job.Named(job.main, "evaluation", trace::SpanActivity::kEvaluation, 150, 180);
    const model::Run one = job.Take();
    const Attribution alone = Attribute(one);
    const model::Run two = OnTwoRanks(one, 7);
    const Attribution both = Attribute(two);
    CHECK(both.window.steps == alone.window.steps);
    CHECK(both.window.rows == 2 * alone.window.rows);
    REQUIRE(both.window.profiled.has_value());
    // Both profilers are open later than the first one, in whose first step the second is not.
    CHECK(both.window.profiled->rows == 6);
    CHECK(both.window.profiled->steps == 3);
    PerCategory<int64_t> shared{};
    for (const StepShare& step : both.steps) {
      for (size_t c = 0; c < kCategories; ++c) shared[c] += step.ns[c];
    }
    for (const Category category :
         {Category::kCompute, Category::kInputStall, Category::kLaunch, Category::kOther}) {
      CAPTURE(WordFor(category));
      CHECK(shared[At(category)] == 2 * Ns(alone, category));
    }

    // What a rank's profiler saw is lost: nothing stands for its device.
    model::Run lost = OnTwoRanks(one, 7);
    std::erase_if(lost.rows.kernels, [&](const trace::Kernel& kernel) {
      return lost.tracks[kernel.track.value].rank == 1;
    });
    lost.tracks.pop_back();  // the device's, which that file alone has
    REQUIRE_FALSE(lost.tracks.back().info.on_device());
    CHECK_FALSE(ProfiledWindow(lost, model::StepIntervals(lost)).has_value());
  }

  TEST_CASE("profiled: steps outside of the window are estimated, too") {
    ProfiledJob job;
    job.AddDevice(20);
    const StepPartition all = PartitionSteps(job.Take());
    CHECK(all.steps[19].ns[At(Category::kCompute)] == 20);
    CHECK(all.steps[12].ns[At(Category::kLaunch)] == 60);
  }

  TEST_CASE("profiled: evaluation counts wherever it is in the run") {
    for (const int64_t start_ns : {200, 1100}) {  // outside of the profiled steps, and within
      ProfiledJob job(true, kStep);
      job.AddDevice();
      job.Named(job.main, "evaluation", trace::SpanActivity::kEvaluation, start_ns, start_ns + 100);
      const Attribution result = Attribute(job.Take());
      REQUIRE(result.beside.size() == 1);
      CHECK(result.beside[0].ns == 100);
      CHECK(Says(result, "evaluation and checkpoints are those of the whole run"));
    }
  }

  TEST_CASE("profiled: until the device has done unseen work its idleness is none") {
    const auto chosen = [](int64_t behind, uint64_t closed) {
      const model::Run run = Behind(behind, closed);
      const Window window = ChooseWindow(run, model::StepIntervals(run));
      CHECK(window.profiled_of == 24);
      return std::pair(window.first_row, window.steps);
    };
    // A step ends where the next one begins, so the last one that is profiled is not whole.
    CHECK(chosen(0, 14) == std::pair<size_t, size_t>(5, 8));
    CHECK(chosen(900'000, 14) == std::pair<size_t, size_t>(5, 8));
    CHECK(chosen(15'000'000, 14) == std::pair<size_t, size_t>(7, 6));
    const model::Run run = Behind(15'000'000, 14);
    CHECK(Ns(Attribute(run), Category::kLaunch) < 1'000'000);
  }

  TEST_CASE("profiled: the last stretch is chosen, if it is not much shorter than another") {
    const auto chosen = [](uint64_t closed) {
      const model::Run run = Behind(0, closed);
      return ProfiledWindow(run, model::StepIntervals(run))->first_row;
    };
    CHECK(chosen(9) == 20);   // of 3 steps each
    CHECK(chosen(12) == 20);  // of 6 and 3
    CHECK(chosen(13) == 5);
  }

  TEST_CASE("profiled: a window without joined data chooses no steps") {
    ProfiledJob job;
    job.Stream();  // a device, of another window
    const model::Run run = job.Take();
    const Window window = ChooseWindow(run, model::StepIntervals(run));
    CHECK(window.steps > 15);
  }

  TEST_CASE("profiled: the profiler's cost is in no rate") {
    ProfiledJob job;
    const model::Run run = job.Take();
    const Attribution a = Attribute(run);
    // Neither the five slow ones, nor those during which it was started and stopped.
    REQUIRE(a.throughput.has_value());
    CHECK(a.throughput->samples_per_s == doctest::Approx(8e9 / 98));
    CHECK(a.step_ns->mean == doctest::Approx(98));
    CHECK(Says(a, "rates and step times are from the 14 other steps"));
  }

  TEST_CASE("profiled: a part of the run has the rate of its own steps") {
    ProfiledJob job;
    job.run.rows.steps[2].samples = 80;
    const model::Run run = job.Take();
    const auto rate = [&](int64_t start_ns, int64_t end_ns) {
      const auto ground = LayGroundworkOfRange(run, start_ns, end_ns, 1);
      return Attribute(*ground, 1)->throughput->samples_per_s;
    };
    CHECK(rate(0, 3 * kStep) == doctest::Approx((8 + 8 + 80) * 1e9 / (3 * kStep)));
    CHECK(rate(3 * kStep, 6 * kStep) == doctest::Approx(8e9 / kStep));
  }

  TEST_CASE("profiled: a cold start counts in no rate, and profiled steps are no cold start") {
    // 100 steps; the first 30 read from the disk, and a profiler makes steps 40 to 49 slow.
    RunBuilder b;
    b.run.info.job.command = {"python", "train.py"};
    const StageId fetch = b.Stage("fetch", "map");
    const StageId trainer = b.Stage("trainer", "trainer", 1, true, {fetch});
    const TrackId main = b.Thread("main", trainer);
    int64_t now = 0;
    for (uint64_t i = 0; i < 100; ++i) {
      if (i == 40) {
        b.Named(main, std::string(model::kProfilerStart), trace::SpanActivity::kAnnotation, now,
                now + 5);
        now += 5;
      }
      const bool slow = i >= 40 && i < 50;
      const auto jitter = static_cast<int64_t>(i % 7);
      const int64_t io = i < 30 ? 500 : slow ? 2000 : 0;
      const int64_t fetched = now + 1000 + io + jitter;
      if (io > 0) b.Wait(main, WaitCause::kIo, {}, now, now + io);
      b.Work(main, fetch, now, fetched, {.item = i});
      b.Step({.index = i,
              .requested = now,
              .received = fetched,
              .done = fetched + 200,
              .batch = i,
              .track = main,
              .samples = 8});
      now = fetched + 200;
      if (i == 49) {
        b.Named(main, std::string(model::kProfilerStop), trace::SpanActivity::kAnnotation, now,
                now + 5);
        now += 5;
      }
    }
    const model::Run run = b.Take();
    const Attribution a = Attribute(run);
    REQUIRE(a.window.cold.has_value());
    CHECK(a.window.cold->cause == ColdCause::kPageCache);
    CHECK(a.window.cold->steps >= 30);
    CHECK(a.window.cold->steps <= 34);
    REQUIRE(a.throughput.has_value());
    CHECK(a.throughput->samples_per_s == doctest::Approx(8e9 / 1203).epsilon(0.005));
  }

  TEST_CASE("profiled: without a profiler nothing changes") {
    ProfiledJob job;
    model::Run run = job.Take();
    for (std::string& text : run.strings) text = "an annotation of the job's own";
    const Attribution a = Attribute(run);
    CHECK(a.throughput->samples_per_s < 8e9 / 98);
    CHECK_FALSE(Says(a, "profiler:"));
    CHECK(UnprofiledRows(run, model::StepIntervals(run), a.window).empty());
  }

  TEST_CASE("profiled: a profiler that was never stopped is reported") {
    ProfiledJob job(false);
    const model::Run run = job.Take();
    CHECK(Says(Attribute(run), "still open when the job ended"));
  }
}
