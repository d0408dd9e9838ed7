// How fast the simulation is: events, points of a sweep, the price of a report.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analyzer/base/splitmix.h"
#include "analyzer/spec/spec_json.h"
#include "replay/simulate/engine.h"
#include "replay/simulate/network.h"
#include "replay/simulate/simulate.h"
#include "replay/workload/change.h"

namespace {

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::replay;  // NOLINT(google-build-using-namespace)

constexpr const char* kSpec = R"json({"name": "six", "stages": [
  {"name": "read", "source": {"format": "tfrecord", "files": ["x"], "cycle_length": 4, "parallelism": 2}},
  {"name": "shuffle", "shuffle": {"buffer_size": 256}},
  {"name": "decode", "map": {"ops": ["decode_jpeg"], "parallelism": 4}},
  {"name": "augment", "map": {"ops": ["random_resized_crop(224)"], "parallelism": 2}},
  {"name": "batch", "batch": {"size": 32}},
  {"name": "prefetch", "prefetch": {"buffer_size": 2}}],
  "transfer": {"pinned": true, "overlap": true},
  "trainer": {"device": "emulated", "steps": 256, "graph": "captured",
              "emulated": {"compute_us_per_batch": 4000}}})json";

std::vector<Cost> Around(double cpu_us, SplitMix64& random) {
  std::vector<Cost> items(8192);
  for (Cost& item : items) {
    item.cpu_ns = static_cast<float>(cpu_us * 1e3 * (0.5 + random.Fraction()));
  }
  return items;
}

Workload Six() {
  auto recorded = std::make_shared<Recorded>();
  auto spec = ReadSpec(kSpec, "six");
  if (!spec.ok()) std::abort();
  recorded->spec = std::move(spec).value();
  SplitMix64 random(1);
  recorded->stages["read"].items = Around(40, random);
  recorded->stages["decode"].items = Around(400, random);
  recorded->stages["augment"].items = Around(100, random);
  StageCosts& batch = recorded->stages["batch"];
  batch.items = Around(300, random);
  batch.of_batches = true;
  recorded->trainer.batch = 32;
  recorded->trainer.launches = recorded->trainer.kernels = 1;
  recorded->cores = 4;
  recorded->wake_ns = 30'000;
  recorded->steps = 256;
  recorded->samples_per_s = 8000;
  Workload workload;
  workload.spec = recorded->spec;
  workload.recorded = std::move(recorded);
  return workload;
}

void Events(benchmark::State& state) {
  const Workload workload = Six();
  const auto network = BuildNetwork(workload, 256);
  if (!network.ok()) std::abort();
  uint64_t events = 0;
  for (auto _ : state) events += Run(network.value(), 1, 256).events;
  state.counters["events"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(Events)->Unit(benchmark::kMillisecond);

// A thousand points over two threads, as a sweep distributes them.
void Sweep(benchmark::State& state) {
  const Workload workload = Six();
  SimulateOptions options;
  options.batches = 256;
  options.resamples = 1;
  for (auto _ : state) {
    std::atomic<int> next{0};
    const auto work = [&] {
      for (int point = next++; point < 1000; point = next++) {
        const auto changed =
            WithSettings(workload, {"decode.parallelism=" + std::to_string(1 + point % 10),
                                    "augment.parallelism=" + std::to_string(1 + point / 10 % 10),
                                    "prefetch.buffer_size=" + std::to_string(1 + point / 100)});
        if (!changed.ok()) std::abort();
        benchmark::DoNotOptimize(Simulate(changed.value().workload, options));
      }
    };
    std::thread other(work);
    work();
    other.join();
  }
}
BENCHMARK(Sweep)->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
