#include "analyzer/findings/capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "analyzer/attribution/summary.h"
#include "analyzer/attribution/window.h"
#include "analyzer/findings/effects.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {
namespace {

constexpr double kNs = 1e-9;
// From a 95% to a 90% interval of a normal distribution.
constexpr double k90Of95 = 1.645 / 1.960;
// Steps are never so regular that the length of a queue does not matter at all.
constexpr double kLeastVariation = 0.05;
constexpr double kMostExponent = 1e6;

// Stages that share a thread: those that run where they are called, and the one that calls.
struct Group {
  double inline_s = 0;  // for one sample, one at a time: they are asked under a lock
  double own_s = 0;
  double workers = 1;
  double variation = 0;       // of one item of the stage that asks
  double items = 1;           // the same, for one sample
  double places_batches = 0;  // of its queue

  double SecondsPerSample() const {
    return std::max(inline_s, (inline_s + own_s) / std::max(1.0, workers));
  }
};

struct Grouped {
  std::vector<Group> groups;
  double trainer_s = 0;  // for one sample: what runs in the trainer's own thread
};

Grouped GroupsOf(const Load& load) {
  Grouped grouped;
  double inline_s = 0;
  double pooled_s = 0;
  for (const StageDemand& stage : load.stages) {
    const double service_s = stage.items * stage.service_s;
    if (!stage.own_threads) {
      // Several workers: a rewrite put it into the pool of the stage after it.
      (stage.workers > 1 ? pooled_s : inline_s) += service_s;
      continue;
    }
    Group group;
    group.inline_s = inline_s;
    group.own_s = service_s + pooled_s;
    group.workers = stage.workers;
    group.variation = stage.variation;
    group.items = stage.items;
    if (stage.items > 0 && load.batch > 0) {
      group.places_batches = stage.places / (stage.items * load.batch);
    }
    grouped.groups.push_back(group);
    inline_s = 0;
    pooled_s = 0;
  }
  grouped.trainer_s = inline_s + pooled_s;
  return grouped;
}

double CpuSeconds(const Load& load) {
  return std::accumulate(
      load.stages.begin(), load.stages.end(), load.other_cpu_s,
      [](double sum, const StageDemand& stage) { return sum + stage.items * stage.cpu_s; });
}

// Of a batch, whose items vary independently.
double BatchVariation(const Group& group, double batch) {
  const double items = std::max(1.0, group.items * batch);
  return group.variation / std::sqrt(items);
}

double Exponent(double places, double consumer_variation, double producer_variation) {
  const double cx = std::max(kLeastVariation, consumer_variation);
  const double cy = std::max(kLeastVariation, producer_variation);
  return std::min(kMostExponent, 1 + 2 * places / (cx * cx + cy * cy));
}

// One step by the law.
struct StepTime {
  double known_s = 0;  // what was recorded, or follows from it
  double wait_s = 0;   // for a producer that is slower, or varies
  double Seconds() const { return known_s + wait_s; }
};

StepTime StepOf(const Load& load) {
  const Grouped grouped = GroupsOf(load);
  const double x = load.ExposedS() + load.batch * grouped.trainer_s;
  StepTime step;
  step.known_s = x + load.held_s + load.burst_s.value_or(0);
  double places = 0;
  // From the trainer upwards: only what is in the queues after a group hides its bursts.
  for (size_t i = grouped.groups.size(); i-- > 0;) {
    const Group& group = grouped.groups[i];
    places += group.places_batches;
    const double y = load.batch * group.SecondsPerSample();
    if (y <= 0) continue;
    if (load.burst_s.has_value()) {
      step.wait_s = std::max(step.wait_s, y - x);
      continue;
    }
    const double exponent =
        Exponent(places, load.device_variation, BatchVariation(group, load.batch));
    step.wait_s = std::max(step.wait_s, ProbabilityEmpty(x, y, exponent) * y);
  }
  if (load.cores > 0) {
    const double burned_s = load.batch * CpuSeconds(load) / load.cores;
    step.wait_s = std::max(step.wait_s, burned_s - step.known_s);
  }
  return step;
}

double ServiceWithoutContention(const attribution::StageUse& use) {
  if (use.elements == 0 || use.busy_ns <= 0) return use.service_ns.mean * kNs;
  const double kept =
      1 - std::min(1.0, static_cast<double>(use.contention_ns) / static_cast<double>(use.busy_ns));
  return use.service_ns.mean * kNs * kept;
}

StageDemand LoadOfStage(const Case& c, const attribution::StageUse& use) {
  StageDemand stage;
  stage.stage = use.stage;
  stage.own_threads = HasOwnThreads(c, use.stage);
  stage.workers = use.serial ? 1 : std::max(1u, use.workers);
  stage.items = use.items_per_sample;
  stage.service_s = ServiceWithoutContention(use);
  if (use.elements > 0) {
    stage.cpu_s = static_cast<double>(use.cpu_ns) * kNs / static_cast<double>(use.elements);
    stage.cpu_known = KnowsCpu(use);
  }
  stage.variation = use.service_ns.variation;
  if (use.queue.has_value()) stage.places = static_cast<double>(use.queue->capacity);
  return stage;
}

// CPU time of the process that no stage used, per sample: the trainer's own.
double OtherCpu(const Case& c, double samples) {
  const auto& a = c.attribution;
  if (!a.cpu.process_busy.has_value() || samples <= 0) return 0;
  double all_ns = *a.cpu.process_busy * static_cast<double>(a.window.ns());
  for (const auto& use : a.stages) {
    if (RoleOf(c, use.stage) != StageRole::kTrainer) all_ns -= static_cast<double>(use.cpu_ns);
  }
  return std::max(0.0, all_ns) * kNs / samples;
}

double DeviceVariation(const attribution::Attribution& a) {
  double sum = 0;
  double squares = 0;
  for (const auto& step : a.steps) {
    const double ns = static_cast<double>(step.end_ns - step.start_ns) -
                      static_cast<double>(step.ns[At(Category::kInputStall)]);
    sum += ns;
    squares += ns * ns;
  }
  const auto n = static_cast<double>(a.steps.size());
  const double mean = n > 0 ? sum / n : 0;
  if (mean <= 0) return 0;
  return std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean;
}

// The gain, by what becomes of the time that the law did not explain of the run as it was.
struct Anchors {
  double as_time = 1;    // it stays
  double as_factor = 1;  // the whole run is slower by a factor
  double as_wait = 1;    // it is waiting for input, and shrinks like that
};

Anchors Anchored(const Load& before, const Load& after) {
  const StepTime law = StepOf(before);
  const StepTime then = StepOf(after);
  const double measured_s = before.batch / before.measured;
  const double rest = std::max(0.0, measured_s - law.Seconds()) * after.batch / before.batch;
  const double more_samples = after.batch / before.batch;
  Anchors anchors;
  anchors.as_factor = more_samples * law.Seconds() / then.Seconds();
  anchors.as_time = more_samples * std::max(law.Seconds(), measured_s) / (then.Seconds() + rest);
  const double waited_s = std::max(0.0, measured_s - law.known_s);
  anchors.as_wait = anchors.as_factor;
  if (law.wait_s > 0) {
    const double scale = waited_s / law.wait_s;
    anchors.as_wait =
        more_samples * (law.known_s + waited_s) / (then.known_s + then.wait_s * scale);
  }
  return anchors;
}

// Of a run that begins at the old speed. A short beginning at another speed does not count.
double WithLateStart(double factor, double late) {
  const bool warm_up = factor > attribution::kUnlikeTheMedian && late <= attribution::kMostWarmUp;
  return warm_up ? factor : 1 / (late + (1 - late) / factor);
}

}  // namespace

StageDemand* Load::Find(StageId stage) {
  const auto at = std::find_if(stages.begin(), stages.end(),
                               [&](const StageDemand& load) { return load.stage == stage; });
  return at == stages.end() ? nullptr : &*at;
}

double Load::ExposedS() const { return std::accumulate(exposed_s.begin(), exposed_s.end(), 0.0); }

double ProbabilityEmpty(double consumer, double producer, double exponent) {
  if (producer <= 0) return 0;
  if (consumer <= 0) return 1;
  const double ratio = consumer / producer;
  if (std::fabs(ratio - 1) < 1e-9) return 1 / exponent;
  // (1 - r) / (1 - r^e) with r^e far beyond 1 would be inf in the denominator, which is right: 0.
  return (1 - ratio) / (1 - std::pow(ratio, exponent));
}

double SamplesPerSecond(const Load& load) {
  const double step_s = StepOf(load).Seconds();
  return step_s > 0 ? load.batch / step_s : 0;
}

double ConsumerSamplesPerSecond(const Load& load) {
  const double x = load.ExposedS();
  return x > 0 ? load.batch / x : std::numeric_limits<double>::infinity();
}

std::optional<Load> LoadOf(const Case& c) {
  const auto& a = c.attribution;
  if (a.window.steps == 0 || a.steps.empty()) return std::nullopt;
  double samples = 0;
  for (const auto& step : a.steps) samples += step.samples;
  const auto steps = static_cast<double>(a.steps.size());
  // A foreign trace does not show how many samples a step has. A gain is a ratio, for which a step
  // is as good a unit.
  std::optional<attribution::Throughput> rate = a.throughput;
  const bool counts_steps = samples <= 0 && c.run.imported();
  if (counts_steps) {
    samples = steps;
    rate = attribution::StepRate(a);
  }
  if (!rate.has_value() || rate->samples_per_s <= 0 || samples <= 0) return std::nullopt;
  Load load;
  load.batch = samples / steps;
  load.cores = a.cpu.cores;
  load.other_cpu_s = OtherCpu(c, samples);
  load.measured = rate->samples_per_s;
  load.spread = k90Of95 * (rate->high - rate->low) / (2 * rate->samples_per_s);
  load.device_variation = DeviceVariation(a);
  for (Category category : attribution::kReportOrder) {
    const auto& total = a.breakdown[At(category)];
    if (!total.has_value() || category == Category::kInputStall) continue;
    load.exposed_s[At(category)] = total->fraction * load.batch / load.measured;
  }
  const double step_s = load.batch / load.measured;
  load.held_s = BlamedOn(c, Cause::kOrder) * step_s;
  const double bursts = BlamedOn(c, Cause::kBuffer);
  if (bursts > Share(c, Category::kInputStall) / 2) load.burst_s = bursts * step_s;
  for (StageId id : InOrder(c)) {
    const attribution::StageUse* use = UseOf(c, id);
    if (use == nullptr) continue;
    StageDemand stage = LoadOfStage(c, *use);
    if (counts_steps) stage.items = static_cast<double>(use->elements) / steps;
    // A prefetch does no work, and passes on what the stage before it produces.
    if (stage.items <= 0 && stage.own_threads && !load.stages.empty()) {
      stage.items = load.stages.back().items;
    }
    if (stage.items > 0) load.stages.push_back(stage);
  }
  // The thread that feeds the device does work that the trainer's own thread would otherwise do.
  const int64_t on_device = c.spec.has_value() ? c.spec->transfer.prefetch_to_device : 0;
  if (on_device > 0) PrepareAhead(load, on_device);
  const bool stalls = Share(c, Category::kInputStall) >= kModerateShare;
  load.input_explained = !stalls || !load.stages.empty();
  return load;
}

std::optional<Gain> GainOf(const Load& before, const Effect& effect) {
  const double law = SamplesPerSecond(before);
  if (!before.input_explained || law <= 0 || before.measured <= 0) return std::nullopt;
  const double off = std::max(law / before.measured, before.measured / law);
  if (off > kLawUnusable) return std::nullopt;
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  Gain gain;
  for (size_t i = 0; i < effect.sizes.size(); ++i) {
    Load after = before;
    effect.apply(after, effect.sizes[i]);
    Anchors anchors = Anchored(before, after);
    for (double* factor : {&anchors.as_time, &anchors.as_factor, &anchors.as_wait}) {
      *factor = WithLateStart(*factor, effect.late);
      low = std::min(low, *factor);
      high = std::max(high, *factor);
    }
    if (i == 1) gain.predicted = std::sqrt(anchors.as_wait * anchors.as_factor);
  }
  // The measured throughput is one mean, the new run's another.
  const double noise = std::sqrt(2.0) * before.spread;
  const auto stretched = [](double factor, double by) {
    return std::exp(std::log(factor) * (factor > 1 ? 1 + by : 1 - by));
  };
  gain.low = stretched(low, -kLawError) * (1 - noise);
  gain.high = stretched(high, kLawError) * (1 + noise);
  return gain;
}

}  // namespace stallscope::findings
