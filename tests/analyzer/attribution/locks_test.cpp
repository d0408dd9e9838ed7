// Locks of a job's own, which its workers share.
#include <doctest/doctest.h>

#include "tests/analyzer/attribution/run_builder.h"

using namespace stallscope;
using stallscope::test::BlameText;
using stallscope::test::RunBuilder;

namespace {

struct Locked {
  attribution::Attribution attribution;
  std::string blame;
  std::optional<double> held;
};

// Two workers, each of whose batches takes 100, of which it waits for the lock for `wait_ns` and
// then has it for `held_ns`. The trainer waits for each batch, and computes for `compute_ns`.
Locked Attributed(int64_t wait_ns, int64_t held_ns, int64_t compute_ns, bool job = true) {
  RunBuilder b;
  if (job) b.run.info.job.command = {"python", "train.py"};
  const StageId fetch = b.Stage("fetch", "map", 2);
  const StageId trainer = b.Stage("trainer", "trainer", 1, true, {fetch});
  b.Queue("loader", 4, fetch);
  const QueueId lock = b.Lock("shared lock");
  const TrackId workers[] = {b.Thread("worker 0", fetch), b.Thread("worker 1", fetch)};
  const TrackId main = b.Thread("main", trainer);
  for (uint64_t i = 0; i < 8; ++i) {
    const int64_t at = static_cast<int64_t>(i) * (100 + compute_ns);
    const TrackId worker = workers[i % 2];
    if (wait_ns > 0) b.Wait(worker, trace::WaitCause::kLock, lock, at, at + wait_ns);
    if (held_ns > 0) {
      b.Op(worker, fetch, b.Text("multiprocessing.Lock held"), at, at + wait_ns + held_ns);
    }
    b.Work(worker, fetch, at, at + 100, {.item = i, .cpu = static_cast<uint64_t>(100 - wait_ns)});
    b.Work(main, trainer, at + 100, at + 100 + compute_ns, {.item = i});
    b.Step({.index = i,
            .requested = at,
            .received = at + 100,
            .done = at + 100 + compute_ns,
            .batch = i,
            .track = main});
  }
  Locked found;
  const model::Run run = b.Take();
  found.attribution = attribution::Attribute(run);
  found.blame = BlameText(run, found.attribution);
  found.held = found.attribution.stages[fetch.value].held;
  return found;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("waiting for a lock within a fetch is the fetch's, for the lock") {
    const Locked found = Attributed(40, 0, 0);
    CHECK(found.blame == "fetch cpu 480, fetch lock 320");
    CHECK_FALSE(found.held.has_value());
  }

  TEST_CASE("workers that take turns are no burst, however little each of them works") {
    CHECK(Attributed(40, 0, 200).blame == "fetch cpu 480, fetch lock 320");
    CHECK(Attributed(4, 0, 200).blame == "fetch buffer 768, fetch lock 32");
    CHECK(Attributed(40, 0, 200, false).blame == "fetch buffer 480, fetch lock 320");
  }

  TEST_CASE("the part of the work that holds the lock bounds what its workers deliver") {
    const Locked all = Attributed(0, 100, 0);
    REQUIRE(all.held.has_value());
    CHECK(*all.held == doctest::Approx(1.0));
    const auto capacity = [](const Locked& of) {
      return of.attribution.stages[0].capacity_samples_per_s.value_or(0);
    };
    CHECK(capacity(Attributed(0, 0, 0)) == doctest::Approx(2 * capacity(all)));
    // Waiting for it is not holding it.
    const Locked waits = Attributed(40, 30, 0);
    REQUIRE(waits.held.has_value());
    CHECK(*waits.held == doctest::Approx(0.5));
    CHECK(capacity(waits) == doctest::Approx(capacity(Attributed(40, 0, 0))));
  }
}
