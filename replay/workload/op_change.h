// Other ops than the recorded ones, and stores and record files that the run did not have: what the
// stages, the copies and the device then take.
//
// Ops that state their cost (busy, sleep) count as that. Of others a run shows only what a whole
// map takes; what is left of that with other ops is a ratio of usual times (analyzer/spec), and
// what has no recorded time is its usual one, at the speed that this machine showed with the rest.
// Plain data; any thread.
#pragma once

#include <map>
#include <string>

#include "replay/workload/workload.h"

namespace stallscope::replay {

// Of a cost per sample: `scale` times the recorded one, and more. The truth is between that over
// 1 + error and that times 1 + error, with 90%.
struct ChangedCost {
  double scale = 1;
  double more_cpu_ns = 0;
  double more_blocked_ns = 0;
  double error = 0;
  bool operator==(const ChangedCost&) const = default;
};

// Which end of the errors is taken; a factor of the cost.
enum class Ends : uint8_t { kMiddle, kLeast, kMost };
double At(Ends ends, double error);

struct OpChange {
  // By stage: maps, the batches and stores that copy what they make, new stores on disk, and a
  // source of converted data. Those that are not here cost what they did.
  std::map<std::string, ChangedCost, std::less<>> stages;
  // Of maps that a rewrite cuts in two, the part that works on whole batches.
  std::map<std::string, ChangedCost, std::less<>> whole;
  ChangedCost convert;         // before a batch is copied to the device
  double batch_bytes = 1;      // of a sample in a batch, over the recorded ones
  double link_bytes = 1;       // the same over the link
  ChangedCost device;          // ops of maps on the device
  double device_launches = 0;  // more of a step
  // Some of this is by usual times, and not by what the run shows.
  bool assumed = false;
  std::string unpriceable;  // "decode.ops: one run cannot ..."; empty: it is all known or usual
};

// Between the recorded spec and `to`, which both must have a plan.
OpChange CompareOps(const Recorded& recorded, const Spec& to);

}  // namespace stallscope::replay
