#include "replay/simulate/simulate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "analyzer/attribution/window.h"
#include "replay/simulate/engine.h"
#include "replay/simulate/job_model.h"
#include "replay/simulate/model_constants.h"
#include "replay/simulate/self_check.h"

namespace stallscope::replay {
namespace {

// What is run: the stages of a pipeline, or a job's loader.
struct Subject {
  std::variant<Network, JobSetup> what;
  double cores = 0;
  bool host_computes = false;  // the host's threads play the device

  SimulatedRun Run(uint64_t seed, uint64_t batches) const {
    if (const auto* job = std::get_if<JobSetup>(&what)) return RunJob(*job, seed, batches);
    return replay::Run(std::get<Network>(what), seed, batches);
  }
};

// What the other ranks leave of the cores if they burn as much, but at least an equal share: with
// that it shows what a rank burns.
double CoresOfRank(const Workload& workload, uint64_t batches, Unknowns unknowns) {
  const double all = UsableCores(*workload.recorded);
  const unsigned ranks = workload.recorded->ranks;
  if (ranks <= 1) return all;
  const double share = all / ranks;
  const SimulatedRun run = RunJob(SetupOf(workload, share, unknowns), 1, batches);
  const double burned = run.end_ns > 0 ? run.cpu_ns / run.end_ns : share;
  return std::max(share, all - (ranks - 1) * burned);
}

Result<Subject> SubjectOf(const Workload& workload, uint64_t batches,
                          Unknowns unknowns = Unknowns::kLeast, Ends ends = Ends::kMiddle) {
  if (workload.recorded->job != nullptr) {
    const double cores = CoresOfRank(workload, batches, unknowns);
    return Subject{SetupOf(workload, cores, unknowns), cores, false};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(Network network, BuildNetwork(workload, batches, ends));
  const double cores = network.cores;
  const bool host_computes = network.step.host_threads > 0;
  return Subject{std::move(network), cores, host_computes};
}

uint64_t BatchesOf(const Workload& workload, const SimulateOptions& options) {
  if (workload.recorded->job != nullptr) return JobSteps(workload, options);
  uint64_t steps = std::max<uint64_t>(1, workload.steps());
  const Recorded& recorded = *workload.recorded;
  const uint64_t batch = BatchSize(workload.spec);
  const bool repeats = std::any_of(
      workload.spec.stages.begin(), workload.spec.stages.end(),
      [](const StageSpec& stage) { return std::holds_alternative<RepeatSpec>(stage.kind); });
  if (!repeats && recorded.elements_per_epoch.has_value()) {
    steps = std::clamp<uint64_t>(*recorded.elements_per_epoch / batch, 1, steps);
  }
  if (options.batches > 0) return options.batches;
  if (options.most_elements == 0) return steps;
  const uint64_t least =
      std::clamp(2 * options.most_elements / batch, kFewestBatches, kLeastBatches);
  return std::min(steps, std::max(least, options.most_elements / batch));
}

struct Repetition {
  double ns = 0;        // of a step
  double variance = 0;  // of that mean
  double stall = 0;     // share: the trainer waits for a batch
  double exposed = 0;   // of this, while the device has nothing to do either
  SimulatedRun run;
};

// As the analysis of a recording has it: without the warm-up.
Repetition Measure(SimulatedRun run) {
  Repetition result;
  std::vector<int64_t> durations;
  const size_t steps = run.steps.size();
  for (size_t i = 0; i < steps; ++i) {
    const double end = i + 1 < steps ? run.steps[i + 1].requested_ns : run.steps[i].done_ns;
    durations.push_back(std::llround(end - run.steps[i].requested_ns));
  }
  const size_t first = attribution::WarmupSteps(durations);
  const size_t counted = steps - first;
  double stalled = 0;
  double exposed = 0;
  double whole = 0;
  for (size_t i = first; i < steps; ++i) {
    const double device_done = i > 0 ? run.steps[i - 1].done_ns : 0;
    exposed +=
        std::max(0.0, run.steps[i].received_ns - std::max(run.steps[i].requested_ns, device_done));
    exposed += run.steps[i].waits_after_ns;
    stalled += run.steps[i].received_ns - run.steps[i].requested_ns + run.steps[i].waits_after_ns;
    whole += static_cast<double>(durations[i]);
  }
  if (counted > 0) result.ns = whole / static_cast<double>(counted);
  if (whole > 0) {
    result.stall = stalled / whole;
    result.exposed = exposed / whole;
  }
  const size_t blocks = std::min(kStepBlocks, counted / 2);
  if (blocks >= 2) {
    std::vector<double> means;
    for (size_t b = 0; b < blocks; ++b) {
      const size_t from = first + counted * b / blocks;
      const size_t to = first + counted * (b + 1) / blocks;
      const double sum =
          std::accumulate(durations.begin() + static_cast<std::ptrdiff_t>(from),
                          durations.begin() + static_cast<std::ptrdiff_t>(to), 0.0,
                          [](double all, int64_t ns) { return all + static_cast<double>(ns); });
      means.push_back(sum / static_cast<double>(to - from));
    }
    double squares = 0;
    for (const double mean : means) squares += (mean - result.ns) * (mean - result.ns);
    result.variance = squares / static_cast<double>(blocks - 1) / static_cast<double>(blocks);
  }
  result.run = std::move(run);
  return result;
}

// The stage that has the least room: of the group of threads that is at work most, the one that
// works most in it.
std::string BottleneckOf(const Workload& workload, const Subject& subject, const Repetition& last,
                         const Prediction& prediction) {
  const double time = last.run.end_ns;
  if (prediction.input_stall < kStalls || time <= 0) return "trainer";
  if (last.run.cpu_ns >= kAllCores * subject.cores * time) return "cores";
  if (workload.recorded->job != nullptr) return workload.spec.stages.front().name;
  const Network& network = std::get<Network>(subject.what);
  double most = 0;
  std::string name = "trainer";
  const auto look = [&](const Group& group) {
    double busy = 0;
    double largest = 0;
    uint32_t stage = 0;
    const auto add = [&](const Hop& hop, double workers) {
      const double share = last.run.stages[hop.stage].busy_ns / workers;
      busy += share;
      if (share <= largest) return;
      largest = share;
      stage = hop.stage;
    };
    for (const Hop& hop : group.chain) add(hop, 1);
    for (const Hop& hop : group.work) add(hop, static_cast<double>(group.workers));
    if (busy <= most) return;
    most = busy;
    name = workload.spec.stages[stage].name;
  };
  for (const Group& group : network.groups) look(group);
  look(network.trainer);
  return name;
}

void AddLoads(const Workload& workload, const Subject& subject, const Repetition& last,
              Prediction& prediction) {
  const double time = std::max(1.0, last.run.end_ns);
  if (const auto* job = std::get_if<JobSetup>(&subject.what)) {
    const double workers = std::max(1u, job->workers);
    prediction.stages.push_back({workload.spec.stages.front().name,
                                 std::min(1.0, last.run.stages[0].busy_ns / (workers * time)),
                                 workers});
    prediction.stages.push_back({"trainer", std::min(1.0, last.run.stages[1].busy_ns / time), 1});
    return;
  }
  const Network& network = std::get<Network>(subject.what);
  for (size_t i = 0; i <= network.stages; ++i) {
    StageUtilization load;
    load.stage = i < network.stages ? workload.spec.stages[i].name : "trainer";
    load.workers = network.workers[i];
    load.utilization = std::min(1.0, last.run.stages[i].busy_ns / (load.workers * time));
    prediction.stages.push_back(std::move(load));
  }
}

uint64_t MemoryOf(const Workload& workload) {
  const Recorded& recorded = *workload.recorded;
  if (recorded.job != nullptr) return JobMemory(workload);
  if (recorded.peak_rss_bytes == 0) return 0;
  Workload before = workload;
  before.spec = recorded.spec;
  const uint64_t rest =
      recorded.peak_rss_bytes - std::min(recorded.peak_rss_bytes, HeldBytes(before));
  return rest + HeldBytes(workload);
}

// Of one step, in the simulation of the recorded spec.
Repetition SimulateRecorded(const Workload& workload, const SimulateOptions& options) {
  const uint64_t batches = BatchesOf(workload, options);
  const Result<Subject> subject = SubjectOf(workload, batches);
  if (!subject.ok()) return {};
  return Measure(subject.value().Run(options.seed, batches));
}

double CoresDoubt(const Workload& workload, const Subject& subject, const Repetition& last) {
  const Recorded& recorded = *workload.recorded;
  const double time = last.run.end_ns * subject.cores;
  if (time <= 0 || recorded.cores <= 0) return 0;
  const double used = std::min(1.0, last.run.cpu_ns / time);
  const double more = std::max(0.0, used - recorded.busy_cores / recorded.cores);
  return kIdleCores * more + kOthersCores * used * recorded.other_cores / recorded.cores;
}

// Between the least and the most of what the recording does not hold anything may be: from
// `least_ns` of a step, and from the other end, it is a factor of this to the middle.
double UnknownsOf(const Workload& workload, const SimulateOptions& options, uint64_t batches,
                  double least_ns) {
  if (workload.recorded->job == nullptr || !HasUnknowns(workload)) return 1;
  const Result<Subject> most = SubjectOf(workload, batches, Unknowns::kMost);
  if (!most.ok()) return 1;
  return std::sqrt(std::max(1.0, Measure(most.value().Run(options.seed, batches)).ns / least_ns));
}

// How far a step follows what is not certain of other ops' costs: from `middle_ns` to either end.
double OpsDoubt(const Workload& workload, const SimulateOptions& options, uint64_t batches,
                double middle_ns) {
  if (workload.ops == nullptr || !workload.ops->assumed || middle_ns <= 0) return 0;
  double doubt = 0;
  for (const Ends ends : {Ends::kLeast, Ends::kMost}) {
    const Result<Subject> subject = SubjectOf(workload, batches, Unknowns::kLeast, ends);
    if (!subject.ok()) return 0;
    const double ns = Measure(subject.value().Run(options.seed, batches)).ns;
    if (ns > 0) doubt = std::max({doubt, ns / middle_ns - 1, middle_ns / ns - 1});
  }
  return doubt;
}

// What the change leaves unknown of costs that depend on whether a thread was idle before: where
// the recording has both kinds of items, they are known. Of the stage with the least room.
double IdleDoubt(const Workload& workload, const Subject& subject, const Repetition& last) {
  if (!std::holds_alternative<Network>(subject.what)) return 0;
  const Network& network = std::get<Network>(subject.what);
  double doubt = 0;
  double most = 0;
  for (size_t i = 0; i < network.stages; ++i) {
    const StageTally& tally = last.run.stages[i];
    const auto costs = workload.recorded->stages.find(workload.spec.stages[i].name);
    const double busy = tally.busy_ns / network.workers[i];
    if (costs == workload.recorded->stages.end() || tally.items == 0 || busy <= most) continue;
    most = busy;
    const StageCosts& recorded = costs->second;
    const double off = recorded.mean_blocked_ns + recorded.mean_io_ns;
    const double cpu = recorded.mean_cpu_ns / std::max(1.0, recorded.mean_cpu_ns + off);
    const double share = static_cast<double>(tally.after_idle) / static_cast<double>(tally.items);
    doubt = recorded.idle.shown ? 0 : kIdleDoubt * cpu * std::fabs(share - recorded.idle.share);
  }
  return doubt;
}

// How the simulation of the recorded spec compares with the recording.
SelfCheck CheckRecorded(const Recorded& recorded, const Repetition& simulated) {
  std::vector<Likeness> shares;
  const double time = std::max(1.0, simulated.run.end_ns);
  if (recorded.input_stall.has_value()) {
    shares.push_back({"the trainer waits for its input", *recorded.input_stall, simulated.exposed,
                      kStallsDiffer});
  }
  const double cpu = recorded.ranks * simulated.run.cpu_ns / time;
  // CPU that no stage has matters where the cores are short, or are thought to be.
  const double busy = recorded.busy_cores / std::max(1.0, recorded.cores);
  const double simulated_busy = cpu / std::max(1.0, recorded.cores);
  if (recorded.busy_cores > 0 && std::max(busy, simulated_busy) >= kScarce) {
    shares.push_back(
        {"the cores are in use", std::min(1.0, busy), std::min(1.0, simulated_busy), kBusyDiffers});
  }
  if (recorded.waited_cores.has_value() && recorded.cores_known) {
    const double waited = recorded.ranks * simulated.run.waited_ns / time;
    shares.push_back({"threads that are ready wait for each core",
                      std::min(1.0, *recorded.waited_cores / recorded.cores),
                      std::min(1.0, waited / recorded.cores), kWaitsDiffer});
  }
  return CheckLikeness(shares);
}

// How much of the difference between simulation and measurement is the simulation's: all of it
// where the run was steady, little where its own interval is wide, because something disturbed it.
double Trust(const Recorded& recorded) {
  const double model = kModelError * kModelError;
  return model / (model + recorded.spread * recorded.spread);
}

}  // namespace

Prediction Simulate(const Workload& workload, const SimulateOptions& options) {
  const uint64_t batches = BatchesOf(workload, options);
  const Result<Subject> built = SubjectOf(workload, batches);
  Prediction prediction;
  if (!built.ok()) return prediction;
  const Subject& subject = built.value();
  const unsigned resamples = std::max(1u, options.resamples);
  double ns = 0;
  double within = 0;
  std::vector<double> means;
  Repetition last;
  for (unsigned i = 0; i < resamples; ++i) {
    last = Measure(subject.Run(options.seed + i, batches));
    means.push_back(last.ns);
    ns += last.ns / resamples;
    within += last.variance / resamples;
    prediction.input_stall += last.stall / resamples;
    prediction.events += last.run.events;
  }
  if (ns <= 0) return prediction;
  const double rest = workload.calibration.has_value() ? workload.calibration->rest : 1;
  double between = 0;
  for (const double mean : means) between += (mean - ns) * (mean - ns);
  if (resamples > 1) between /= resamples - 1;
  // A shorter run than the real one varies more.
  const double share =
      std::min(1.0, static_cast<double>(batches) / static_cast<double>(workload.steps()));
  const double run_error = kZ90 * std::sqrt(std::max(within, between) * share) / ns;
  const double calibration = workload.calibration.has_value() ? workload.calibration->doubt : 0;
  // As far as steps wait for what the host's threads do.
  const double hosts_part = subject.host_computes ? 1 : std::min(1.0, 2 * prediction.input_stall);
  const double host = kHostRepeats * hosts_part;
  const double cores = CoresDoubt(workload, subject, last);
  double squares = 0;
  const double anchor = workload.recorded->spread * std::sqrt(Trust(*workload.recorded));
  const double idle = IdleDoubt(workload, subject, last) * hosts_part;
  const double ops = OpsDoubt(workload, options, batches, means.front());
  // A change may add a wake-up to each step, or take one away.
  const double wake = workload.spec == workload.recorded->spec ? 0 : kWakeDoubtNs / ns;
  for (const double part : {run_error, anchor, kDeviceRepeats, host, cores, idle, calibration, wake,
                            ops, workload.doubt}) {
    squares += part * part;
  }
  const double widening = workload.calibration.has_value() ? workload.calibration->widening : 1;
  double half = std::sqrt(squares) * widening;
  const double unknown = UnknownsOf(workload, options, batches, ns);
  ns *= unknown;
  half += unknown - 1;
  prediction.samples_per_s = SamplesOfStep(workload) / (ns * rest) * 1e9;
  // 1 + h for e^h: the library's exponential is not the same on every processor.
  prediction.low = prediction.samples_per_s / (1 + half);
  prediction.high = prediction.samples_per_s * (1 + half);
  prediction.memory_bytes = MemoryOf(workload);
  AddLoads(workload, subject, last, prediction);
  prediction.bottleneck = BottleneckOf(workload, subject, last, prediction);
  return prediction;
}

Workload Calibrate(Workload workload, const SimulateOptions& options) {
  Workload recorded = workload;
  recorded.spec = workload.recorded->spec;
  Calibration& calibration = recorded.calibration.emplace();
  Repetition now = SimulateRecorded(recorded, options);
  if (now.ns > 0) {
    const double recorded_ns =
        workload.recorded->trainer.batch / workload.recorded->samples_per_s * 1e9;
    const double measured_ns = now.ns + Trust(*workload.recorded) * (recorded_ns - now.ns);
    const double off = std::max(measured_ns / now.ns, now.ns / measured_ns) - 1;
    calibration.doubt = kUnexplained * off;
    calibration.off = now.ns / measured_ns - 1;
    // The input takes what is missing where it is what the step waits for. More than once: what is
    // hidden behind the device answers late.
    for (int round = 0; round < kRounds && now.stall >= kStalls; ++round) {
      calibration.input_scale =
          std::clamp(calibration.input_scale * measured_ns / now.ns, 1 / kMostScale, kMostScale);
      now = SimulateRecorded(recorded, options);
    }
    if (now.stall < kStalls && measured_ns > now.ns) {
      calibration.step_extra_ns = measured_ns - now.ns;
      now = SimulateRecorded(recorded, options);
    }
    calibration.rest = std::clamp(measured_ns / now.ns, 1 / kMostScale, kMostScale);
    SelfCheck check = CheckRecorded(*workload.recorded, now);
    calibration.doubt =
        std::sqrt(calibration.doubt * calibration.doubt + check.doubt * check.doubt);
    calibration.unexplained = std::move(check.unexplained);
  }
  workload.calibration = calibration;
  return workload;
}

}  // namespace stallscope::replay
