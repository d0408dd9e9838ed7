// Which configurations must deliver the same batches, bit for bit, and whether they did.
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/spec/spec.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// Specs with the same key deliver the same batches: they differ only in knobs of speed. `steps` is
// the run's number of steps. Empty where batches may differ from run to run: order is not kept, and
// the run ends within a pass over the data.
std::optional<std::string> DataKey(const Spec& spec, uint64_t steps);

// Marks each point whose digest differs from the others with its key. `spec` is the sweep's.
void CheckDigests(const Spec& spec, Sweep& sweep);

}  // namespace stallscope::replay
