// Every rate here can be worked out on paper.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replay/simulate/simulate.h"
#include "replay/workload/change.h"
#include "tests/replay/made_job.h"
#include "tests/support/random.h"

using stallscope::LoaderSpec;
using stallscope::replay::Calibrate;
using stallscope::replay::JobCosts;
using stallscope::replay::Prediction;
using stallscope::replay::Simulate;
using stallscope::replay::WithSettings;
using stallscope::replay::WorkerStart;
using stallscope::replay::Workload;
using stallscope::test::CostMs;
using stallscope::test::MadeJob;

namespace {

double RateWith(MadeJob job, int64_t workers, int64_t ahead = 2) {
  job.costs.loader.num_workers = workers;
  job.costs.loader.prefetch_factor = ahead;
  return Simulate(job.Make()).samples_per_s;
}

doctest::Approx Near(double rate, double part = 0.02) {
  return doctest::Approx(rate).epsilon(part);
}

// Ten steps of 11 ms, then an evaluation of 100 ms, five batches that wait 20 ms each, and 20 ms of
// something else.
MadeJob Evaluating() {
  MadeJob job(CostMs(0, 1), CostMs(10));
  job.costs.loader.num_workers = 0;
  job.costs.passes = {10, 10};
  job.costs.between_passes = {100e6, 20e6};
  const MadeJob other(CostMs(0, 20), CostMs(0));
  auto costs = std::make_shared<JobCosts>(other.costs);
  costs->loader.num_workers = 0;
  costs->passes = {5};
  job.costs.evaluations = {{"loader2", costs, 4000e6}};
  job.costs.evaluated_ns = 4000e6;
  return job;
}

// The eighth batch of each eight takes long.
MadeJob Straggling() {
  MadeJob job(CostMs(0, 1), CostMs(5));
  job.costs.batches.resize(8, job.costs.batches[0]);
  job.costs.batches[0].fetch = CostMs(0, 100);
  job.costs.loader.num_workers = 4;
  return job;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("job: without workers the trainer fetches, and each batch costs both") {
    const MadeJob job(CostMs(10), CostMs(5));
    CHECK(RateWith(job, 0) == Near(1e3 / 15));
  }

  TEST_CASE("job: workers that wait are as many times as fast, up to the trainer") {
    const MadeJob job(CostMs(0, 40), CostMs(1));
    CHECK(RateWith(job, 1) == Near(25));
    CHECK(RateWith(job, 4) == Near(100));
    CHECK(RateWith(job, 64) > 900);
    // Hidden behind the trainer.
    CHECK(RateWith(MadeJob(CostMs(0, 10), CostMs(20)), 1) == Near(50));
  }

  TEST_CASE("job: workers that burn are bounded by the cores") {
    // 10 ms of a batch on two cores, which are worth 1.92.
    const MadeJob job(CostMs(8), CostMs(2));
    CHECK(RateWith(job, 1) == Near(1e3 / 8 * 0.96, 0.05));
    CHECK(RateWith(job, 4) == Near(192, 0.03));
    CHECK(RateWith(job, 8) == Near(192, 0.03));
    MadeJob one = job;
    one.recorded.cores = 1;
    CHECK(RateWith(one, 4) == Near(100, 0.03));
  }

  TEST_CASE("job: ranks share the cores, and what one does not burn is for the others") {
    const auto rate = [](MadeJob job, int64_t workers, unsigned ranks, double cores) {
      job.recorded.ranks = ranks;
      job.recorded.cores = cores;
      return RateWith(std::move(job), workers);
    };
    // Each of two ranks could burn all cores, and gets a half of them.
    const MadeJob burns(CostMs(30), CostMs(2));
    CHECK(rate(burns, 4, 2, 4) == Near(rate(burns, 4, 1, 2), 0.05));
    CHECK(rate(burns, 4, 2, 4) < 0.7 * rate(burns, 4, 1, 4));
    // They wait for most of the time, so each has nearly all.
    const MadeJob waits(CostMs(2, 40), CostMs(2));
    CHECK(rate(waits, 8, 2, 2) == Near(rate(waits, 8, 1, 2), 0.1));
    CHECK(rate(waits, 8, 2, 2) > rate(waits, 8, 1, 1));
  }

  TEST_CASE("job: serializing and its undoing are work of the worker and of the main process") {
    MadeJob job(CostMs(0, 1), CostMs(5));
    job.costs.batches[0].receive = CostMs(5);
    CHECK(RateWith(job, 2) == Near(100));
    // A pinning thread receives while the trainer works.
    job.costs.loader.pin_memory = true;
    CHECK(RateWith(job, 2) == Near(200 * 0.96, 0.05));
    // A large message leaves the worker only when it is read. What it was recorded to wait for that
    // is not waited for twice.
    job.costs.loader.pin_memory = false;
    job.costs.batches[0].bytes = 1'000'000;
    job.costs.batches[0].send = CostMs(1, 50);
    CHECK(RateWith(job, 2) == Near(100));
    CHECK(RateWith(job, 1) == Near(100));
    job.costs.batches[0].receive = {};
    job.costs.batches[0].send = CostMs(20);
    job.costs.batches[0].bytes = 100;
    CHECK(RateWith(job, 1) == Near(50));
  }

  TEST_CASE(
      "job: receiving waits for a worker that fetches, and not for one that has nothing to do") {
    // The one worker is always at work: its messages wait for its interpreter lock.
    MadeJob job(CostMs(20), CostMs(5));
    job.costs.batches[0].receive = CostMs(0, 15);
    CHECK(RateWith(job, 1) == Near(1e3 / 20, 0.06));
    // Of a batch's 25 ms on two cores (worth 1.92), the main process waits for a few at most.
    CHECK(RateWith(job, 4) == Near(1e3 / 13, 0.12));
    // Two keep both cores busy: one that has given up its lock waits for a core to take it again.
    CHECK(RateWith(job, 2) == Near(1e3 / 13.5, 0.1));
    // Nothing to do: the worker may be one batch ahead, which the trainer has long had.
    job.costs.steps = {CostMs(30)};
    CHECK(RateWith(job, 1) == Near(1e3 / 30, 0.05));
  }

  TEST_CASE("job: the order holds back what is behind a straggler") {
    // With eight batches in flight the next straggler is asked for when the last one is handed out.
    MadeJob job = Straggling();
    CHECK(Simulate(job.Make()).samples_per_s == Near(80));
    job.costs.loader.in_order = false;
    CHECK(Simulate(job.Make()).samples_per_s == Near(200, 0.06));
    // Of four workers, one gets all stragglers, and being further ahead is of no use. Of five,
    // others get the next ones, and two are on their way at once.
    job.costs.loader.in_order = true;
    CHECK(RateWith(job, 4, 4) == Near(80));
    CHECK(RateWith(job, 5, 4) > 140);
  }

  TEST_CASE("job: workers start with every epoch, unless they persist") {
    MadeJob job(CostMs(0, 1), CostMs(10));
    job.costs.passes = {10, 10};
    job.costs.loader.num_workers = 2;
    job.costs.start = WorkerStart{5e6, 0, 30e6, 20e6, {}, {}, {}, {}};
    // 100 ms of steps, two starts of 5 ms, 30 ms until the second is there, the end of 20 ms.
    CHECK(Simulate(job.Make()).samples_per_s == Near(10 / 0.157, 0.04));
    job.costs.loader.persistent_workers = true;
    CHECK(Simulate(job.Make()).samples_per_s == Near(100, 0.03));
    // The first batch of each worker takes 15 ms longer: the trainer waits for the one that comes
    // first, and meanwhile the other one is made.
    job.costs.start->first_fetch = CostMs(0, 15);
    CHECK(Simulate(job.Make()).samples_per_s == Near(100, 0.03));
    job.costs.loader.persistent_workers = false;
    CHECK(Simulate(job.Make()).samples_per_s == Near(10 / 0.172, 0.04));
    job.costs.start->first_fetch = {};
    // So does the first step after a start.
    job.costs.start->first_step = CostMs(15);
    CHECK(Simulate(job.Make()).samples_per_s == Near(10 / 0.172, 0.04));
    job.costs.start->first_step = {};
    // One long pass starts them once, in its warm-up.
    job.costs.passes.clear();
    CHECK(Simulate(job.Make()).samples_per_s == Near(100, 0.03));
  }

  TEST_CASE("job: threads of a math library share what they are recorded to share") {
    // 10 ms of the main thread, 8 of them beside another one: 2 ms alone and 16 ms to share.
    MadeJob job(CostMs(0, 1), CostMs(10));
    job.costs.math_ns = 8e6;
    job.costs.math_threads = 2;
    Workload workload = job.Make();
    workload.spec.job.threads = 1;
    CHECK(Simulate(workload).samples_per_s == Near(1e3 / 18));
    workload.spec.job.threads = 2;
    CHECK(Simulate(workload).samples_per_s == Near(1e3 / 10 * 0.96, 0.04));
    job.recorded.cores = 8;
    workload = job.Make();
    workload.spec.job.threads = 4;
    CHECK(Simulate(workload).samples_per_s == Near(1e3 / 6, 0.08));
  }

  TEST_CASE("job: workers whose data ends are passed over") {
    MadeJob job(CostMs(0, 10), CostMs(1));
    job.costs.loader.iterable = true;
    job.costs.loader.num_workers = 2;
    job.costs.batches.resize(8, job.costs.batches[0]);
    for (size_t i = 0; i < 8; ++i) job.costs.batches[i].worker = i < 2 ? 0 : 1;
    job.costs.shards = {2, 6};
    job.costs.passes = {8, 8};
    // Two batches side by side, twice, then four one after the other: 60 ms for 8.
    CHECK(Simulate(job.Make()).samples_per_s == Near(8 / 0.061, 0.04));
  }

  TEST_CASE("job: more workers never slow down pure waiting, and never outrun the cores") {
    stallscope::test::Random random(20261123);
    for (int round = 0; round < 60; ++round) {
      const double ms = 1 + static_cast<double>(random.Below(400)) / 10;
      const double step = static_cast<double>(random.Below(100)) / 10;
      MadeJob waits(CostMs(0, ms), CostMs(step));
      MadeJob burns(CostMs(ms), CostMs(step));
      burns.recorded.cores = waits.recorded.cores = static_cast<double>(1 + random.Below(8));
      const int64_t ahead = 1 + static_cast<int64_t>(random.Below(4));
      double before = 0;
      CAPTURE(ms);
      CAPTURE(step);
      for (const int64_t workers : {0, 1, 2, 4, 8, 16}) {
        CAPTURE(workers);
        const double rate = RateWith(waits, workers, ahead);
        CHECK(rate >= before * 0.99);
        before = rate;
        CHECK(RateWith(burns, workers, ahead) <= 1.01e3 * burns.recorded.cores / (ms + step));
      }
    }
  }

  TEST_CASE(
      "job: what a recording without workers does not hold widens the interval, and is said") {
    MadeJob job(CostMs(10), CostMs(5));
    job.costs.loader.num_workers = 0;
    job.costs.sends = false;
    job.costs.start.reset();
    const auto changed = WithSettings(job.Make(), {"loader.num_workers=2"});
    REQUIRE(changed.ok());
    CHECK(changed.value().unpriceable.empty());
    REQUIRE(changed.value().workload.assumptions.size() == 1);
    CHECK(changed.value().workload.assumptions[0].find("num_workers=1") != std::string::npos);
    const Prediction guess = Simulate(changed.value().workload);
    MadeJob seen(CostMs(10), CostMs(5));
    const auto known = WithSettings(seen.Make(), {"loader.num_workers=2"});
    REQUIRE(known.ok());
    CHECK(known.value().workload.assumptions.empty());
    const Prediction sure = Simulate(known.value().workload);
    CHECK(guess.high / guess.low > 1.2 * sure.high / sure.low);
    CHECK(guess.low < sure.samples_per_s);
  }

  TEST_CASE("job: changes that one run cannot tell, and those for the user alone to make") {
    MadeJob job(CostMs(10), CostMs(5));
    const auto of = [&](const char* setting) {
      auto changed = WithSettings(job.Make(), {setting});
      REQUIRE(changed.ok());
      return std::move(changed).value();
    };
    CHECK(of("loader.pin_memory=true").unpriceable.starts_with("loader.pin_memory: "));
    CHECK(of("env.OMP_PROC_BIND=true").unpriceable.starts_with("env: "));
    CHECK(of("loader.batch_size=2").unpriceable.empty());
    CHECK(of("loader.batch_size=2").by_name_only.starts_with("loader.batch_size: "));
    CHECK(of("loader.num_workers=2").by_name_only.empty());
    CHECK(of("job.threads=1").unpriceable.empty());
    job.costs.math_threads_set = "train.py:3";
    CHECK(of("job.threads=1").unpriceable ==
          "job.threads: has no effect, because the job sets the number of threads itself "
          "(train.py:3)");
    CHECK(of("loader.num_workers=2").unpriceable.empty());
    job.costs.loads_in_threads = true;
    CHECK(of("job.threads=1").unpriceable.starts_with("job.threads: other threads"));
    CHECK(of("loader.num_workers=2").unpriceable.empty());  // the first one has such threads, too
    const int64_t workers = std::exchange(job.costs.loader.num_workers, 0);
    CHECK(of("loader.num_workers=2").unpriceable.starts_with("loader.num_workers: other threads"));
    job.costs.loads_in_threads = false;
    job.costs.in_pools = true;
    CHECK(of("loader.num_workers=2").unpriceable.starts_with("loader.num_workers: the data set"));
    job.costs.loader.num_workers = workers;
    CHECK(of("loader.num_workers=2").unpriceable.empty());  // each has made its own
    job.costs.in_pools = false;
    job.costs.loader.iterable = true;
    CHECK(of("loader.num_workers=2").by_name_only.starts_with("loader.num_workers: "));
    CHECK(of("loader.prefetch_factor=4").by_name_only.empty());
    // Workers that start with each epoch in an unrecorded way.
    CHECK(of("loader.multiprocessing_context=spawn").unpriceable.empty());
    job.costs.passes = {10};
    CHECK_FALSE(of("loader.multiprocessing_context=spawn").unpriceable.empty());
  }

  TEST_CASE("job: how workers start is assumed where there were none") {
    MadeJob job(CostMs(10), CostMs(5));
    job.costs.passes = {10};
    job.costs.start.reset();
    const auto why = [&](int64_t recorded) {
      job.costs.loader.num_workers = recorded;
      const auto changed =
          WithSettings(job.Make(), {"loader.num_workers=2", "loader.persistent_workers=true"});
      REQUIRE(changed.ok());
      return changed.value().unpriceable;
    };
    CHECK(why(0) == "");
    CHECK(why(1).starts_with("loader.persistent_workers: "));
    job.costs.made_again = true;
    CHECK(why(0).find("a new loader for each pass") != std::string::npos);
  }

  TEST_CASE("job: workers that share a lock are not predicted to work beside one another") {
    MadeJob job(CostMs(10), CostMs(5));
    const auto why = [&](double held, const char* setting) {
      job.costs.held = held;
      auto changed = WithSettings(job.Make(), {setting});
      REQUIRE(changed.ok());
      return changed.value().unpriceable;
    };
    const int64_t now = job.costs.loader.num_workers;
    const std::string more = "loader.num_workers=" + std::to_string(now + 3);
    CHECK(why(0, more.c_str()).empty());
    CHECK(why(0.01, more.c_str()).empty());
    CHECK(why(0.9, more.c_str()).starts_with("loader.num_workers: the workers share a lock"));
    CHECK(why(0.9, "loader.prefetch_factor=4").empty());
    CHECK(why(0.9, "loader.num_workers=0").empty());
  }

  TEST_CASE("job: the model must give the recorded rate, or its intervals widen and it is said") {
    MadeJob job(CostMs(0, 40), CostMs(1));
    job.recorded.samples_per_s = 25;
    const auto width = [](const MadeJob& made) {
      const Prediction now = Simulate(Calibrate(made.Make()));
      CHECK(now.samples_per_s == Near(made.recorded.samples_per_s, 0.05));
      return now.high / now.low;
    };
    const double sound = width(job);
    const auto said = [](const MadeJob& made) {
      return WithSettings(Calibrate(made.Make()), {"loader.num_workers=2"})
          .value()
          .workload.assumptions.size();
    };
    CHECK(said(job) == 0);
    job.recorded.samples_per_s = 17;
    CHECK(width(job) > 1.3 * sound);
    CHECK(said(job) == 1);
  }

  TEST_CASE("job: an evaluation between two passes is simulated with its own loader's settings") {
    MadeJob job = Evaluating();
    const auto rate = [&](const std::vector<std::string>& settings) {
      const auto changed = WithSettings(job.Make(), settings);
      REQUIRE(changed.ok());
      CHECK(changed.value().unpriceable == "");
      return Simulate(changed.value().workload).samples_per_s;
    };
    CHECK(rate({}) == Near(10 / 0.230, 0.03));
    // Four side by side, then the fifth.
    CHECK(rate({"loader2.num_workers=4"}) == Near(10 / 0.170, 0.04));
    // Only the part that was recorded as that loader's.
    job.costs.evaluations[0].ns = 2000e6;
    CHECK(rate({"loader2.num_workers=4"}) == Near(10 / 0.200, 0.04));
    // A change to the steps' own loader does not change it.
    CHECK(rate({"loader.num_workers=1"}) == Near(10 / 0.220, 0.04));
    // Within a pass, after every fifth step.
    job.costs.evaluations[0].ns = 4000e6;
    job.costs.passes.clear();
    job.costs.between_passes = {};
    job.costs.steps.resize(5, job.costs.steps[0]);
    job.costs.pauses.resize(5);
    job.costs.pauses[4] = {100e6, 0};
    CHECK(rate({}) == Near(5 / 0.155, 0.04));
    CHECK(rate({"loader2.num_workers=4"}) == Near(5 / 0.095, 0.05));
  }

  TEST_CASE("job: changes to an evaluation that its batches do not show are not predicted") {
    const MadeJob job = Evaluating();
    const auto why = [&](const char* setting) {
      return WithSettings(job.Make(), {setting}).value().unpriceable;
    };
    CHECK(why("loader2.batch_size=4").starts_with("loader2.batch_size: "));
    CHECK(why("loader2.pin_memory=true").starts_with("loader2.pin_memory: "));
    CHECK(why("loader2.num_workers=2").empty());
    Workload unseen = job.Make();
    unseen.spec.stages.push_back({"loader3", LoaderSpec{}});
    auto recorded = std::make_shared<stallscope::replay::Recorded>(*unseen.recorded);
    recorded->spec = unseen.spec;
    unseen.recorded = recorded;
    CHECK(WithSettings(unseen, {"loader3.num_workers=2"})
              .value()
              .unpriceable.starts_with("loader3: it does not feed the recorded steps"));
  }

  TEST_CASE("job: pinning moves a copy's time, between nothing and two thirds of it") {
    MadeJob job(CostMs(0, 1), CostMs(4, 8));
    job.costs.copied_bytes = 12e6;
    job.costs.copy_ns = 6e6;
    const auto with = [&](const char* setting) {
      const auto changed = WithSettings(job.Make(), {setting});
      REQUIRE(changed.ok());
      CHECK(changed.value().unpriceable == "");
      return Simulate(changed.value().workload);
    };
    // Steps of 12 ms, of which pinning saves 4 at most.
    const Prediction pinned = with("loader.pin_memory=true");
    CHECK(pinned.samples_per_s == Near(1e3 / 9.8, 0.03));
    CHECK(pinned.low < 1e3 / 12);
    CHECK(pinned.high > 1e3 / 8);
    // If it was pinned, they take at most 12 ms more.
    job.costs.loader.pin_memory = true;
    const Prediction pageable = with("loader.pin_memory=false");
    CHECK(pageable.samples_per_s == Near(1e3 / 17, 0.03));
    CHECK(pageable.low < 1e3 / 24);
    // Without an accelerator nothing was pinned, so it has no effect.
    job.costs.pins = false;
    CHECK(with("loader.pin_memory=false").samples_per_s == Near(1e3 / 12));
  }

  TEST_CASE("job: a change may add a wake-up to each step, which makes short ones less certain") {
    const auto width = [](double ms, bool changes) {
      const Workload recorded = MadeJob(CostMs(0, 0.1), CostMs(ms)).Make();
      const std::vector<std::string> settings(changes ? 1 : 0, "loader.prefetch_factor=4");
      const auto changed = WithSettings(recorded, settings);
      REQUIRE(changed.ok());
      const Prediction prediction = Simulate(changed.value().workload);
      return prediction.high / prediction.samples_per_s - 1;
    };
    CHECK(width(0.5, true) > width(50, true) + 0.05);
    CHECK(width(0.5, false) < width(0.5, true) - 0.05);
  }

  TEST_CASE("job: other shards of a stream are not predicted") {
    MadeJob job(CostMs(0, 20), CostMs(1));
    job.costs.loader.iterable = true;
    job.costs.loader.num_shards = 1;
    job.costs.loader.knobs = {"num_workers", "num_shards"};
    const auto changed = WithSettings(job.Make(), {"loader.num_shards=2"});
    REQUIRE(changed.ok());
    CHECK(changed.value().unpriceable.starts_with("loader.num_shards: "));
  }

  TEST_CASE("job: the threads and processes of grain") {
    const auto loading = [](const stallscope::replay::Cost& fetch) {
      MadeJob job(fetch, CostMs(5));
      job.costs.of_grain = true;
      job.costs.samples = 4;
      job.costs.loader = LoaderSpec();
      job.costs.loader.knobs = {"num_workers", "prefetch", "threads"};
      job.costs.sends = false;
      job.costs.start.reset();
      return job;
    };
    const auto with = [](const MadeJob& job, const std::vector<std::string>& settings) {
      const auto changed = WithSettings(job.Make(), settings);
      REQUIRE(changed.ok());
      CHECK(changed.value().unpriceable == "");
      return Simulate(changed.value().workload);
    };
    // Waiting is shared, with or without the lock.
    const MadeJob waits = loading(CostMs(0, 20));
    CHECK(Simulate(waits.Make()).samples_per_s == Near(1e3 / 25));
    const Prediction beside = with(waits, {"loader.threads=2", "loader.prefetch=8"});
    CHECK(beside.samples_per_s == Near(1e3 / 10, 0.05));
    CHECK(beside.low > 1e3 / 13);
    // Computing is done beside the loop if it needs no lock, or in turns with it.
    const Prediction locked = with(loading(CostMs(20)), {"loader.threads=2", "loader.prefetch=8"});
    CHECK(locked.low < 1e3 / 24);
    CHECK(locked.high > 1e3 / 14);
    // Processes have no such lock, but handing over was not recorded.
    const Prediction apart = with(loading(CostMs(20)), {"loader.num_workers=2"});
    CHECK(apart.samples_per_s > 1e3 / 21);
    CHECK(apart.high > apart.low * 1.2);
    const auto why_not = [](const MadeJob& job, const std::vector<std::string>& settings) {
      const auto changed = WithSettings(job.Make(), settings);
      REQUIRE(changed.ok());
      return changed.value().unpriceable;
    };
    CHECK(why_not(waits, {"loader.threads=2", "loader.prefetch=3"})
              .starts_with("loader.threads: the buffer"));
    MadeJob starts_again = waits;
    starts_again.costs.passes = {100};
    CHECK(why_not(starts_again, {"loader.num_workers=2"}).starts_with("loader.num_workers: "));
    CHECK(why_not(starts_again, {"loader.threads=2", "loader.prefetch=8"}) == "");
    MadeJob reads = waits;
    reads.costs.loader.threads = 16;
    reads.costs.loader.prefetch = 500;
    CHECK(why_not(reads, {"loader.num_workers=2"}).starts_with("loader.num_workers: "));
    CHECK(why_not(reads, {"loader.threads=4"}) == "");
  }

  TEST_CASE("job: memory grows by that of a worker, where workers were seen") {
    MadeJob job(CostMs(10), CostMs(5));
    job.recorded.peak_rss_bytes = 500;
    job.costs.worker_bytes = 200;
    LoaderSpec loader = job.costs.loader;
    loader.num_workers = 3;
    CHECK(Simulate(job.Make()).memory_bytes == 500);
    CHECK(Simulate(job.With(loader)).memory_bytes == 900);
    job.costs.worker_bytes.reset();
    CHECK(Simulate(job.With(loader)).memory_bytes == 0);
  }
}
