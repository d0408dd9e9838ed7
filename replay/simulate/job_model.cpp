#include "replay/simulate/job_model.h"

#include <algorithm>

namespace stallscope::replay {
namespace {

// Of a repetition: an engine's event is dearer than a pipeline's element, and a step has ten.
constexpr uint64_t kMostSteps = 8'000;
constexpr uint64_t kElementsPerStep = 3;
constexpr uint64_t kFewestSteps = 100;

// What workers cost that were not recorded, at least and at most (PyTorch on two cores: batches of
// nothing much, and of 2 MB). A forked worker starts in milliseconds, a spawned one imports torch.
struct Guess {
  double send_ns;
  double receive_ns;
  double step_ns;  // of the trainer, on fresh shared pages
  double fork_ns;
  double boot_ns;
  double spawn_ns;
  double end_ns;
};
constexpr Guess kLeastGuess = {150e3, 200e3, 0, 3e6, 5e6, 1.2e9, 20e6};
constexpr Guess kMostGuess = {2.4e6, 4e6, 1.5e6, 20e6, 40e6, 4e9, 150e6};

const LoaderSpec& LoaderOf(const Workload& workload) {
  const LoaderSpec* const loader = FirstLoader(workload.spec);
  return loader == nullptr ? workload.recorded->job->loader : *loader;
}

void Assume(const Guess& guess, StartMethod method, JobSetup& setup) {
  setup.more_send.cpu_ns = static_cast<float>(guess.send_ns);
  setup.more_receive.cpu_ns = static_cast<float>(guess.receive_ns);
  setup.more_step_ns = guess.step_ns;
  setup.start.fork_ns = guess.fork_ns;
  setup.start.end_ns = guess.end_ns;
  const bool imports = method == StartMethod::kSpawn || method == StartMethod::kForkserver;
  (imports ? setup.start.boot_cpu_ns : setup.start.boot_blocked_ns) =
      imports ? guess.spawn_ns : guess.boot_ns;
}

}  // namespace

bool HasUnknowns(const Workload& workload) {
  return LoaderOf(workload).num_workers > 0 && !workload.recorded->job->sends;
}

JobSetup SetupOf(const Workload& workload, double cores, Unknowns unknowns) {
  const Recorded& recorded = *workload.recorded;
  const JobCosts& costs = *recorded.job;
  const LoaderSpec& loader = LoaderOf(workload);
  JobSetup setup;
  setup.costs = &costs;
  setup.workers = static_cast<uint32_t>(loader.num_workers);
  setup.ahead = static_cast<uint32_t>(std::max<int64_t>(1, loader.prefetch_factor));
  setup.in_order = loader.in_order;
  setup.persistent = loader.persistent_workers;
  setup.cores = cores;
  const int64_t threads = workload.spec.job.threads;
  setup.math_threads = static_cast<uint32_t>(threads > 0 ? threads : costs.math_threads);
  setup.samples_scale = SamplesOfStep(workload) / recorded.trainer.batch;
  setup.fetch_scale = setup.step_scale = setup.samples_scale;
  if (workload.calibration.has_value()) {
    setup.fetch_scale *= workload.calibration->input_scale;
    setup.step_extra_ns = workload.calibration->step_extra_ns;
  }
  if (costs.start.has_value()) setup.start = *costs.start;
  if (HasUnknowns(workload)) {
    Assume(unknowns == Unknowns::kLeast ? kLeastGuess : kMostGuess, loader.multiprocessing_context,
           setup);
  }
  return setup;
}

uint64_t JobSteps(const Workload& workload, const SimulateOptions& options) {
  const uint64_t steps = std::max<uint64_t>(1, workload.steps());
  if (options.batches > 0) return std::min(steps, options.batches);
  if (options.most_elements == 0) return steps;
  return std::min(steps,
                  std::clamp(options.most_elements / kElementsPerStep, kFewestSteps, kMostSteps));
}

uint64_t JobMemory(const Workload& workload) {
  const Recorded& recorded = *workload.recorded;
  const int64_t before = recorded.job->loader.num_workers;
  const int64_t now = LoaderOf(workload).num_workers;
  if (recorded.peak_rss_bytes == 0 || now == before) return recorded.peak_rss_bytes;
  if (!recorded.job->worker_bytes) return 0;
  const auto each = static_cast<int64_t>(*recorded.job->worker_bytes);
  const auto all = static_cast<int64_t>(recorded.peak_rss_bytes) + (now - before) * each;
  return static_cast<uint64_t>(std::max<int64_t>(all, each));
}

}  // namespace stallscope::replay
