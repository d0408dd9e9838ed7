// The decisions of the tuner on a simulated pipeline, without threads or clocks.
#include "collectors/pipeline/tuner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

using namespace stallscope::pipeline;

namespace {

// A map of 1 ms an element in front of a trainer: as many elements as workers and cores allow.
struct Simulated {
  int64_t cores;
  int64_t workers = 1;
  double elements = 0;
  double busy = 0;
  uint64_t empty = 0;
  double demand = 1e9;  // elements a second that the trainer could take
  double stolen = 0;    // of each core, by somebody else
  double cpu = 0;       // seconds

  std::vector<Tunable> Tunables() {
    Tunable tunable;
    tunable.path = "map.parallelism";
    tunable.most = 16;
    tunable.set = [this](int64_t value) { workers = value; };
    tunable.load = [this] { return TunerLoad{static_cast<uint64_t>(busy), empty, 0}; };
    return {tunable};
  }
  void Pass(double seconds) {
    const double capacity = 1000.0 * (1 - stolen) * static_cast<double>(std::min(workers, cores));
    const double rate = std::min(capacity, demand);
    elements += rate * seconds;
    cpu += seconds * static_cast<double>(std::min(workers, cores));
    // More workers than cores are all on their way all the time.
    busy += seconds * 1e9 * (rate < capacity ? rate / 1000.0 : static_cast<double>(workers));
    if (rate == capacity) ++empty;
  }
};

int64_t Settle(Simulated& machine, TunerLimits limits, int looks) {
  TunerPolicy policy(machine.Tunables(), limits);
  for (int i = 0; i < looks; ++i) {
    policy.Step({i * 0.1, static_cast<uint64_t>(i) * 100'000'000,
                 static_cast<uint64_t>(machine.elements), 0, machine.cpu});
    machine.Pass(0.1);
  }
  return machine.workers;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("workers grow up to the cores, and a change that does not pay off is undone") {
    Simulated four{4};
    CHECK(Settle(four, {.cores = 4}, 200) == 4);
    Simulated one{1};
    CHECK(Settle(one, {.cores = 4}, 200) == 1);
  }

  TEST_CASE("one disturbed trial settles nothing, two in a row do") {
    for (const int disturbed : {1, 2}) {
      Simulated machine{2};
      TunerPolicy policy(machine.Tunables(), {.cores = 4});
      int trials = 0;
      for (int i = 0; i < 200; ++i) {
        const int64_t before = machine.workers;
        policy.Step({i * 0.1, static_cast<uint64_t>(i) * 100'000'000,
                     static_cast<uint64_t>(machine.elements), 0, machine.cpu});
        if (machine.workers > before) ++trials;
        machine.stolen = machine.workers == 2 && trials <= disturbed ? 0.6 : 0;
        machine.Pass(0.1);
      }
      CAPTURE(disturbed);
      CHECK(machine.workers == (disturbed == 1 ? 2 : 1));
    }
  }

  TEST_CASE("a stage that keeps up is left alone") {
    Simulated machine{4};
    machine.demand = 700;
    CHECK(Settle(machine, {.cores = 4}, 100) == 1);
  }

  TEST_CASE("no more workers than the budget has cores, and one") {
    Simulated machine{16};
    CHECK(Settle(machine, {.cores = 3}, 400) <= 4);
  }

  TEST_CASE("two maps that sleep: both grow, beyond the cores, since they burn none") {
    // Each takes 10 ms per element; the slower one sets the rate.
    int64_t workers[2] = {1, 1};
    double busy[2] = {0, 0};
    double elements = 0;
    uint64_t empty = 0;
    double cpu = 0;
    double burns = 0;  // share of a core that an active worker uses
    const auto tunable = [&](int i, const char* path) {
      Tunable t;
      t.path = path;
      t.most = 4;
      t.set = [&workers, i](int64_t value) { workers[i] = value; };
      t.load = [&busy, &empty, i] { return TunerLoad{static_cast<uint64_t>(busy[i]), empty, 0}; };
      return t;
    };
    const auto settle = [&] {
      TunerPolicy policy({tunable(0, "a.parallelism"), tunable(1, "b.parallelism")}, {.cores = 2});
      for (int i = 0; i < 100; ++i) {
        policy.Step({i * 0.1, static_cast<uint64_t>(i) * 100'000'000,
                     static_cast<uint64_t>(elements), 0, cpu});
        const double at_work = static_cast<double>(workers[0] + workers[1]);
        const double slowed = std::max(1.0, burns * at_work / 2);
        const double rate = 100 * static_cast<double>(std::min(workers[0], workers[1])) / slowed;
        elements += 0.1 * rate;
        for (int k = 0; k < 2; ++k) busy[k] += rate * 0.1 * 10e6 * slowed;
        cpu += 0.1 * std::min(2.0, burns * at_work);
        ++empty;
      }
    };
    settle();
    CHECK(workers[0] == 4);
    CHECK(workers[1] == 4);
    // The same work on the CPU: two cores feed one worker each, and more workers do not help.
    workers[0] = workers[1] = 1;
    burns = 1;
    settle();
    CHECK(workers[0] + workers[1] <= 3);
  }

  TEST_CASE("a buffer that is both empty and full doubles, while there is memory") {
    int64_t size = 1;
    uint64_t looks = 0;
    Tunable buffer;
    buffer.path = "prefetch.buffer_size";
    buffer.most = 64;
    buffer.buffer = true;
    buffer.set = [&](int64_t value) { size = value; };
    buffer.load = [&] {
      ++looks;
      return TunerLoad{0, looks, size < 8 ? looks : 0};
    };
    TunerPolicy policy({buffer}, {.cores = 2, .memory_bytes = 1000});
    for (int i = 1; i < 20; ++i) {
      policy.Step({i * 0.1, static_cast<uint64_t>(i), static_cast<uint64_t>(i), 10});
    }
    CHECK(size == 8);
    CHECK(policy.Notes().front().find("auto set prefetch.buffer_size to 8") == 0);
    size = 1;
    TunerPolicy poor({buffer}, {.cores = 2, .memory_bytes = 1000});
    for (int i = 1; i < 20; ++i) {
      poor.Step({i * 0.1, static_cast<uint64_t>(i), static_cast<uint64_t>(i), 1000});
    }
    CHECK(size == 1);
  }
}
