// What bounds a run: the verdict, as METHOD.md of analyzer/attribution has it. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"

namespace stallscope::findings {

enum class Bound : uint8_t {
  kInput,
  kTransfer,
  kCompute,
  kLaunch,
  kCommunication,
  kBalanced,
  kInconclusive
};
std::string_view WordFor(Bound bound);
// What a run of this bound spends too much of its time on; nothing for the last two.
std::optional<attribution::Category> CategoryOf(Bound bound);

// The part of step time for which the trainer's thread is ready without a core, where that thread
// is what computes; 0 where it is not worth a word, or a device computes.
double ReadyWithoutCore(const attribution::Attribution& attribution);
// The part of this in which the input has the cores, if that takes more of step time than waiting
// for batches, and both take more than the trainer's own work: such a run is input-bound. Else 0.
double TakenByInput(const attribution::Attribution& attribution);

struct Verdict {
  Bound bound = Bound::kInconclusive;
  StageId stage;                            // of an input-bound run
  std::optional<attribution::Cause> cause;  // and what delayed that
  double confidence = 0;                    // 0 to 1
  std::vector<std::string> doubts;          // why confidence is below 1
  std::string text;  // "input-bound: decode (cpu)", "balanced", "inconclusive"
  // The second sentence: what else takes a noticeable part of step time, and what removing it would
  // gain; a lack of cores first where that takes more than what bounds the run. Empty where nothing
  // does.
  std::string also;
  // By the steps beside a profile: what the input waits for is unknown, and shares of step time are
  // of other steps.
  bool beside_profile = false;
};

// A recording that slowed its stages (attribution::Sensitivity) checks the verdict. If they
// disagree, the confidence falls, and the stage of an input-bound run is the one that costs most
// throughput when slowed.
Verdict VerdictOn(const model::Run& run, const attribution::Attribution& attribution);

}  // namespace stallscope::findings
