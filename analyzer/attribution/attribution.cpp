#include "analyzer/attribution/attribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analyzer/attribution/beside.h"
#include "analyzer/attribution/blame.h"
#include "analyzer/attribution/device_use.h"
#include "analyzer/attribution/groundwork.h"
#include "analyzer/attribution/partition.h"
#include "analyzer/attribution/probe.h"
#include "analyzer/attribution/stage_use.h"
#include "analyzer/attribution/summary.h"
#include "analyzer/attribution/system_use.h"
#include "analyzer/attribution/window.h"
#include "analyzer/base/units.h"
#include "analyzer/model/profiled.h"

namespace stallscope::attribution {
namespace {

void SayLimits(const model::Run& run, const WorkSplit& split, const Attribution& attribution,
               std::vector<std::string>& limits) {
  limits.insert(limits.end(), run.info.limits.begin(), run.info.limits.end());
  if (!split.knows_contention() && !attribution.blame.empty()) {
    limits.push_back(
        "run-queue waits of threads are not recorded: time off the CPU counts as blocked, even if "
        "a thread was ready but had no core");
  }
  if (run.rows.batches.empty() && !attribution.blame.empty()) {
    limits.push_back(
        "batch lineage is not recorded: stalls are attributed by what the threads did at the time");
  }
  if (!attribution.memory.peak_rss_bytes.has_value()) {
    limits.push_back("memory.peak_rss_bytes: memory counters are not recorded");
  }
  if (!attribution.memory.device_peak_bytes.has_value()) {
    limits.push_back("memory.device_peak_bytes: the trace does not contain it");
  }
  if (run.info.device.emulated()) {
    limits.push_back(
        "device: emulated: compute and copies take the times that its spec states; ops on the "
        "device and a different precision take no time");
  }
  if (!attribution.arithmetic.has_value()) {
    limits.push_back(run.info.device.emulated()
                         ? "arithmetic: an emulated device computes nothing"
                         : "arithmetic: the trace does not show what a step computes");
  } else if (!attribution.arithmetic->peak_flops_per_s.has_value()) {
    limits.push_back("arithmetic.peak_flops_per_s: the device does not report it");
  }
}

// Of the steps at these rows: from the batch to the step's end.
int64_t MedianWork(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                   const std::vector<size_t>& rows) {
  std::vector<int64_t> work;
  for (const size_t row : rows) {
    work.push_back(intervals[row].end_ns - run.rows.steps[row].received_ns);
  }
  const auto middle = work.begin() + static_cast<std::ptrdiff_t>(work.size() / 2);
  std::nth_element(work.begin(), middle, work.end());
  return *middle;
}

StepsTake TakenBy(const model::Run& run, const std::vector<model::StepInterval>& intervals,
                  const std::vector<size_t>& rows) {
  StepsTake taken;
  taken.steps = rows.size();
  Intervals work;
  int64_t waits = 0;
  int64_t ns = 0;
  for (const size_t row : rows) {
    const trace::Step& step = run.rows.steps[row];
    work.push_back({step.received_ns, step.device_done_ns});
    taken.longest_ns = std::max(taken.longest_ns, work.back().ns());
    waits += step.received_ns - step.requested_ns;
    ns += intervals[row].end_ns - intervals[row].start_ns;
  }
  work = SubtractAll(UnionWithin(std::move(work), kEver), TimesBesideSteps(run, run.info.rank));
  if (!rows.empty()) {
    taken.work_ns = static_cast<double>(Length(work)) / static_cast<double>(rows.size());
  }
  if (ns > 0) taken.waiting = static_cast<double>(waits) / static_cast<double>(ns);
  return taken;
}

// No rate includes the cost of a framework's profiler: rates use the other steps, if enough are
// left.
void SetRates(const model::Run& run, const Partition& partition, Attribution& result) {
  const std::vector<model::StepInterval> intervals = model::StepIntervals(run);
  const Window& window = result.window;
  const std::vector<size_t> others =
      window.profiled.has_value() ? std::vector<size_t>() : UnprofiledRows(run, intervals, window);
  std::vector<StepShare> plain;
  int64_t ns = window.ns();
  size_t count = window.steps;
  if (!others.empty()) {
    ns = 0;
    for (const size_t row : others) {
      StepShare& step = plain.emplace_back();
      step.index = intervals[row].index;
      step.start_ns = intervals[row].start_ns;
      step.end_ns = intervals[row].end_ns;
      step.samples = run.rows.steps[row].samples;
      ns += step.end_ns - step.start_ns;
    }
    count = others.size();
  }
  const std::vector<StepShare>& steps = others.empty() ? partition.steps : plain;
  result.rate_steps = count;
  result.throughput = ThroughputOf(steps, count, ns);
  if (window.steps > 0) result.step_ns = StepTimes(steps);
  if (others.empty() || window.profiled_of == 0) return;
  std::vector<size_t> profiled(window.rows);
  std::iota(profiled.begin(), profiled.end(), window.first_row);
  result.beside_profile = {TakenBy(run, intervals, profiled), TakenBy(run, intervals, others)};
  const int64_t plain_ns = MedianWork(run, intervals, others);
  if (plain_ns <= 0) return;
  result.slowed_by_profiler =
      static_cast<double>(MedianWork(run, intervals, profiled)) / static_cast<double>(plain_ns) - 1;
}

// A window of profiled steps, or beside them, cannot show evaluation and checkpoints: those of the
// whole run count then.
std::vector<BesideUse> BesideTraining(const model::Run& run, const Window& window) {
  const bool profiled = window.profiled_of > 0 || window.profiled.has_value();
  return BesideSteps(run, profiled ? WindowAfter(0, run, model::StepIntervals(run)) : window);
}

// States that a framework's profiler ran, what it cost, and which figures cover only part of the
// run.
void SayProfiled(const model::Run& run, const Attribution& attribution,
                 std::vector<std::string>& limits) {
  const Window& window = attribution.window;
  const std::vector<model::ProfiledStretch> stretches = model::ProfiledStretches(run);
  if (stretches.empty()) return;
  int64_t cost_ns = 0;
  bool in_window = false;
  bool closed = true;
  for (const model::ProfiledStretch& stretch : stretches) {
    closed = closed && stretch.closed;
    cost_ns += stretch.open.start_ns - stretch.start_ns;
    if (stretch.closed) cost_ns += stretch.end_ns - stretch.open.end_ns;
    in_window = in_window ||
                (window.start_ns >= stretch.open.start_ns && window.end_ns <= stretch.open.end_ns);
  }
  std::string text = "profiler: the framework's profiler was open during some steps and took " +
                     std::to_string(cost_ns / kNsPerMs) + " ms to start and stop";
  if (window.profiled.has_value()) {
    text += "; steps beside it count in no figure, but the " +
            std::to_string(window.profiled->steps) +
            " that it recorded show how long a step's compute, transfer and communication take: a "
            "wait for a batch is a stall as far as that leaves time, and what remains is launch, "
            "sync and other, as in those";
  } else if (UnprofiledRows(run, model::StepIntervals(run), window).empty()) {
    text += "; too few other steps are left for rates, so rates include the profiled steps";
  } else {
    text += "; rates and step times are from the " + std::to_string(attribution.rate_steps) +
            " other steps";
  }
  if (in_window) {
    text += "; all other figures are from the " + std::to_string(window.steps) +
            " steps that it recorded";
    const auto percent = std::lround(100 * attribution.slowed_by_profiler.value_or(0));
    if (percent >= 5) {
      text += ", which take " + std::to_string(percent) +
              "% longer than the others once they have their batch: it slows the host, whose "
              "launches take less without it";
    }
  }
  if (!attribution.beside.empty() && (in_window || window.profiled.has_value())) {
    text += "; evaluation and checkpoints are those of the whole run";
  }
  limits.push_back(text);
  if (!closed) {
    limits.push_back("profiler: it was still open when the job ended, so its data is lost");
  }
}

}  // namespace

namespace {

SpanTotals Totals(const model::Run& run, const Window& window, const std::vector<TrackView>& views,
                  const StepBuckets& buckets, unsigned threads, Cancel cancel) {
  SpanTotals totals = PassOverSpans(views, window, buckets, threads, cancel);
  LeaveOutWorkAhead(run, views, totals);
  TakeOpsOfWholeRun(run, views, threads, totals, cancel);
  return totals;
}

}  // namespace

// What every answer about a window's stalls is derived from. The blame's input points into it.
struct Groundwork {
  Groundwork(const model::Run& of, const Window& in, std::vector<TrackView> tracks,
             unsigned threads, Cancel cancel)
      : run(of),
        window(in),
        partition(PartitionWindow(run, window, model::StepIntervals(run))),
        counters(run, window),
        views(std::move(tracks)),
        buckets(partition.steps),
        totals(Totals(run, window, views, buckets, threads, cancel)),
        split(run, views, totals, TimesOfThreads(run, window, counters)),
        serial(SerialStages(run)),
        cpu(UseOfCpu(run, window, counters)) {}
  // It points into this.
  BlameInput ForBlame() const {
    return {run, window, partition, views, totals, split, buckets, serial, cpu.cores};
  }

  const model::Run& run;
  const Window window;
  const Partition partition;
  const CounterRates counters;
  const std::vector<TrackView> views;
  const StepBuckets buckets;
  const SpanTotals totals;
  const WorkSplit split;
  const std::vector<bool> serial;
  const CpuUse cpu;
};

namespace {

GroundworkPtr Lay(const model::Run& run, const Window& window, unsigned threads, Cancel cancel) {
  std::vector<TrackView> views = ViewTracks(run, threads, cancel);
  if (cancel.requested()) return nullptr;
  auto ground = std::make_shared<Groundwork>(run, window, std::move(views), threads, cancel);
  return cancel.requested() ? nullptr : ground;
}

}  // namespace

std::optional<Attribution> Attribute(const Groundwork& ground, unsigned threads, Cancel cancel) {
  const model::Run& run = ground.run;
  const Window& window = ground.window;
  const Partition& partition = ground.partition;
  Attribution result;
  result.window = window;
  uint64_t samples = 0;
  for (const StepShare& step : partition.steps) samples += step.samples;
  result.cpu = ground.cpu;

  StallBlame blame = BlameStalls(ground.ForBlame(), threads, cancel);
  if (cancel.requested()) return std::nullopt;
  result.blame = std::move(blame.blame);
  result.stragglers = std::move(blame.stragglers);

  result.stages = UseOfStages(
      run, window, ground.views, ground.totals, ground.split, ground.serial, samples,
      partition.known[At(Category::kInputStall)] ? partition.ns[At(Category::kInputStall)]
                                                 : window.ns(),
      result.cpu.cores);
  SetQueues(run, UseOfQueues(run, window, threads), result.stages);
  result.memory = UseOfMemory(run, ground.counters, result.stages);
  result.processes = UseOfProcesses(run);
  if (cancel.requested()) return std::nullopt;
  result.devices = UseOfDevices(run);
  const Window devices = WindowOfDevices(window);
  result.kernels = UseOfKernels(run, devices);
  result.breakdown = Breakdown(partition, window);
  if (window.profiled.has_value()) {
    const Partition seen = PartitionWindow(run, devices, model::StepIntervals(run));
    result.idle = IdleOfDevices(run, devices, seen);
    WidenAsProfiled(seen, result.breakdown);
  } else {
    result.idle = IdleOfDevices(run, window, partition);
  }
  result.arithmetic = ArithmeticOf(run, window, result.breakdown, partition.timelines.size());
  SetRates(run, partition, result);
  result.cross_check = CheckAgainstCapacity(run, result.stages, result.blame);
  result.sensitivities = SensitivitiesOf(run);
  result.beside = BesideTraining(run, window);
  result.limits = partition.limits;
  SayProfiled(run, result, result.limits);
  SayLimits(run, ground.split, result, result.limits);
  result.timelines = partition.timelines;
  result.steps = partition.steps;
  return result;
}

std::optional<std::vector<StallDetail>> StallDetails(const Groundwork& ground, unsigned threads,
                                                     Cancel cancel) {
  std::vector<StallDetail> details = DetailStalls(ground.ForBlame(), threads, cancel);
  if (cancel.requested()) return std::nullopt;
  return details;
}

std::optional<std::vector<ChainLink>> ExplainStall(const Groundwork& ground, size_t step_row,
                                                   unsigned threads, Cancel cancel) {
  const Window& window = ground.window;
  const bool counted = step_row >= window.first_row && step_row < window.first_row + window.rows;
  GroundworkPtr with_warmup;
  if (!counted) {
    const model::Run& run = ground.run;
    with_warmup = Lay(run, WindowAfter(0, run, model::StepIntervals(run)), threads, cancel);
    if (with_warmup == nullptr) return std::nullopt;
  }
  const Groundwork& found = counted ? ground : *with_warmup;
  std::vector<ChainLink> links = ChainOfStall(found.ForBlame(), step_row, threads, cancel);
  if (cancel.requested()) return std::nullopt;
  return links;
}

GroundworkPtr LayGroundwork(const model::Run& run, unsigned threads, Cancel cancel) {
  return Lay(run, ChooseWindow(run, model::StepIntervals(run), cancel), threads, cancel);
}

GroundworkPtr LayGroundworkOfFirstEpoch(const model::Run& run, unsigned threads, Cancel cancel) {
  return Lay(run, FirstEpochWindow(run, model::StepIntervals(run), cancel), threads, cancel);
}

GroundworkPtr LayGroundworkOfRange(const model::Run& run, int64_t start_ns, int64_t end_ns,
                                   unsigned threads, Cancel cancel) {
  return Lay(run, WindowWithin(start_ns, end_ns, run, model::StepIntervals(run)), threads, cancel);
}

// Never canceled, so there is a result.
Attribution Attribute(const model::Run& run, unsigned threads) {
  return *Attribute(*LayGroundwork(run, threads), threads);
}

Attribution AttributeFirstEpoch(const model::Run& run, unsigned threads) {
  return *Attribute(*LayGroundworkOfFirstEpoch(run, threads), threads);
}

StepPartition PartitionSteps(const model::Run& run) {
  const std::vector<model::StepInterval> intervals = model::StepIntervals(run);
  if (intervals.empty()) return {};
  Partition partition = PartitionWindow(run, WindowAfter(0, run, intervals), intervals);
  return {std::move(partition.steps), partition.known};
}

}  // namespace stallscope::attribution
