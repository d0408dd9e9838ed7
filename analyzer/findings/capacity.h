// What a change would gain, by the capacity law with finite queues. Private to the room.
//
// A Load is a run reduced to seconds per sample: how long each stage's workers are busy, how much
// of that is CPU time, what the device adds. A rule's effect changes a copy, and the two are
// compared. The producer's time per batch is that of its slowest group of stages; the trainer finds
// the buffer empty with the published probability for a consumer (x) and a producer (y) with n
// places between them,
//
//   P(empty) = (1 - x/y) / (1 - (x/y)^(n+1)),  1/(n+1) if x = y,
//
// and then waits for one batch, so that a step takes x + P(empty) y. That formula assumes
// exponential times: with less variation a place hides more, and the exponent grows as in a
// diffusion (n+1 becomes 1 + 2n / (cx^2 + cy^2)). Cores limit the CPU time, not the workers.
//
// The result is a factor, anchored to the measured throughput. What the law did not explain of the
// run as it was widens the interval: it is taken as constant time, as a factor, and as waiting for
// input that shrinks like the rest. The prediction is between the latter two.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/findings/findings.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

struct StageDemand {
  StageId stage;
  bool own_threads = false;  // otherwise it runs in the threads of the stage that asks
  double workers = 1;
  double items = 0;      // per sample
  double service_s = 0;  // per item, without the time its worker had no core
  double cpu_s = 0;      // of this on a core
  bool cpu_known = true;
  double variation = 0;  // of the service time per item
  double places = 0;     // of its queue, in items
};

struct Load {
  std::vector<StageDemand> stages;               // from the source to the trainer
  double cores = 0;                              // 0: unknown
  double other_cpu_s = 0;                        // CPU time outside the stages, per sample
  double batch = 1;                              // samples per step
  attribution::PerCategory<double> exposed_s{};  // per step; no input stall
  double held_s = 0;  // per step: batches that were finished but out of order
  // Per step, as recorded: if most of the stall is bursts, the law's estimate of them is not used.
  std::optional<double> burst_s;
  double device_variation = 0;  // of the sum of the exposed times
  double measured = 0;          // samples per second
  double spread = 0;            // half of its 90% interval, relative to it
  bool input_explained = true;  // stages with service times were recorded, or there is no stall

  StageDemand* Find(StageId stage);
  double ExposedS() const;
};

// Nothing without steps.
std::optional<Load> LoadOf(const Case& c);

double ProbabilityEmpty(double consumer, double producer, double exponent);
// By the law alone.
double SamplesPerSecond(const Load& load);
// Samples per second that the trainer would take if it never waited.
double ConsumerSamplesPerSecond(const Load& load);

// How a change affects a load. `size` is what the rule must assume (a share of a stage's time, a
// link's speed), from the least helpful to the most; a change that needs no assumption ignores it.
struct Effect {
  std::function<void(Load&, double size)> apply;
  Assumed sizes = {1, 1, 1};
  double late = 0;  // the part of a run like this one that is over before the change shows
  // More of the host's work goes on at a time: how much that helps depends on the cores, and on
  // whether the work burns them.
  bool side_by_side = false;
};

// Nothing if the law does not fit the run well enough to price anything.
std::optional<Gain> GainOf(const Load& before, const Effect& effect);

}  // namespace stallscope::findings
