#include "analyzer/attribution/attribution.h"

#include <utility>

#include "analyzer/attribution/blame.h"
#include "analyzer/attribution/device_use.h"
#include "analyzer/attribution/partition.h"
#include "analyzer/attribution/queue_use.h"
#include "analyzer/attribution/stage_use.h"
#include "analyzer/attribution/summary.h"
#include "analyzer/attribution/system_use.h"
#include "analyzer/attribution/window.h"

namespace stallscope::attribution {
namespace {

void SayLimits(const model::Run& run, const WorkSplit& split, const Attribution& attribution,
               std::vector<std::string>& limits) {
  limits.insert(limits.end(), run.info.limits.begin(), run.info.limits.end());
  if (!split.knows_contention() && !attribution.blame.empty()) {
    limits.push_back(
        "no run-queue waits of threads are recorded: time off the CPU counts as blocked, also "
        "where "
        "a thread was ready and had no core");
  }
  if (run.rows.batches.empty() && !attribution.blame.empty()) {
    limits.push_back(
        "no lineage of batches is recorded: stalls are blamed by what the threads did meanwhile");
  }
  if (!attribution.memory.peak_rss_bytes.has_value()) {
    limits.push_back("memory.peak_rss_bytes: no memory counters are recorded");
  }
  limits.push_back("memory.device_peak_bytes: the trace does not hold it");
}

}  // namespace

Attribution Attribute(const model::Run& run, unsigned threads) {
  Attribution result;
  const std::vector<model::StepInterval> intervals = model::StepIntervals(run);
  result.window = ChooseWindow(run, intervals);
  const Window& window = result.window;
  Partition partition = PartitionWindow(run, window, intervals);

  uint64_t samples = 0;
  for (const StepShare& step : partition.steps) samples += step.samples;
  const CounterRates counters(run, window);
  result.cpu = UseOfCpu(run, counters);

  const std::vector<TrackView> views = ViewTracks(run, threads);
  const StepBuckets buckets(partition.steps);
  const SpanTotals totals = PassOverSpans(views, window, buckets, threads);
  const WorkSplit split(views, totals, RatesOfThreads(run, counters), window);
  const std::vector<bool> serial = SerialStages(run);

  StallBlame blame =
      BlameStalls({run, window, partition, views, totals, split, buckets, serial}, threads);
  result.blame = std::move(blame.blame);
  result.stragglers = std::move(blame.stragglers);

  result.stages = UseOfStages(run, window, views, totals, split, serial, samples, result.cpu.cores);
  const std::vector<QueueUse> queues = UseOfQueues(run, window, threads);
  for (StageUse& stage : result.stages) {
    const QueueId queue = run.stages[stage.stage.value].queue;
    if (queue.known()) stage.queue = queues[queue.value];
  }
  result.memory = UseOfMemory(run, counters, result.stages);
  result.devices = UseOfDevices(run);
  result.kernels = UseOfKernels(run, window);
  result.idle = IdleOfDevices(run, window, partition);
  result.breakdown = Breakdown(partition, window);
  result.throughput = ThroughputOf(partition, window);
  if (window.steps > 0) result.step_ns = StepTimes(partition);
  result.cross_check = CheckAgainstCapacity(run, result.stages, result.blame);
  result.limits = std::move(partition.limits);
  SayLimits(run, split, result, result.limits);
  result.timelines = std::move(partition.timelines);
  result.steps = std::move(partition.steps);
  return result;
}

StepPartition PartitionSteps(const model::Run& run) {
  const std::vector<model::StepInterval> intervals = model::StepIntervals(run);
  if (intervals.empty()) return {};
  Partition partition = PartitionWindow(run, WindowAfter(0, run, intervals), intervals);
  return {std::move(partition.steps), partition.known};
}

}  // namespace stallscope::attribution
