// Another spec for a workload, and what the recording does not show about it. Any thread.
//
// Costs belong to a stage's name. What a change of parallelism, order, buffers, caches, batch,
// copies or an emulated device's figures does, follows from them; another format, precision or
// dtype, other ops, a cold cache do not: those are unpriceable, and a recording with the change is
// what is missing (a short one will do: its own workload then stands for this one).
#pragma once

#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/spec/patch.h"
#include "replay/workload/workload.h"

namespace stallscope::replay {

struct Changed {
  Workload workload;        // do not simulate it unless `unpriceable` is empty
  std::string unpriceable;  // "decode.ops: ...; record with the change to know"; empty: it can be
  // Priced by what reading usually takes, because the run does not show it: a short run with the
  // change would. Why, or empty.
  std::string unprobed;
  // What it does besides its speed, where that is for its user alone to decide: priced only if
  // asked for by name.
  std::string by_name_only;
};

// `spec` must be valid. The calibration stays, what the change makes uncertain adds up.
Changed WithSpec(const Workload& workload, Spec spec);
// Errors are those of Apply and ApplySettings: ErrorKind::kUsage, the nearest path named.
Result<Changed> WithPatch(const Workload& workload, const Patch& patch);
// "PATH=VALUE" each.
Result<Changed> WithSettings(const Workload& workload, const std::vector<std::string>& settings);

}  // namespace stallscope::replay
