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

// The most that a copy from pageable memory takes, relative to pinned memory; and the assumed speed
// of pinning itself, in bytes per ns.
constexpr double kPageableCopies = 3;
constexpr double kFastestPin = 12;
constexpr double kSlowestPin = 2;
// The most batches of an evaluation to simulate.
constexpr uint64_t kMostEvaluated = 2'000;

const LoaderSpec& LoaderOf(const Workload& workload) {
  const LoaderSpec* const loader = FirstLoader(workload.spec);
  return loader == nullptr ? workload.recorded->job->loader : *loader;
}

// The evaluation's loader, with the settings of this workload.
const LoaderSpec& LoaderOf(const Workload& workload, const Evaluation& evaluation) {
  for (const StageSpec& stage : workload.spec.stages) {
    const auto* loader = std::get_if<LoaderSpec>(&stage.kind);
    if (loader != nullptr && stage.name == evaluation.loader) return *loader;
  }
  return evaluation.costs->loader;
}

// Processes of grain: one batch in its buffer, and one that waits for room there.
constexpr int64_t kAheadOfGrain = 2;

// The threads of grain share the interpreter's lock with the loop: they compute beside it, or
// never.
bool LockUnknown(const JobCosts& costs, const LoaderSpec& loader) {
  return costs.of_grain && loader.num_workers == 0 && loader.threads > 0;
}

// The threads or processes of grain as workers that make whole batches.
void TakeGrain(const JobCosts& costs, const LoaderSpec& loader, Unknowns unknowns,
               JobSetup& setup) {
  const bool threads = loader.num_workers == 0;
  const int64_t count = threads ? loader.threads : loader.num_workers;
  const auto buffered = static_cast<int64_t>(static_cast<double>(loader.prefetch) / costs.samples);
  setup.workers = static_cast<uint32_t>(count);
  setup.ahead = static_cast<uint32_t>(
      threads ? std::max<int64_t>(1, buffered / std::max<int64_t>(1, count)) : kAheadOfGrain);
  setup.in_order = true;
  setup.persistent = true;  // changes where they start again are not predicted
  setup.pins = false;
  if (LockUnknown(costs, loader) && unknowns == Unknowns::kMost) {
    setup.cores = std::min(setup.cores, 1.0);
  }
}

bool WorkersUnknown(const JobCosts& costs, const LoaderSpec& loader) {
  return loader.num_workers > 0 && !costs.sends;
}

bool PinningUnknown(const JobCosts& costs, const LoaderSpec& loader) {
  return costs.pins && costs.copy_ns > 0 && loader.pin_memory != costs.loader.pin_memory;
}

// The two ends: pinned copies take a third of the time, or as long; the pinning thread hides the
// cost of pinning, or does not.
void AssumePinning(const JobCosts& costs, bool pins, Unknowns unknowns, JobSetup& setup) {
  const bool least = unknowns == Unknowns::kLeast;
  if (!pins) {
    if (!least) setup.more_step_ns += (kPageableCopies - 1) * costs.copy_ns;
    return;
  }
  const double rate = least ? kFastestPin : kSlowestPin;
  setup.more_pin.cpu_ns = static_cast<float>(costs.copied_bytes / rate);
  if (least) setup.more_step_ns -= (1 - 1 / kPageableCopies) * costs.copy_ns;
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

// A loader with these settings, without the trainer's side.
JobSetup SetupOfLoader(const JobCosts& costs, const LoaderSpec& loader, double cores,
                       Unknowns unknowns) {
  JobSetup setup;
  setup.costs = &costs;
  setup.workers = static_cast<uint32_t>(loader.num_workers);
  setup.ahead = static_cast<uint32_t>(std::max<int64_t>(1, loader.prefetch_factor));
  setup.in_order = loader.in_order;
  setup.persistent = loader.persistent_workers;
  setup.pins = loader.pin_memory && costs.pins;
  setup.cores = cores;
  if (costs.start.has_value()) setup.start = *costs.start;
  if (costs.of_grain) TakeGrain(costs, loader, unknowns, setup);
  if (WorkersUnknown(costs, loader)) {
    Assume(unknowns == Unknowns::kLeast ? kLeastGuess : kMostGuess,
           costs.of_grain ? StartMethod::kSpawn : loader.multiprocessing_context, setup);
  }
  if (PinningUnknown(costs, loader)) AssumePinning(costs, loader.pin_memory, unknowns, setup);
  return setup;
}

// The time of one pass, including the start and end of its workers.
double EvaluationNs(const JobCosts& costs, const LoaderSpec& loader, double cores,
                    Unknowns unknowns) {
  const JobSetup setup = SetupOfLoader(costs, loader, cores, unknowns);
  const uint64_t steps =
      std::clamp<uint64_t>(costs.passes.empty() ? 1 : costs.passes.front(), 1, kMostEvaluated);
  const bool ends = setup.workers > 0 && !setup.persistent;
  return RunJob(setup, 1, steps).end_ns + (ends ? setup.start.end_ns : 0);
}

// The time of the evaluations with these settings, relative to the recorded ones. They have the
// machine to themselves: the steps wait for them.
double EvaluationScale(const Workload& workload, double cores, Unknowns unknowns) {
  const JobCosts& costs = *workload.recorded->job;
  double before = 0;
  double now = 0;
  for (const Evaluation& evaluation : costs.evaluations) {
    const LoaderSpec& loader = LoaderOf(workload, evaluation);
    double ratio = 1;
    if (loader != evaluation.costs->loader) {
      ratio = EvaluationNs(*evaluation.costs, loader, cores, unknowns) /
              EvaluationNs(*evaluation.costs, evaluation.costs->loader, cores, Unknowns::kLeast);
    }
    before += evaluation.ns;
    now += ratio * evaluation.ns;
  }
  const double rest = std::max(0.0, costs.evaluated_ns - before);
  return before + rest > 0 ? (now + rest) / (before + rest) : 1;
}

}  // namespace

bool HasUnknowns(const Workload& workload) {
  const JobCosts& costs = *workload.recorded->job;
  const auto unknown = [](const JobCosts& of, const LoaderSpec& loader) {
    return WorkersUnknown(of, loader) || PinningUnknown(of, loader) || LockUnknown(of, loader);
  };
  return unknown(costs, LoaderOf(workload)) ||
         std::any_of(
             costs.evaluations.begin(), costs.evaluations.end(), [&](const Evaluation& evaluation) {
               const LoaderSpec& loader = LoaderOf(workload, evaluation);
               return loader != evaluation.costs->loader && unknown(*evaluation.costs, loader);
             });
}

JobSetup SetupOf(const Workload& workload, double cores, Unknowns unknowns) {
  const Recorded& recorded = *workload.recorded;
  const JobCosts& costs = *recorded.job;
  JobSetup setup = SetupOfLoader(costs, LoaderOf(workload), cores, unknowns);
  setup.evaluation_scale = EvaluationScale(workload, cores, unknowns);
  const int64_t threads = workload.spec.job.threads;
  setup.math_threads = static_cast<uint32_t>(threads > 0 ? threads : costs.math_threads);
  setup.samples_scale = SamplesOfStep(workload) / recorded.trainer.batch;
  setup.fetch_scale = setup.step_scale = setup.samples_scale;
  if (workload.calibration.has_value()) {
    setup.fetch_scale *= workload.calibration->input_scale;
    setup.step_extra_ns = workload.calibration->step_extra_ns;
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
  const auto each = static_cast<int64_t>(*recorded.job->worker_bytes * recorded.ranks);
  const auto all = static_cast<int64_t>(recorded.peak_rss_bytes) + (now - before) * each;
  return static_cast<uint64_t>(std::max<int64_t>(all, each));
}

}  // namespace stallscope::replay
